"""Weights larger than an adapter can bind at once, in ranges of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.reference.stored import byte_count
from tabgrad.tensor import ITEM_BYTES, Tensor, item_bytes


@dataclass(frozen=True)
class Rows:
    """Some neighbouring rows of a matrix: the number of the first, how many, and their bytes."""

    first: int
    count: int
    region: Region

    def part(self, vector: Region) -> Region:
        """Of a float32 vector with a number for each row of the matrix, those of these rows."""
        return vector.part(self.first * ITEM_BYTES, self.count * ITEM_BYTES)


def row_ranges(weight: Tensor) -> list[Rows]:
    """A matrix in as few ranges of rows as the current adapter can bind: one, nearly always.

    Each range, and the same range of a float32 vector, starts at a multiple of 256 bytes.

    Args:
        weight: (N, K), float32 or stored in 16 bits.

    Raises:
        ShapeError: rows so long that not even the shortest aligned range can be bound.
    """
    rows, columns = weight.shape
    limit = current_device().info.limits["maxStorageBufferBindingSize"]
    if weight.region.size <= limit:
        return [Rows(0, rows, weight.region)]
    width = columns * item_bytes(weight.dtype)
    step = math.lcm(ALIGNMENT // math.gcd(ALIGNMENT, width), ALIGNMENT // ITEM_BYTES)
    most = limit // (width * step) * step
    if most == 0:
        raise ShapeError("The rows of a matrix are longer than this adapter can bind.",
                         expected=f"at most {limit // step} bytes a row", received=f"{width} bytes")
    ranges = []
    for first in range(0, rows, most):
        count = min(most, rows - first)
        size = byte_count(count * columns, weight.dtype)
        ranges.append(Rows(first, count, weight.region.part(first * width, size)))
    return ranges
