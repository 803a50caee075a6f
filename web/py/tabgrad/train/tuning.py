"""Which kernels a run multiplies with: those it began with, else the best on this adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabgrad.errors import StorageError
from tabgrad.gpu import autotune
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import Device
from tabgrad.platform import Files
from tabgrad.train.step import Progress, TrainStep


async def choose_kernels(device: Device, step: TrainStep, state: Mapping[str, Any] | None,
                         files: Files, progress: Progress | None = None) -> None:
    """Measures the kernels for the step's matrix products, once on each graphics card.

    A resumed run keeps its own choices, because another block size rounds differently and its
    losses would no longer be those of an uninterrupted run. The software adapters are not
    measured: their defaults come from benchmarks/matmul_variants.py, which takes minutes there.

    Args:
        device: where the run trains.
        step: not yet compiled.
        state: state.json of the checkpoint where the run goes on, or None.
        files: what was measured earlier on this adapter.
        progress: called with (products measured, products).

    Raises:
        KernelError: the checkpoint names kernels that this version does not have.
    """
    if device.info.runtime == "numpy":
        return
    if not runs_on_cpu(device.info):
        await _load(files)
    if state is not None:
        autotune.restore(state.get("kernels", []))
    if not runs_on_cpu(device.info):
        await autotune.measure(device, step.products(), files, progress)
        device.trim()  # what was measured is as large as the step's own products


async def _load(files: Files) -> None:
    try:
        await autotune.load(files)
    except StorageError:
        return  # a broken file costs one more measurement, and is written anew after it
