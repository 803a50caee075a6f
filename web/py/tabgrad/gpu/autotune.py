"""Measures the candidates of `variants.py` on the user's own adapter, once, and remembers.

Nothing is measured unless somebody asks: a run must make the same choices after a reload, or its
losses would differ in the last bits. Choices are kept by adapter in `autotune.json`; a run keeps a
copy of those that it used (`choices`) and makes them again when it resumes (`restore`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tabgrad import platform
from tabgrad.errors import KernelError, StorageError
from tabgrad.gpu.cases import random_inputs
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import load_kernel
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import Key, Product, Variant, candidates, is_op, measured
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.gpu_protocol import AdapterInfo

FILE = "autotune.json"
VERSION = 1
TARGET_MS = 20.0
"""One timing lasts about this long, so that the clock and the submission count for little."""
ROUNDS = 3
LAUNCHES = 4
MOST_STEPS = 64
TOLERANCE = 1e-4
"""Largest error of a candidate, relative to the largest element of the product."""
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Measurement:
    """One candidate on this adapter.

    Attributes:
        product: op, M, N and K.
        variant: what was measured.
        milliseconds: of one launch; the fastest of a few rounds.
        error: largest difference from the oracle, relative to the product's largest element.
    """

    product: Product
    variant: Variant
    milliseconds: float
    error: float

    @property
    def gflops(self) -> float:
        """Billions of operations a second; an M N K product has 2 M N K."""
        _, m, n, k = self.product
        return 2 * m * n * k / self.milliseconds / 1e6

    @property
    def right(self) -> bool:
        """Whether the numbers are right."""
        return self.error <= TOLERANCE


async def measure(device: Device, products: Iterable[Product], files: Files | None = None,
                  progress: Progress | None = None) -> list[Measurement]:
    """Measures every candidate of products not measured yet on this adapter; keeps the winners.

    Args:
        device: where to measure.
        products: what a model multiplies.
        files: where to remember the winners; None keeps them in memory only.
        progress: called with (products done, products).

    Returns:
        All measurements, losers and wrong ones too.

    Raises:
        KernelError: no candidate of a product computes it right on this adapter.
    """
    missing = [product for product in dict.fromkeys(products)
               if (device.info.key, *product) not in measured]
    results: list[Measurement] = []
    for done, product in enumerate(missing, 1):
        rows = [await measure_variant(device, product, variant)
                for variant in candidates(*product)]
        right = [row for row in rows if row.right]
        if not right:
            raise KernelError(f"No kernel computes {product[0]} right on this adapter.",
                              expected=f"errors below {TOLERANCE:g}",
                              received=f"{min(row.error for row in rows):g}")
        measured[(device.info.key, *product)] = min(right, key=lambda row: row.milliseconds).variant
        results += rows
        if progress is not None:
            progress(done, len(missing))
    if files is not None and missing:
        await save(files)
    return results


async def measure_variant(device: Device, product: Product, variant: Variant) -> Measurement:
    """Checks one kernel against its oracle and times it."""
    _, m, n, k = product
    kernel = load_kernel(variant.kernel)
    named = {"M": m, "N": n, "K": k, "ACCUMULATE": 0}
    sizes: dict[str, int | float] = {size.name: named[size.name] for size in kernel.sizes}
    values = sizes | dict(variant.consts)
    inputs = random_inputs(kernel, values, seed=0)
    regions: dict[str, Region] = {}
    for binding in kernel.bindings:
        size = kernel.binding_bytes(values)[binding.name]
        regions[binding.name] = device.allocate(size, f"autotune {binding.name}").region
        if binding.name in inputs:
            data = kernel.encode(binding.name, inputs[binding.name], values)
            device.write(regions[binding.name], data)
    with device.recording() as tape:
        for _ in range(LAUNCHES):
            device.launch(kernel.name, sizes, variant.consts, 0, **regions)
    plan = await tape.compile(label="autotune", tested=False)  # it compares by itself
    try:
        milliseconds = await _time(device, plan)
        output = kernel.bindings[0].name
        received = np.frombuffer(await device.read(regions[output]), np.float32)
    finally:
        plan.release()
    expected = kernel.reference(inputs, values)[output].ravel().astype(np.float64)
    error = np.abs(received - expected).max() / max(np.abs(expected).max(), 1e-30)
    return Measurement(product, variant, milliseconds,
                       float(error) if np.isfinite(error) else math.inf)


async def _time(device: Device, plan: Plan) -> float:
    """Milliseconds of one of the plan's launches."""
    now_ms = platform.current().now_ms
    steps, best = 1, math.inf
    await device.replay([plan])  # warms up
    for _ in range(ROUNDS + 1):
        start = now_ms()
        await device.replay([plan], steps=steps)
        step = (now_ms() - start) / steps
        best = min(best, step)
        steps = max(1, min(MOST_STEPS, round(TARGET_MS / max(step, 1e-3))))
    return max(best, 1e-6) / LAUNCHES


def choices(info: AdapterInfo) -> list[dict[str, Any]]:
    """The winners on an adapter as plain data, in a fixed order: what a run records."""
    return [row for row in _rows() if row["adapter"] == info.key]


def restore(rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes recorded choices again.

    Raises:
        KernelError: a row is not one of `choices`, or names a kernel that is gone.
    """
    for row in rows:
        key, variant = _parse(row)
        measured[key] = variant


def forget(info: AdapterInfo) -> None:
    """Forgets an adapter's winners: the defaults are used again."""
    for key in [key for key in measured if key[0] == info.key]:
        del measured[key]


async def load(files: Files) -> None:
    """Reads what was measured before; nothing when there is no file.

    Raises:
        StorageError: the file is broken.
    """
    if not await files.exists(FILE):
        return
    try:
        table = json.loads(await files.read(FILE))
        if table["version"] == VERSION:
            restore(table["choices"])
    except (ValueError, KeyError, TypeError, KernelError) as error:
        raise StorageError(f"{FILE} is not what tabgrad wrote.", received=str(error),
                           remedy="Remove it: the kernels can be measured again.") from error


async def save(files: Files) -> None:
    """Writes all winners, in one step."""
    text = json.dumps({"version": VERSION, "choices": _rows()}, indent=1)
    await files.write(FILE + ".new", [text.encode()])
    await files.replace(FILE + ".new", FILE)


def _rows() -> list[dict[str, Any]]:
    return [{"adapter": adapter, "op": op, "m": m, "n": n, "k": k, "kernel": variant.kernel,
             "consts": dict(variant.consts)}
            for (adapter, op, m, n, k), variant in sorted(measured.items(), key=lambda x: x[0])]


def _parse(row: Mapping[str, Any]) -> tuple[Key, Variant]:
    try:
        key = (str(row["adapter"]), str(row["op"]), int(row["m"]), int(row["n"]), int(row["k"]))
        kernel = str(row["kernel"])
        consts = {str(name): int(value) for name, value in row["consts"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise KernelError("A recorded choice of a kernel cannot be read.",
                          received=repr(row)) from error
    variant = Variant(kernel, consts)
    # Only what could have been measured here: the row may come from somebody else's file.
    if not is_op(key[1]) or min(key[2:]) < 1 or variant not in candidates(*key[1:]):
        raise KernelError("A recorded choice names kernels that this version does not have.",
                          received=repr(row))
    return key, variant
