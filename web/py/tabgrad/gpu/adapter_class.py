"""What kind of machine an adapter is, where the best kernel or block size depends on it."""

from __future__ import annotations

from functools import cache

from tabgrad.platform.gpu_protocol import AdapterInfo

CPU_ADAPTERS = ("swiftshader", "llvmpipe", "lavapipe", "warp", "basic render")
LONGEST_ROW = 16_384
"""Columns that one thread of a CPU's adapter reads alone, twice."""


def is_called(info: AdapterInfo, *names: str) -> bool:
    """Whether the adapter's name, vendor or architecture contains one of the names."""
    return _is_called(info.name, info.vendor, info.architecture, names)


@cache
def _is_called(name: str, vendor: str, architecture: str, names: tuple[str, ...]) -> bool:
    words = f"{name} {vendor} {architecture}".lower()
    return any(one in words for one in names)


def runs_on_cpu(info: AdapterInfo) -> bool:
    """Whether the adapter is a CPU that plays GPU: few threads, dear barriers, large caches."""
    return is_called(info, *CPU_ADAPTERS)


def lanes_of_a_row(info: AdapterInfo, columns: int) -> int:
    """How many neighbouring threads share a row in the row-wise kernels.

    One on a CPU, where a barrier costs more than it gains, unless the row is long: lavapipe ends
    all loops of a thread together after 65,535 rounds, without a word. On a GPU enough to read
    whole cache lines and to keep it busy.

    Args:
        info: the adapter.
        columns: of a row.
    """
    if runs_on_cpu(info):
        return 1 if columns <= LONGEST_ROW else 16
    return 16 if columns <= 512 else 64


def lanes_of_a_stretch(info: AdapterInfo) -> int:
    """How many neighbouring threads share a long stretch in the kernels that sum everything."""
    return 1 if runs_on_cpu(info) else 64


def lanes_of_a_column(info: AdapterInfo) -> dict[str, int]:
    """The consts of the kernels that sum over rows: columns of a workgroup, threads of each."""
    return {"COLUMNS": 32, "LANES": 1 if runs_on_cpu(info) else 8}
