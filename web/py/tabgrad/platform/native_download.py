"""One download on CPython: ranges of 16 MiB, four at once, into a part file with a journal.

The same as `web/hub/download.js`, with threads.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from tabgrad.platform.native_http import (
    LIMITS,
    Failure,
    ask,
    persist,
    pieces,
    validator,
    whole_size,
)
from tabgrad.platform.native_part import Identity, PartFile
from tabgrad.platform.transfer import Downloaded, looks_like_html

AT_ONCE = 4


class Task:
    """One download, in threads. `done` and `total` are what a progress bar shows."""

    def __init__(self, url: str, part: PartFile, size: int | None, sha256: str | None,
                 headers: Mapping[str, str], stop: threading.Event) -> None:
        self._url, self._part, self._headers = url, part, headers
        self._size, self._sha256 = size, sha256
        self._stop = stop
        self._counting = threading.Lock()
        self._came = 0

    @property
    def done(self) -> int:
        """Bytes that are here."""
        return self._part.here + self._came

    @property
    def total(self) -> int:
        """Bytes of the whole file."""
        return self._part.size

    def run(self) -> Downloaded:
        """Fetches what is missing and checks it."""
        if not self._is_ours() or self._part.missing:
            self._fetch_missing()
        digest = hashlib.sha256()
        for piece in self._part.read():
            digest.update(piece)
        if self._sha256 is not None and digest.hexdigest() != self._sha256:
            raise Failure("WrongHash", expected=self._sha256, received=digest.hexdigest())
        identity = self._part.identity
        assert identity is not None
        return Downloaded(identity.size, identity.validator, digest.hexdigest())

    def _is_ours(self) -> bool:
        """Whether what is here surely belongs to the file that is wanted."""
        identity = self._part.identity
        if identity is None or self._size not in (None, identity.size):
            return False
        if self._sha256 is not None:
            return self._sha256 == identity.sha256
        return self._url == identity.url and identity.validator is not None

    def _fetch_missing(self) -> None:
        answer = self._first_answer()
        if self._part.size == 0:
            answer.close()
        elif answer.status == 200:
            self._stream(answer)
        else:
            self._ranges(answer)

    def _ask(self, span: tuple[int, int] | None) -> Any:
        return persist(self._stop, lambda: ask(self._url, self._headers, span))

    def _first_answer(self) -> Any:
        start = self._part.span(self._part.missing[0])[0] if self._is_ours() else 0
        answer = self._ask((start, start + LIMITS.chunk_bytes))
        size = self._total_size(answer, start)
        if start > 0:
            if answer.status == 206 and self._same_file(answer, size):
                return answer
            answer.close()
            self._part.identity = None
            return self._first_answer()
        if not self._is_ours() or answer.status != 206 or not self._same_file(answer, size):
            self._part.begin(Identity(self._url, size, validator(answer), self._sha256,
                                      LIMITS.chunk_bytes))
        return answer

    def _total_size(self, answer: Any, start: int) -> int:
        size = whole_size(answer)
        if size is None:
            size = self._size
        if size is None and answer.status == 416:
            size = start
        if size is None:
            raise Failure("WrongSize", expected="a host that tells how long the file is",
                          received="no length")
        if self._size not in (None, size):
            raise Failure("WrongSize", expected=f"{self._size} bytes", received=f"{size} bytes")
        return size

    def _same_file(self, answer: Any, size: int | None) -> bool:
        identity = self._part.identity
        now = validator(answer)
        return identity is not None and size in (None, identity.size) and (
            now is None or identity.validator is None or now == identity.validator)

    def _ranges(self, first: Any) -> None:
        queue = self._part.missing
        answers = {queue[0]: first}

        def lane() -> None:
            while queue and not self._stop.is_set():
                with self._counting:
                    index = queue.pop(0) if queue else None
                if index is not None:
                    self._chunk(index, answers.pop(index, None))

        with ThreadPoolExecutor(AT_ONCE) as pool:
            ended, _ = wait([pool.submit(lane) for _ in range(AT_ONCE)], None, FIRST_EXCEPTION)
            failed = [error for each in ended if (error := each.exception())]
            if failed:  # one range that fails for good stops the others
                self._stop.set()
                raise failed[0]
        if self._stop.is_set():
            raise Failure("Cancelled")

    def _chunk(self, index: int, given: Any) -> None:
        start, end = self._part.span(index)
        place = [start]
        answers = [given] if given is not None else []

        def attempt() -> None:
            answer = answers.pop() if answers else self._ask((place[0], end))
            if answer.status != 206 or not self._same_file(answer, whole_size(answer)):
                answer.close()
                raise Failure("Truncated" if answer.status == 416 else "Changed",
                              received=f"HTTP {answer.status}")
            self._body(answer, place, end)

        persist(self._stop, attempt, lambda: place[0])
        self._part.finished(index)
        self._count(start - end)

    def _stream(self, first: Any) -> None:
        """The whole file in one answer, from a host that knows no ranges."""
        answers = [first]

        def attempt() -> None:
            answer = answers.pop() if answers else self._ask(None)
            if not self._same_file(answer, whole_size(answer)):
                answer.close()
                raise Failure("Changed")
            self._came = 0
            self._body(answer, [0], self._part.size)

        persist(self._stop, attempt)
        for index in self._part.missing:
            self._part.finished(index)
        self._came = 0

    def _body(self, answer: Any, place: list[int], end: int) -> None:
        start = place[0]
        for piece in pieces(answer, self._stop):
            if place[0] == 0 and looks_like_html(piece):
                raise Failure("WebPage")
            if place[0] + len(piece) > end:
                raise Failure("WrongSize", expected=f"{end - start} bytes", received="more")
            self._part.write(piece, place[0])
            place[0] += len(piece)
            self._count(len(piece))
        if place[0] < end:
            raise Failure("Truncated", expected=f"{end - start} bytes",
                          received=f"{place[0] - start}", again=True)

    def _count(self, size: int) -> None:
        with self._counting:
            self._came += size
