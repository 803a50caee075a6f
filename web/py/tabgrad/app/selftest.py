"""The self-test at the start: the kernels that training needs, against their oracles, here.

A wrong kernel does not crash; it trains a model that writes fluent nonsense. So each kernel that a
training step and a generation launch is run on this adapter before anybody trusts it.
"""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.gpu.conformance import check_kernels
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.optim.adamw import SCALARS, AdamW
from tabgrad.tensor import ITEM_BYTES, Tensor

_BATCH, _CONTEXT = 2, 16


async def failed_kernels(device: Device, progress: Callable[[int, int], None]) -> list[str]:
    """Names of the kernels that a model needs and that compute wrongly on this adapter.

    Args:
        device: the adapter to test.
        progress: called with (kernels done, kernels).
    """
    results = await check_kernels(device, needed_kernels(device), progress)
    return sorted({result.kernel for result in results if not result.passed})


def needed_kernels(device: Device) -> list[str]:
    """The kernels of a training step and of a decode step of the smallest preset.

    The steps are only recorded: nothing is compiled or run.
    """
    use_device(device)
    decoder = Decoder(preset("tiny"), seed=0)
    optimizer = AdamW(decoder.arena)
    scalars = device.allocate(SCALARS * ITEM_BYTES, "scalars").region
    ids, targets = (
        Tensor((_BATCH, _CONTEXT), "uint32",
               device.allocate(_BATCH * _CONTEXT * ITEM_BYTES, "ids").region) for _ in range(2))
    with device.recording() as recording:
        decoder.arena.clear_gradients()
        decoder.loss(ids, targets).backward()
        optimizer.record_update(scalars)
    names = {program.name for program in recording.tape.programs()}
    recording.tape.let_go()
    return sorted(names)
