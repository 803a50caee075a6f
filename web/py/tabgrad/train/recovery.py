"""What happens when the GPU is lost in mid-run: a new device, at most three times a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tabgrad.errors import DeviceLost, NoAdapter, TabgradError
from tabgrad.gpu.device import Device

Reopen = Callable[[], Awaitable[Device]]

TRIES = 3
WINDOW_MS = 60_000.0
# A browser needs a moment to start a new GPU process.
WAITS_S = (0.0, 0.5, 2.0)


class Recovery:
    """Opens devices after losses, and gives up when they come too often.

    Args:
        reopen: gives a new device, or raises `NoAdapter`.
        now_ms: a clock that never goes back.
        emit: called with (name, fields) of a notice.
    """

    def __init__(self, reopen: Reopen | None, now_ms: Callable[[], float],
                 emit: Callable[[str, dict[str, Any]], None]) -> None:
        self._reopen = reopen
        self._now_ms = now_ms
        self._emit = emit
        self._tries: list[float] = []

    async def device_after(self, lost: TabgradError, saved_step: int) -> Device:
        """A new device.

        Args:
            lost: the loss; raised again when there is no way on.
            saved_step: where training goes on, for the notice; -1 for the start.
        Raises:
            DeviceLost: three tries within a minute, or no way to open one.
        """
        if self._reopen is None:
            raise lost
        while True:
            now = self._now_ms()
            self._tries = [at for at in self._tries if now - at < WINDOW_MS]
            if len(self._tries) >= TRIES:
                raise DeviceLost(
                    "The GPU was lost again and again, so training has stopped.",
                    received=lost.message, control="per_device_train_batch_size",
                    remedy="Everything up to the last checkpoint is safe. Use a smaller batch or "
                           "preset, then resume.") from lost
            await asyncio.sleep(WAITS_S[len(self._tries)])
            self._tries.append(now)
            try:
                device = await self._reopen()
            except (NoAdapter, DeviceLost) as error:
                lost = DeviceLost("The GPU was lost and is not back yet.", received=str(error))
                continue
            self._emit("notice", {"code": "device-lost", "message":
                       "The GPU was lost. Training goes on by itself from step "
                       f"{max(0, saved_step)}."})
            return device
