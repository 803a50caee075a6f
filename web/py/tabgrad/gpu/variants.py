"""Kernels that compute the same thing in different ways, and which of them to try first.

Block sizes do not carry over from one GPU to another. The candidates of an op are those that won
somewhere in benchmarks/matmul.py; `gpu/autotune.py` measures them on the user's own adapter and
enters the winner in `measured`; until then the default of the adapter's class is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tabgrad.gpu.adapter_class import is_called, runs_on_cpu
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.reference.stored import FORMATS

LANES = 4  # the vectorised kernels read four numbers at a time


@dataclass(frozen=True)
class Variant:
    """A kernel and the consts to compose it with."""

    kernel: str
    consts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Blocks:
    """How a matrix product is cut: outputs of one invocation, and invocations of a workgroup."""

    rows: int
    columns: int
    group: int

    @property
    def consts(self) -> dict[str, int]:
        """As the kernels' headers name them."""
        return {"BLOCK_M": self.rows, "BLOCK_N": self.columns, "GROUP": self.group}


ONE_ROW = Blocks(1, 4, 8)   # a single row: 1.5 to 2.4 times as fast as 4 x 4 on both adapters
# A single row with a kernel of its own: 1.2 to 1.7 times as fast again in bfloat16.
ROW = {"COLUMNS": 8, "LANES": 1, "GROUP": 8}
# Lanes that read whole cache lines: for a graphics card, not measured on one.
ROW_IN_LANES = {"COLUMNS": 4, "LANES": 32, "GROUP": 4}
SMALL = Blocks(4, 8, 8)     # little work in an invocation: wins some small products on lavapipe
MEDIUM = Blocks(8, 8, 8)    # lavapipe's best for most products
TALL = Blocks(16, 8, 4)     # SwiftShader's; 16 x 16 gains a sixth at most, compiles twice as long
WIDE = Blocks(8, 16, 4)     # lavapipe's best for some wide or deep products
# With b in bfloat16 on SwiftShader 1.4 to 1.6 times as fast as TALL (7.2 to 7.7 GFLOP/s; float32
# in TALL has 5.0), on lavapipe equal to MEDIUM. Only for stored weights: training keeps its bits.
LARGE = Blocks(16, 16, 4)

# The kernel of each op when its rows are whole vectors of four, else the general one. The name of
# an op whose b is stored in 16 bits ends in the dtype: `linear.bfloat16`.
KERNELS = {
    "matmul_nt": ("matmul_nt", "matmul_nt_any"),
    "matmul_nn": ("matmul_nn", "matmul_nn_any"),
    "matmul_tn": ("matmul_tn", "matmul_tn_any"),
    "linear": ("linear_forward", None),
    "linear_gelu": ("linear_gelu_forward", None),
    "linear_residual": ("linear_residual_forward", None),
    "matmul_residual": ("matmul_residual_forward", None),
}

# The kernel of an op for a single row, and the multiples that its N must be of.
ROW_KERNELS = {
    "matmul_nt": ("matmul_nt_row", 1),
    "linear": ("linear_row_forward", LANES),
    "linear_gelu": ("linear_gelu_row_forward", LANES),
    "linear_residual": ("linear_residual_row_forward", LANES),
    "matmul_residual": ("matmul_residual_row_forward", LANES),
}

Product: TypeAlias = tuple[str, int, int, int]
"""(op of KERNELS, with the dtype of b if it has 16 bits; M, N, K)."""
Key = tuple[str, str, int, int, int]
measured: dict[Key, Variant] = {}
"""Winners on real adapters: (adapter key, op, M, N, K) -> variant. `gpu/autotune.py` fills it."""
_collectors: list[list[Product]] = []


def stored_op(op: str, dtype: str) -> str:
    """The name of an op whose second operand is stored so.

    Example:
        >>> stored_op("linear", "float32"), stored_op("linear", "bfloat16")
        ('linear', 'linear.bfloat16')
    """
    return op if dtype == FORMATS[0] else f"{op}.{dtype}"


def is_op(name: str) -> bool:
    """Whether a name is that of a product with kernels."""
    op, _, dtype = name.partition(".")
    return op in KERNELS and dtype in ("", *FORMATS[1:])


