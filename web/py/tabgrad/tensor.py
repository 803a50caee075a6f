"""Tensor: a shape, a dtype, a range of a GPU buffer, and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tabgrad import platform
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.reference.stored import FORMATS, byte_count, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tabgrad.autograd import OpRecord

DTYPES = ("float32", "uint32", "int32", "bfloat16", "float16")
HALVES = ("bfloat16", "float16")  # weights as a checkpoint stores them: two in a word
ITEM_BYTES = 4  # of every other dtype


def item_bytes(dtype: str) -> int:
    """The bytes of one number.

    Example:
        >>> item_bytes("float32"), item_bytes("bfloat16")
        (4, 2)
    """
    return 2 if dtype in HALVES else ITEM_BYTES


def element_count(shape: Sequence[int]) -> int:
    """The number of elements of a shape; 1 for a scalar.

    Example:
        >>> element_count((2, 3)), element_count(())
        (6, 1)
    """
    count = 1
    for axis in shape:
        count *= axis
    return count


def storable_dtype(array: np.ndarray) -> str:
    """The GPU dtype that holds an array: floats become float32, integers keep their sign.

    Example:
        >>> storable_dtype(np.zeros(3)), storable_dtype(np.arange(3, dtype=np.uint8))
        ('float32', 'uint32')

    Raises:
        ShapeError: a dtype with no counterpart on the GPU, or integers beyond 32 bits.
    """
    kind = array.dtype.kind
    if kind == "f":
        return "float32"
    if kind not in "iu":
        raise ShapeError("This array cannot become a Tensor.",
                         expected="floating point or integers", received=str(array.dtype),
                         remedy="Convert it with astype first.")
    dtype = "uint32" if kind == "u" else "int32"
    limits = np.iinfo(dtype)
    if array.size and (array.max() > limits.max or array.min() < limits.min):
        raise ShapeError("The integers do not fit into 32 bits.",
                         expected=f"{limits.min} to {limits.max}",
                         received=f"{array.min()} to {array.max()}")
    return dtype


class Tensor:
    """Numbers on the GPU that know how they were computed.

    Args:
        shape: the axes, outermost first; `()` is a scalar.
        dtype: "float32", "uint32" or "int32"; weights also "bfloat16" or "float16".
        region: the bytes on the GPU, row-major: four per element; two of the 16-bit dtypes, up to
            a whole word.
        requires_grad: whether `backward` shall leave a gradient in `grad`.

    `record` says which operation made the tensor; it is None for a leaf. `grad` is None until
    a `backward` reached this leaf; later passes add to it, as in PyTorch.
    """

    def __init__(self, shape: Sequence[int], dtype: str, region: Region, *,
                 requires_grad: bool = False) -> None:
        if dtype not in DTYPES:
            raise ShapeError("Unknown dtype.", expected=" or ".join(DTYPES), received=dtype)
        self.shape = tuple(int(axis) for axis in shape)
        if element_count(self.shape) == 0:
            raise ShapeError("A Tensor has at least one element.", expected="axes of 1 or more",
                             received=str(self.shape))
        if requires_grad and dtype != "float32":
            raise ShapeError("Only float32 tensors have gradients.", expected="float32",
                             received=dtype)
        self.dtype = dtype
        self._region = region
        self.requires_grad = requires_grad
        self.grad: Tensor | None = None
        self.record: OpRecord | None = None

    @property
    def region(self) -> Region:
        """The bytes on the GPU."""
        return self._region

    @property
    def size(self) -> int:
        """The number of elements."""
        return element_count(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @classmethod
    def from_numpy(cls, array: object, requires_grad: bool = False) -> Tensor:
        """Copies an array (or nested lists, or a number) to the GPU.

        Floats become float32, unsigned integers uint32, signed integers int32.

        Raises:
            ShapeError: no such dtype on the GPU, or integers beyond 32 bits.
        """
        values = np.asarray(array)
        dtype = storable_dtype(values)
        data = np.ascontiguousarray(values, dtype=dtype)
        return cls(values.shape, dtype, _uploaded(data.tobytes()), requires_grad=requires_grad)

    @classmethod
    def stored(cls, array: object, dtype: str) -> Tensor:
        """Copies an array to the GPU as weights in 16 bits, each number rounded to the nearest.

        Args:
            array: floating point, with at least one element.
            dtype: "bfloat16" or "float16"; "float32" keeps them as they are.

        Raises:
            ShapeError: another dtype, or no element.
        """
        if dtype not in FORMATS:
            raise ShapeError("Weights are not stored so.", expected=" or ".join(FORMATS),
                             received=dtype)
        values = np.asarray(array, np.float32)
        return cls(values.shape, dtype, _uploaded(pack(values, dtype)))

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: str = "float32", label: str = "temporary",
              ) -> Tensor:
        """Room for a result that a kernel will write; its bytes are undefined until then."""
        size = byte_count(element_count(shape), dtype if dtype in HALVES else "float32")
        return cls(shape, dtype, current_device().temporary(size, label))

    async def read(self) -> np.ndarray:
        """Copies the numbers back: runs what was recorded, waits for the GPU.

        Weights in 16 bits come as float32, which has all their values.
        """
        data = await current_device().read(self.region)
        if self.dtype in HALVES:
            return unpack(data, self.dtype, self.size).reshape(self.shape)
        return np.frombuffer(data, dtype=self.dtype).reshape(self.shape).copy()

    def numpy(self) -> np.ndarray:
        """`read` without await, where the platform can wait (CPython; a tab with JSPI)."""
        result: np.ndarray = platform.current().run_sync(self.read())
        return result

    def detach(self) -> Tensor:
        """The same numbers as a leaf without gradient; shares the bytes."""
        return Tensor(self.shape, self.dtype, self.region)

    def backward(self, gradient: Tensor | None = None) -> None:
        """Adds d(self)/d(leaf) to the `grad` of every leaf that requires it.

        Args:
            gradient: d(objective)/d(self), of the same shape; for a single number it is 1.

        Raises:
            ShapeError: no gradient for more than one number, a wrong shape, or no graph.
        """
        from tabgrad.autograd import backward
        backward(self, gradient)

    def reshape(self, *shape: int) -> Tensor:
        """The same numbers under other axes; one axis may be -1."""
        from tabgrad import ops
        return ops.reshape(self, shape)

    @property
    def T(self) -> Tensor:
        """The transpose of a matrix."""
        from tabgrad import ops
        return ops.transpose(self)

    def sum(self) -> Tensor:
        """The sum of all elements, a scalar."""
        from tabgrad import ops
        return ops.sum(self)

    def mean(self) -> Tensor:
        """The mean of all elements, a scalar."""
        from tabgrad import ops
        return ops.mean(self)

    def __add__(self, other: Tensor) -> Tensor:
        from tabgrad import ops
        return ops.add(self, other)

    def __sub__(self, other: Tensor) -> Tensor:
        from tabgrad import ops
        return ops.sub(self, other)

    def __mul__(self, other: Tensor | float) -> Tensor:
        from tabgrad import ops
        if isinstance(other, Tensor):
            return ops.mul(self, other)
        return ops.scale(self, float(other))

    __rmul__ = __mul__

    def __neg__(self) -> Tensor:
        from tabgrad import ops
        return ops.scale(self, -1.0)

    def __matmul__(self, other: Tensor) -> Tensor:
        from tabgrad import ops
        return ops.matmul(self, other)

    def __repr__(self) -> str:
        made_by = f", made by {self.record.op}" if self.record else ""
        return f"Tensor(shape={self.shape}, dtype={self.dtype}{made_by})"


def _uploaded(data: bytes) -> Region:
    """Bytes in a persistent buffer of their own."""
    if not data:
        raise ShapeError("A Tensor has at least one element.", expected="axes of 1 or more",
                         received="none")
    device = current_device()
    region = device.allocate(len(data), "from_numpy").region
    device.write(region, data)
    return region
