"""Where temporaries live: whole buffers ("slots"), shared by those that are never alive together.

Whole buffers, because WebGPU checks a dispatch's use of a buffer per buffer, not per range: one
that is bound read-only must not be bound writable in the same dispatch.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad.platform.gpu_protocol import ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """How many bytes a temporary needs, from its first to its last command (both included)."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Placement:
    """Result of `place`.

    Attributes:
        slots: each temporary's slot.
        sizes: each slot's bytes: those that were there, then the new ones.
        needed: bytes of the slots that would be made if none were there.
    """

    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    needed: int


def round_up(size: int, multiple: int = ALIGNMENT) -> int:
    """The next multiple.

    Example:
        >>> round_up(1), round_up(256), round_up(257)
        (256, 256, 512)
    """
    return -(-size // multiple) * multiple


def place(lifetimes: Sequence[Lifetime], slots: Sequence[int] = ()) -> Placement:
    """Gives every temporary a slot that nobody else uses while it is alive.

    First the plan by itself: the largest temporaries come first, so a new slot, as large as its
    first temporary, holds all that follow; each takes the smallest free slot that is large enough
    (best fit). Then its slots are laid over those that exist, again best fit. So equal plans are
    placed alike whatever was placed before, and a second one needs no new memory.

    Args:
        lifetimes: what is needed when.
        slots: bytes of the slots that exist already and may be used.

    Returns:
        Slot numbers, in the order of `lifetimes`, all slots' sizes, and what is needed alone.

    Example:
        >>> place([Lifetime(512, 0, 1), Lifetime(256, 1, 2), Lifetime(512, 2, 3)])
        Placement(slots=(0, 1, 0), sizes=(512, 256), needed=768)
    """
    chosen, own = _place_alone(lifetimes)
    sizes = list(slots)
    unused = set(range(len(sizes)))
    real: dict[int, int] = {}
    for slot in sorted(range(len(own)), key=lambda slot: (-own[slot], slot)):
        fits = [there for there in unused if sizes[there] >= own[slot]]
        if fits:
            real[slot] = min(fits, key=lambda there: (sizes[there], there))
            unused.discard(real[slot])
        else:
            real[slot] = len(sizes)
            sizes.append(own[slot])
    return Placement(tuple(real[slot] for slot in chosen), tuple(sizes), sum(own))


class _Tenants:
    """The lifetimes in one slot, none of which overlaps another, in order."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def leave_room(self, need: Lifetime) -> bool:
        """Whether none of them overlaps `need`: the last that begins before its end decides."""
        place = bisect_right(self._firsts, need.last)
        return place == 0 or self._lasts[place - 1] < need.first

    def add(self, need: Lifetime) -> None:
        """Takes it in."""
        place = bisect_right(self._firsts, need.last)
        self._firsts.insert(place, need.first)
        self._lasts.insert(place, need.last)


def _place_alone(lifetimes: Sequence[Lifetime]) -> tuple[list[int], list[int]]:
    """Each temporary's slot, and the slots' sizes, where no slot exists yet."""
    sizes: list[int] = []
    tenants: list[_Tenants] = []
    smallest_first: list[int] = []
    chosen = [0] * len(lifetimes)
    by_size = sorted(range(len(lifetimes)),
                     key=lambda index: (-lifetimes[index].size, lifetimes[index].first, index))
    for index in by_size:
        need = lifetimes[index]
        # The first that is free is the best fit, and seldom far: a step of several micro-batches
        # has tens of thousands of temporaries, and most places were somebody's before.
        slot = next((slot for slot in smallest_first if tenants[slot].leave_room(need)), None)
        if slot is None:
            slot = len(sizes)
            sizes.append(round_up(need.size))
            tenants.append(_Tenants())
            insort(smallest_first, slot, key=lambda one: (sizes[one], one))
        tenants[slot].add(need)
        chosen[index] = slot
    return chosen, sizes
