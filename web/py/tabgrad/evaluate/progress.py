"""How an evaluation says where it is, and learns that it shall stop."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str, int, int], None]
"""Called with (what is being done, how much of it is done, of how much) before each piece of work.
It may raise `Cancelled`: the evaluation then ends there."""


def silent(stage: str, done: int, total: int) -> None:
    """Tells nobody."""
