"""Files from hosts on CPython: threads fetch, the coroutine looks after them every 20 ms."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

from tabgrad.errors import TabgradError
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.native_download import Task
from tabgrad.platform.native_files import NativeFiles, storage_errors
from tabgrad.platform.native_http import Failure, ask, persist, pieces, validator, whole_size
from tabgrad.platform.native_part import PartFile
from tabgrad.platform.transfer import (
    Cancel,
    Downloaded,
    Progress,
    Start,
    check_address,
    check_headers,
    looks_like_html,
    transfer_error,
)

Result = TypeVar("Result")

POLL_S = 0.02
# Failures after which what has come is of no use, or in the way.
HOPELESS = ("Changed", "Quota", "Truncated", "WebPage", "WrongHash", "WrongSize")


async def download(files: Files, url: str, path: str, *, size: int | None, sha256: str | None,
                   progress: Progress | None, cancel: Cancel | None,
                   headers: Mapping[str, str] | None) -> Downloaded:
    """See `Platform.download`."""
    assert isinstance(files, NativeFiles)
    check_address(url)
    lock = await files.lock(f"{path}.part")
    if lock is None:
        raise transfer_error("Busy", url)
    try:
        with storage_errors("written", path):
            part = PartFile(files.local(path))
        stop = threading.Event()
        task = Task(url, part, size, sha256, check_headers(headers), stop)
        try:
            result = await _watched(task.run, stop, cancel,
                                    lambda: progress and progress(task.done, task.total))
        except BaseException as error:
            part.close()
            failure = error if isinstance(error, Failure) else None
            if part.here == 0 or (failure is not None and failure.kind in HOPELESS):
                part.discard()
            if failure is not None:
                raise worded(failure, url) from failure
            raise
        part.close()
        with storage_errors("written", path):
            part.move_into_place()
        if progress is not None:
            progress(result.size, result.size)
        return result
    finally:
        lock.release()


async def _watched(work: Callable[[], Result], stop: threading.Event, cancel: Cancel | None,
                   look: Callable[[], object]) -> Result:
    """Runs work in a thread; the event loop lives on, `look` is called now and then."""
    forget = None if cancel is None else cancel.listen(stop.set)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not future.done():
                wait([future], POLL_S)
                look()
                await asyncio.sleep(0)
            return future.result()
        finally:
            stop.set()
            if forget is not None:
                forget()


async def adopt(files: Files, source: Any, path: str, *, progress: Progress | None,
                cancel: Cancel | None) -> Downloaded:
    """See `Platform.adopt`; `source` is a path."""
    assert isinstance(files, NativeFiles)
    target = files.local(path)
    part = target.with_name(target.name + ".part")
    digest = hashlib.sha256()
    with storage_errors("copied", path):
        target.parent.mkdir(parents=True, exist_ok=True)
        total, done = Path(source).stat().st_size, 0
        if total > shutil.disk_usage(target.parent).free:
            raise transfer_error("Quota", path, f"{total} bytes")
        with Path(source).open("rb") as reading, part.open("wb") as writing:
            while piece := reading.read(2**20):
                if cancel is not None and cancel.cancelled:
                    part.unlink()
                    raise transfer_error("Cancelled", path)
                writing.write(piece)
                digest.update(piece)
                done += len(piece)
                if progress is not None:
                    progress(done, total)
                await asyncio.sleep(0)
        part.replace(target)
    return Downloaded(done, None, digest.hexdigest())


async def fetch_small(url: str, limit: int, headers: Mapping[str, str] | None) -> bytes:
    """See `Platform.fetch_small`."""
    sent, stop = check_headers(headers), threading.Event()

    def work() -> bytes:
        answer = ask(url, sent, None)
        size = whole_size(answer)
        data = _take(answer, limit + 1, stop)
        if len(data) > limit:
            raise Failure("WrongSize", expected=f"at most {limit} bytes",
                          received=f"{size or 'more'} bytes")
        if size is not None and len(data) < size:
            raise Failure("Truncated", expected=f"{size} bytes", received=f"{len(data)}",
                          again=True)
        if looks_like_html(data):
            raise Failure("WebPage")
        return data

    return await _worded(url, lambda: persist(stop, work), stop)


async def fetch_start(url: str, length: int, headers: Mapping[str, str] | None) -> Start:
    """See `Platform.fetch_start`."""
    sent, stop = check_headers(headers), threading.Event()

    def work() -> Start:
        answer = ask(url, sent, (0, length))
        if answer.status == 416:
            answer.close()
            return Start(b"", 0, None)
        data = _take(answer, length, stop)
        if looks_like_html(data):
            raise Failure("WebPage")
        size = whole_size(answer)
        if size is not None and len(data) < min(length, size):
            raise Failure("Truncated", expected=f"{min(length, size)} bytes",
                          received=f"{len(data)}", again=True)
        return Start(data, size, validator(answer))

    return await _worded(url, lambda: persist(stop, work), stop)


async def _worded(url: str, work: Callable[[], Result], stop: threading.Event) -> Result:
    try:
        return await _watched(work, stop, None, lambda: None)
    except Failure as failure:
        raise worded(failure, url) from failure


def worded(failure: Failure, url: str) -> TabgradError:
    """A failure as the error that reaches a person."""
    return transfer_error(failure.kind, url, failure.expected, failure.received)


def _take(answer: Any, length: int, stop: threading.Event) -> bytes:
    data = b""
    for piece in pieces(answer, stop):
        data += piece[:length - len(data)]
        if len(data) == length:
            break
    answer.close()
    return data
