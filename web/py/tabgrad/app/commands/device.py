"""The device and what it can do: `benchmark`, `profile`, `storage`."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.benchmark import matmul_rows
from tabgrad.app.commands.runs import list_runs
from tabgrad.app.profile import profile_step
from tabgrad.errors import SettingsError
from tabgrad.train.settings import TrainSettings


async def benchmark(app: Application, request: Request) -> dict[str, Any]:
    """Every matrix product of this package and NumPy's, with the error between them."""
    size: int = request.fields["size"]
    if not 1 <= size <= 4096:
        raise SettingsError("The size is out of range.", expected="1 to 4096", received=str(size))
    return {"rows": await matmul_rows(await app.working_device(), size)}


async def profile(app: Application, request: Request) -> dict[str, Any]:
    """Milliseconds of each kernel in one step, on weights of its own: the run is not touched."""
    settings = app.trainer.settings if app.trainer is not None else TrainSettings()
    if not isinstance(settings, TrainSettings):
        raise SettingsError("Only runs from nothing are profiled.", control="profile",
                            received="a fine-tune run", remedy="Train a preset, then profile.")
    return {"rows": await profile_step(await app.working_device(), settings)}


async def storage(app: Application, request: Request) -> dict[str, Any]:
    """What is used, what may be used, whether it stays, and the runs in it."""
    used, quota = await app.files.usage()
    return {"used": used, "quota": quota, "persistent": await app.host.persistent(),
            "runs": await list_runs(app)}
