"""Where temporaries live: whole buffers ("slots"), shared by those that are never alive together.

Whole buffers, because WebGPU checks a dispatch's use of a buffer per buffer, not per range: one
that is bound read-only must not be bound writable in the same dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad.platform.gpu_protocol import ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """How many bytes a temporary needs, from its first to its last command (both included)."""

    size: int
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether some command needs both."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Result of `place`.

    Attributes:
        slots: each temporary's slot.
        sizes: each slot's bytes: those that were there, then the new ones.
    """

    slots: tuple[int, ...]
    sizes: tuple[int, ...]


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
        Slot numbers, in the order of `lifetimes`, and all slots' sizes.

    Example:
        >>> place([Lifetime(512, 0, 1), Lifetime(256, 1, 2), Lifetime(512, 2, 3)])
        Placement(slots=(0, 1, 0), sizes=(512, 256))
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
    return Placement(tuple(real[slot] for slot in chosen), tuple(sizes))


def _place_alone(lifetimes: Sequence[Lifetime]) -> tuple[list[int], list[int]]:
    """Each temporary's slot, and the slots' sizes, where no slot exists yet."""
    sizes: list[int] = []
    tenants: list[list[Lifetime]] = []
    chosen = [0] * len(lifetimes)
    by_size = sorted(range(len(lifetimes)),
                     key=lambda index: (-lifetimes[index].size, lifetimes[index].first, index))
    for index in by_size:
        need = lifetimes[index]
        free = [slot for slot in range(len(sizes))
                if not any(need.overlaps(tenant) for tenant in tenants[slot])]
        if free:
            slot = min(free, key=lambda candidate: (sizes[candidate], candidate))
        else:
            slot = len(sizes)
            sizes.append(round_up(need.size))
            tenants.append([])
        tenants[slot].append(need)
        chosen[index] = slot
    return chosen, sizes
