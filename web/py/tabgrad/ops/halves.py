"""Activations that wait for their backward in 16 bits: half the room, float32 where it counts."""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.ops.spec import require_float32
from tabgrad.reference.stored import FORMATS, byte_count
from tabgrad.tensor import ITEM_BYTES, Tensor

Keep = Callable[[Tensor], Callable[[], Tensor]]


class Halves:
    """A tensor kept in 16 bits.

    Args:
        x: (..., C) float32.
        dtype: "bfloat16" or "float16". In float16 each row is divided by a power of two first, so
            that its largest number fits, whatever it is; no overflow has to be looked for.

    Every number is rounded once: to 8 significant bits in bfloat16, to 11 in float16 if it is at
    least 2^-28 of the largest of its row.
    """

    def __init__(self, x: Tensor, dtype: str) -> None:
        require_float32("halves", x)
        device = current_device()
        columns = x.shape[-1]
        self.shape, self.dtype = x.shape, dtype
        self._sizes = {"R": x.size // columns, "C": columns}
        self._exponent = device.temporary(self._sizes["R"] * ITEM_BYTES, "exponents of rows")
        self._packed = device.temporary(byte_count(x.size, dtype), f"kept in {dtype}")
        sizes = {**self._sizes, "FORMAT": FORMATS.index(dtype)}
        device.launch("halves_exponent", sizes, {"LANES": lanes_of_a_row(device.info, columns)},
                      flops=x.size, out=self._exponent, x=x.region)
        device.launch("halves_pack", sizes, flops=x.size, out=self._packed,
                      exponent=self._exponent, x=x.region)

    def restored(self) -> Tensor:
        """The rounded numbers in float32."""
        out = Tensor.empty(self.shape, label="restored")
        current_device().launch("halves_unpack", self._sizes,
                                {"STORED": FORMATS.index(self.dtype)}, flops=out.size,
                                out=out.region, exponent=self._exponent, x=self._packed)
        return out


def kept(dtype: str) -> Keep | None:
    """How `autograd.checkpoint` keeps inputs: its argument `keep`.

    Args:
        dtype: "float32" keeps them as they are (None); "bfloat16" or "float16" as Halves.

    Example:
        >>> kept("float32") is None
        True

    Raises:
        ShapeError: another dtype.
    """
    if dtype not in FORMATS:
        raise ShapeError("Activations are not kept so.", expected=" or ".join(FORMATS),
                         received=dtype)
    return None if dtype == "float32" else lambda x: Halves(x, dtype).restored
