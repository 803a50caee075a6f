"""How far a download is: per file, in all, and how long it will still take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.checkpoint.facts import Facts

_SETTLED_MS = 1000
"""Before that an estimate would be a guess."""


@dataclass(frozen=True)
class ModelProgress:
    """One moment of a download.

    Args:
        file: the one that is coming.
        file_done: bytes of it that are here.
        file_total: bytes of it.
        done: bytes of the model that are here.
        total: bytes of the model.
        seconds_left: as long as it will still take at this rate; None while nobody knows.
    """

    file: str
    file_done: int
    file_total: int
    done: int
    total: int
    seconds_left: float | None


class Tracker:
    """Adds up the progress of one file after the other.

    Args:
        facts: of the model.
        whole: names of files that are here already.
        tell: gets each moment.
    """

    def __init__(self, facts: Facts, whole: set[str],
                 tell: Callable[[ModelProgress], object] | None) -> None:
        self._tell = tell
        self._total = facts.bytes
        self._before = sum(file.size or 0 for file in facts.files if file.name in whole)
        # The clock of the rate: bytes that came now, not those of an earlier visit.
        self._start: tuple[float, int] | None = None

    def of(self, file: str) -> Callable[[int, int], None] | None:
        """The callback for the next file."""
        return None if self._tell is None else lambda done, total: self._moment(file, done, total)

    def finished(self, file: str, size: int) -> None:
        """A file is whole."""
        self._before += size

    def _moment(self, file: str, done: int, total: int) -> None:
        assert self._tell is not None
        now, here = platform.current().now_ms(), self._before + done
        if self._start is None:
            self._start = now, here
        spent, came = now - self._start[0], here - self._start[1]
        left = None
        if spent > _SETTLED_MS and came > 0:
            left = max(0, self._total - here) * spent / came / 1e3
        self._tell(ModelProgress(file, done, total, here, max(self._total, here), left))
