"""Matrix products of this package against NumPy's, on this adapter, with their errors."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad import platform
from tabgrad.gpu.device import Device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import Variant, candidates

Matrix = NDArray[np.float32]

REPEATS = 5
NAIVE = ("one thread an output", Variant("matmul_nt_naive"))


def variants(size: int) -> list[tuple[str, Variant]]:
    """The naive kernel, then every candidate that the library chooses among, by name.

    Example:
        >>> [name for name, _ in variants(512)][:2]
        ['one thread an output', 'blocks of 4 x 8']
    """
    return [NAIVE, *((f"blocks of {each.consts['BLOCK_M']} x {each.consts['BLOCK_N']}", each)
                     for each in candidates("matmul_nt", size, size, size))]


async def matmul_rows(device: Device, size: int) -> list[dict[str, Any]]:
    """Times a bᵀ of two size x size matrices with each variant.

    Args:
        device: where.
        size: rows, columns and inner length.
    Returns:
        `BenchmarkRow`s: median milliseconds, 10^9 operations a second, and the largest error
        against float64 over the largest element.
    """
    draw = np.random.default_rng(size)
    a, b = (draw.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    rows = [_row("NumPy", size, _numpy_ms(a, b), a @ b.T, exact)]
    if device.info.runtime == "numpy":
        return rows
    left, right = _upload(device, a), _upload(device, b)
    for name, variant in variants(size):
        elapsed, result = await _gpu_ms(device, variant, left, right, size)
        rows.append(_row(name, size, elapsed, result, exact))
    return rows


async def _gpu_ms(device: Device, variant: Variant, a: Region, b: Region,
                  size: int) -> tuple[float, Matrix]:
    out = device.allocate(size * size * 4, "product").region
    sizes = {"M": size, "N": size, "K": size}
    if variant is not NAIVE[1]:
        sizes["ACCUMULATE"] = 0
    with device.recording() as tape:
        device.launch(variant.kernel, sizes, variant.consts, out=out, a=a, b=b)
    plan = await tape.compile(label=f"benchmark of {variant.kernel}", tested=False)
    now_ms = platform.current().now_ms
    await device.replay([plan])
    times = []
    for _ in range(REPEATS):
        started = now_ms()
        await device.replay([plan])
        times.append(now_ms() - started)
    plan.release()
    result = np.frombuffer(await device.read(out), np.float32).reshape(size, size)
    return statistics.median(times), result


def _numpy_ms(a: Matrix, b: Matrix) -> float:
    now_ms = platform.current().now_ms
    times = []
    for _ in range(REPEATS):
        started = now_ms()
        np.matmul(a, b.T)
        times.append(now_ms() - started)
    return statistics.median(times)


def _row(name: str, size: int, elapsed: float, result: Matrix,
         exact: NDArray[np.float64]) -> dict[str, Any]:
    error = float(np.abs(result - exact).max() / np.abs(exact).max())
    return {"name": name, "size": f"{size} \u00d7 {size} \u00d7 {size}", "milliseconds": elapsed,
            "gflops": 2.0 * size**3 / (max(elapsed, 1e-3) * 1e6), "error": error}


def _upload(device: Device, matrix: Matrix) -> Region:
    region = device.allocate(matrix.nbytes, "matrix").region
    device.write(region, matrix.tobytes())
    return region
