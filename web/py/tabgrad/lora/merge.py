"""Adapters added to the weights of their base, and taken out again bit for bit."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabgrad import ops
from tabgrad.autograd import no_grad
from tabgrad.errors import SettingsError
from tabgrad.gpu.device import Device
from tabgrad.gpu.storage import Region
from tabgrad.models.decoder import Decoder
from tabgrad.nn import Joined, Linear
from tabgrad.ops.fit import fit
from tabgrad.reference.stored import FORMATS, byte_count
from tabgrad.tensor import ITEM_BYTES, Tensor, item_bytes

ROWS = 32768  # of a matrix at a time: more are more than one dimension of a dispatch takes
NUMBERS = 1 << 24  # likewise: 64 MiB in float32, which every adapter binds
STEP = 64  # rows of B that begin at a multiple of 256 bytes, whatever the rank

Change = tuple[Linear | Joined, int, Tensor, Tensor, Tensor]
"""(product, its first row that changes, A (r, in), B (rows, r), scale (1))."""


@dataclass(frozen=True)
class _Merged:
    """Who was merged, and what was there before: (place, copy of its bytes)."""

    adapter: object
    before: Sequence[tuple[Region, Region]]


_merged: weakref.WeakKeyDictionary[Decoder, list[_Merged]] = weakref.WeakKeyDictionary()


async def merge(decoder: Decoder, adapter: object, changes: Sequence[Change]) -> None:
    """Adds scale[0] * B A to rows of the decoder's matrices, each sum rounded once.

    Args:
        decoder: whose weights.
        adapter: who asks; `unmerge` wants the same.
        changes: one for each run of rows.
    """
    device = decoder.device
    before = []
    for product, first, a, b, scale in changes:
        weight = product.weight if isinstance(product, Linear) else product.tensor
        region = _rows(weight, first, b.shape[0])
        copy = device.allocate(region.size, "weights before a merge").region
        device.copy(region, copy)
        before.append((region, copy))
        for start, count in _pieces(b.shape[0], a.shape[1]):
            _add(device, _rows(weight, first + start, count), weight.dtype, a,
                 Tensor((count, b.shape[1]), "float32", b.region.part(
                     start * b.shape[1] * ITEM_BYTES, count * b.shape[1] * ITEM_BYTES)), scale)
        await device.flush()
    _merged.setdefault(decoder, []).append(_Merged(adapter, before))


async def unmerge(decoder: Decoder, adapter: object) -> None:
    """Puts back what was there before `merge`.

    Raises:
        SettingsError: this adapter was not the last one that was merged.
    """
    stack = _merged.get(decoder, [])
    if not stack or stack[-1].adapter is not adapter:
        raise SettingsError("Only the adapter that was merged last can be unmerged.",
                            received=f"{len(stack)} merged adapters")
    for place, copy in stack.pop().before:
        decoder.device.copy(copy, place)
    await decoder.device.flush()


def _pieces(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """(first row, how many) of parts of a matrix."""
    most = max(STEP, min(ROWS, NUMBERS // width // STEP * STEP))
    for start in range(0, rows, most):
        yield start, min(most, rows - start)


def _rows(weight: Tensor, first: int, count: int) -> Region:
    """The bytes of some rows; in 16 bits they begin with a word, since matrices do."""
    width = weight.shape[1]
    return weight.region.part(first * width * item_bytes(weight.dtype),
                              byte_count(count * width, weight.dtype))


def _add(device: Device, place: Region, dtype: str, a: Tensor, b: Tensor, scale: Tensor) -> None:
    """place += scale b a, by way of float32; copies, because a kernel binds aligned ranges only."""
    shape = (b.shape[0], a.shape[1])
    raw = device.temporary(place.size, "weights as stored")
    device.copy(place, raw)
    with no_grad():
        weight = Tensor((1, *shape), dtype, raw)
        plain = fit(weight, *shape) if dtype != "float32" else weight    # (1, rows, in)
        delta = ops.matmul(b, a)                                                 # (rows, in)
        total = ops.add_columns(plain.reshape(*shape), delta, 0, scale)          # (rows, in)
    if dtype == "float32":
        device.copy(total.region, place)
        return
    packed = device.temporary(place.size, "merged weights")
    device.launch("pack_halves", {"COUNT": total.size}, {"FORMAT": FORMATS.index(dtype)},
                  out=packed, x=total.region)
    device.copy(packed, place)
