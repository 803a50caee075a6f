"""What a run would cost, before it starts: its own recording, and one product measured here.

The memory is counted, see `train.memory`. The time is the number of operations of a step over the
speed of a matrix product of a typical shape on this adapter; everything else that a step does is
covered by one factor. It is an estimate and is shown as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tabgrad import ops, platform
from tabgrad.errors import OutOfMemory
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder, parameter_count
from tabgrad.tensor import Tensor
from tabgrad.train.memory import BlankRows, Memory, estimate, fit, of_repeats
from tabgrad.train.pretrain import pretrain_step, pretrain_validation
from tabgrad.train.settings import TrainSettings
from tabgrad.train.step import TrainStep
from tabgrad.train.validation import Validation

# Layer norms, attention's softmax, GELU, the optimiser and the launches, over the products' time.
OTHER_WORK = 1.6
_ROWS, _INNER, _COLUMNS = 512, 128, 512
_REPEATS = 4
_ENOUGH_MS = 40.0
_KNOWN = 16
_counted: dict[tuple[TrainSettings, str], tuple[Memory, int]] = {}


def estimate_run(settings: TrainSettings, device: Device, gflops: float) -> dict[str, Any]:
    """The reply of `estimate`.

    Args:
        settings: of the run.
        device: where it would run.
        gflops: measured speed of a matrix product there, in 10^9 operations a second.

    Raises:
        OutOfMemory: the adapter's limits do not allow it; says what they would.
    """
    memory, flops = _known(settings, device)
    if memory.refused is not None:
        raise _with_remedy(memory.refused, settings, device)
    step_ms = OTHER_WORK * flops / (gflops * 1e6)
    return {"parameters": parameter_count(settings.recipe), "memory": memory.parts(),
            "total_bytes": memory.total, "step_ms": step_ms,
            "tokens_per_step": settings.tokens_per_step,
            "total_seconds": settings.max_steps * step_ms / 1000.0}


def _known(settings: TrainSettings, device: Device) -> tuple[Memory, int]:
    """What `_count` gives, kept for the next question."""
    key = settings, device.info.key
    if key not in _counted:
        if len(_counted) == _KNOWN:
            _counted.clear()  # a person has seen them long ago
        _counted[key] = _count(settings, device)
    return _counted[key]


def _with_remedy(refused: OutOfMemory, settings: TrainSettings, device: Device) -> OutOfMemory:
    """The same error with settings that would fit, where there are some."""
    found = fit(settings, None, lambda other: _known(other, device)[0])
    if found is None:
        return refused
    return OutOfMemory(refused.message, expected=refused.expected, received=refused.received,
                       remedy=found[1], control=refused.control)


def _count(settings: TrainSettings, device: Device) -> tuple[Memory, int]:
    """Memory, and operations of one step."""
    of_a_batch = 0

    def recorded(given: TrainSettings) -> Memory:
        async def build(counting: Device) -> tuple[TrainStep, Validation | None]:
            nonlocal of_a_batch
            step, validation = await _built(given)
            of_a_batch = step.plan.flops // given.gradient_accumulation_steps
            return step, validation

        return estimate(build, device.info)

    memory = of_repeats(settings, recorded)
    return memory, of_a_batch * settings.gradient_accumulation_steps


async def _built(settings: TrainSettings) -> tuple[TrainStep, Validation | None]:
    """What a run holds on the current device, but for the text that it reads."""
    decoder = Decoder(settings.recipe)
    step = pretrain_step(decoder, settings, BlankRows(settings, packed=False, held_out=False))
    await step.compile()
    if not settings.eval_steps:
        return step, None
    validation = pretrain_validation(decoder, settings,
                                     np.zeros(settings.context_length + 1, np.uint8))
    await validation.compile()
    return step, validation


async def matmul_gflops(device: Device) -> float:
    """Speed of x Wᵀ + b with x (512, 128) and W (512, 128) here, in 10^9 operations a second."""
    use_device(device)
    draw = np.random.default_rng(0)
    x, weight, bias = (Tensor.from_numpy(draw.standard_normal(shape).astype(np.float32))
                       for shape in ((_ROWS, _INNER), (_COLUMNS, _INNER), (_COLUMNS,)))
    with device.recording() as tape:
        last = [ops.linear(x, weight, bias) for _ in range(_REPEATS)][-1]    # (512, 512)
    plan = await tape.compile(outputs=[last.region], label="speed of a product")
    now_ms = platform.current().now_ms
    await device.replay([plan])
    steps, elapsed = 1, 0.0
    while elapsed < _ENOUGH_MS and steps < 1 << 12:
        steps *= 2
        started = now_ms()
        await device.replay([plan], steps=steps)
        elapsed = now_ms() - started
    plan.release()
    return 2.0 * _ROWS * _INNER * _COLUMNS * _REPEATS * steps / (max(elapsed, 1e-3) * 1e6)
