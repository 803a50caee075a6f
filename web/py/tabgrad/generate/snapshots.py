"""Copies of the states that cannot be wound back, at positions that a later text may share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tabgrad.gpu.plan import Plan
from tabgrad.gpu.storage import Region
from tabgrad.models.cached import Caches


@dataclass
class _Copy:
    """One copy of all states, and the ids that had been read when it was made."""

    regions: list[Region]
    ids: list[int] = field(default_factory=list)
    taken: bool = False
    save: Plan | None = None
    restore: Plan | None = None


class Snapshots:
    """Named copies of the states of a decoder's linear layers; without any, nothing happens.

    Args:
        caches: whose states.

    Each name has one copy: "prompt" is the end of the last prompt, where the next turn of a chat
    may part from it; "batch" is the start of the ids under way, to which a stop goes back.
    """

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._device = caches.device
        self._copies: dict[str, _Copy] = {}

    def forget(self) -> None:
        """No copy is found again."""
        for copy in self._copies.values():
            copy.taken = False

    async def save(self, name: str, ids: Sequence[int]) -> None:
        """Copies the states as they are after reading `ids`."""
        states = self._caches.states
        if not states:
            return
        copy = self._copies.get(name)
        if copy is None:
            regions = [self._device.allocate(state.region.size, f"states at {name}").region
                       for state in states]
            copy = self._copies[name] = _Copy(regions)
            copy.save = await self._plan([state.region for state in states], regions)
            copy.restore = await self._plan(regions, [state.region for state in states])
        copy.ids, copy.taken = list(ids), True
        assert copy.save is not None
        await self._device.replay([copy.save])

    def longest(self, ids: Sequence[int]) -> int:
        """The length of the longest copy that `ids` begins with; 0 without one."""
        best = self._best(ids)
        return 0 if best is None else len(best.ids)

    def _best(self, ids: Sequence[int]) -> _Copy | None:
        wanted = list(ids)
        fitting = [copy for copy in self._copies.values()
                   if copy.taken and wanted[:len(copy.ids)] == copy.ids]
        return max(fitting, key=lambda copy: len(copy.ids), default=None)

    async def restore(self, ids: Sequence[int]) -> int:
        """Puts back the longest copy that `ids` begins with; its length, or 0 without one."""
        best = self._best(ids)
        if best is None:
            return 0
        assert best.restore is not None
        await self._device.replay([best.restore])
        return len(best.ids)

    async def _plan(self, sources: Sequence[Region], targets: Sequence[Region]) -> Plan:
        with self._device.recording() as tape:
            for source, target in zip(sources, targets, strict=True):
                self._device.copy(source, target)
        return await tape.compile(label="copy of states")