def _stored(name: str) -> dict[str, int]:
    """The const that says how b lies in memory, where it is not float32."""
    dtype = name.partition(".")[2]
    return {"STORED": FORMATS.index(dtype)} if dtype else {}


def is_fusable(n: int, k: int) -> bool:
    """Whether the linear kernels with an epilogue take this N and K."""
    return n % LANES == 0 and k % LANES == 0


def kernel_of(op: str, m: int, n: int, k: int) -> str:
    """The kernel for a product of this size: on vectors of four, or the general one.

    Raises:
        ValueError: an epilogue kernel cannot take this N or K.
    """
    op = op.partition(".")[0]
    vector, general = KERNELS[op]
    read_along = {"matmul_nn": (k, n), "matmul_tn": (m, n, k), "matmul_nt": (k,)}.get(op, (n, k))
    if all(axis % LANES == 0 for axis in read_along):
        return vector
    if general is None:
        raise ValueError(f"{op} needs multiples of {LANES}, not N = {n}, K = {k}")
    return general


def row_kernel_of(op: str, m: int, n: int, k: int) -> str | None:
    """The kernel for a single row; None for more rows, and where N or K is not of whole loads.

    Example:
        >>> row_kernel_of("linear.bfloat16", 1, 576, 576), row_kernel_of("linear", 2, 576, 576)
        ('linear_row_forward', None)
    """
    base, _, dtype = op.partition(".")
    if m != 1 or base not in ROW_KERNELS:
        return None
    kernel, multiple = ROW_KERNELS[base]
    return kernel if n % multiple == 0 and k % (2 * LANES if dtype else LANES) == 0 else None


def candidates(op: str, m: int, n: int, k: int) -> tuple[Variant, ...]:
    """What is worth measuring for one product.

    Args:
        op: a key of KERNELS, see `stored_op`.
        m: rows of the result.
        n: columns of the result.
        k: length of the summed axis.

    Example:
        >>> [variant.consts["BLOCK_M"] for variant in candidates("matmul_nn", 1, 256, 128)]
        [1]
    """
    kernel, row = kernel_of(op, m, n, k), row_kernel_of(op, m, n, k)
    blocks = [ONE_ROW] if m == 1 else [SMALL, MEDIUM, TALL, WIDE]
    if m > 1 and _stored(op):
        blocks.append(LARGE)
    found = [Variant(kernel, block.consts | _stored(op)) for block in blocks]
    if row is not None:
        found += [Variant(row, consts | _stored(op)) for consts in (ROW, ROW_IN_LANES)]
    return tuple(found)


def default_variant(op: str, m: int, n: int, k: int, info: AdapterInfo) -> Variant:
    """The variant to use before any was measured on this adapter."""
    row = row_kernel_of(op, m, n, k)
    if row is not None:
        return Variant(row, (ROW if runs_on_cpu(info) else ROW_IN_LANES) | _stored(op))
    blocks = ONE_ROW if m == 1 else _default_blocks(info)
    if blocks is TALL and _stored(op) and m >= LARGE.rows:
        blocks = LARGE
    return Variant(kernel_of(op, m, n, k), blocks.consts | _stored(op))


def _default_blocks(info: AdapterInfo) -> Blocks:
    if is_called(info, "swiftshader"):
        return TALL
    if is_called(info, "llvmpipe", "lavapipe"):
        return MEDIUM
    # Not measured on a graphics card: the fewest registers, which spill last.
    return SMALL


@contextmanager
def collecting() -> Iterator[list[Product]]:
    """Inside, every product that something chooses a kernel for is appended to the list."""
    products: list[Product] = []
    _collectors.append(products)
    try:
        yield products
    finally:
        _collectors.remove(products)


def choose(op: str, m: int, n: int, k: int, info: AdapterInfo) -> Variant:
    """The measured winner for one product on this adapter, else the default."""
    for products in _collectors:
        products.append((op, m, n, k))
    winner = measured.get((info.key, op, m, n, k))
    return winner if winner is not None else default_variant(op, m, n, k, info)
