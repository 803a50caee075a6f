"""The self-test at the start: the kernels that training needs, against their oracles, here.

A wrong kernel does not crash; it trains a model that writes fluent nonsense. So each kernel that a
training step launches is run on this adapter before anybody trusts it. A pass is remembered for
this adapter and this very code; an update of either is tested anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable

from tabgrad.errors import StorageError
from tabgrad.gpu.conformance import check_programs
from tabgrad.gpu.counting_gpu import CountingDevice
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import PRESETS, Recipe
from tabgrad.optim.adamw import AdamW
from tabgrad.optim.optimizer import SCALARS
from tabgrad.platform import Files
from tabgrad.platform.gpu_protocol import Program
from tabgrad.tensor import ITEM_BYTES, Tensor

FILE = "selftest.json"
_BATCH, _CONTEXT = 2, 16


async def failed_kernels(device: Device, files: Files,
                         progress: Callable[[int, int], None]) -> list[str]:
    """Names of the kernels that a model needs and that compute wrongly on this adapter.

    Args:
        device: the adapter to test.
        files: where passes are remembered.
        progress: called with (kernels done, kernels).
    """
    programs = [program for recipe in PRESETS.values()
                for program in needed_programs(device, recipe)]
    count = len({program.name for program in programs})
    digest = _digest(programs)
    passes = await _passes(files)
    if passes.get(device.info.key) == digest:
        progress(count, count)
        return []
    results = await check_programs(device, programs, progress)
    failed = sorted({result.kernel for result in results if not result.passed})
    if not failed:
        await _remember(files, {**passes, device.info.key: digest})
    return failed


def needed_programs(device: Device, recipe: Recipe) -> list[Program]:
    """The programs of a small training step of a recipe, only recorded: nothing is run.

    On a device that only counts: no weights are drawn, which would take seconds of every start.
    """
    before = use_device(CountingDevice(device.info))
    try:
        decoder = Decoder(recipe, seed=0)
        optimizer = AdamW(decoder.arena)
        here = decoder.device
        scalars = here.allocate(SCALARS * ITEM_BYTES, "scalars").region
        ids, targets = (
            Tensor((_BATCH, _CONTEXT), "uint32",
                   here.allocate(_BATCH * _CONTEXT * ITEM_BYTES, "ids").region) for _ in range(2))
        with here.recording() as recording:
            decoder.arena.clear_gradients()
            decoder.loss(ids, targets).backward()
            optimizer.record_update(scalars)
        programs = list(recording.tape.programs())
        recording.tape.let_go()
    finally:
        use_device(before)
    return programs


def _digest(programs: Iterable[Program]) -> str:
    codes = sorted({program.code for program in programs})
    return hashlib.sha256("".join(codes).encode()).hexdigest()


async def _passes(files: Files) -> dict[str, str]:
    """Passes by adapter; none when nothing readable is there, which costs one more test."""
    try:
        table = json.loads(await files.read(FILE)) if await files.exists(FILE) else {}
    except (StorageError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


async def _remember(files: Files, passes: dict[str, str]) -> None:
    draft = f"{FILE}.new"
    try:
        await files.write(draft, [json.dumps(passes).encode()])
        await files.replace(draft, FILE)
    except StorageError:
        return  # a full disk costs one more test next time, and is said when a run is saved
