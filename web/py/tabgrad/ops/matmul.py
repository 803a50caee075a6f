"""The product of two matrices, and the launches that `linear` shares with it."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import choose, stored_op
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor


def matmul_spec(a: Shape, b: Shape) -> Spec:
    """(M, K) times (K, N) -> (M, N).

    Example:
        >>> matmul_spec((2, 3), (3, 4)).flops
        48

    Raises:
        ShapeError: not two matrices, or the inner axes differ.
    """
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        raise ShapeError("matmul: the inner axes of two matrices must be equal.",
                         expected="(M, K) and (K, N)", received=f"{a} and {b}",
                         remedy="Use reshape first if there are more axes.")
    return spec_of((a[0], b[1]), [a, b], flops=2 * a[0] * a[1] * b[1])


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a b.

    Args:
        a: (M, K) float32.
        b: (K, N) float32.

    Returns:
        (M, N) float32.

    Raises:
        ShapeError: not two matrices, or the inner axes differ.
    """
    spec = matmul_spec(a.shape, b.shape)
    require_float32("matmul", a, b)
    out = Tensor.empty(spec.shape, label="matmul")
    (m, k), n = a.shape, b.shape[1]
    launch_product("matmul_nn", out.region, a.region, b.region, (m, n, k))
    return track(out, "matmul", _matmul_backward, [a, b])


def _matmul_backward(record: OpRecord, gradient: Region) -> None:
    """da = dout bᵀ; db = aᵀ dout."""
    a, b = record.inputs
    (m, k), n = a.shape, b.shape[1]
    target = sink(record, 0)
    if target is not None:
        launch_product("matmul_nt", target[0], gradient, b.region, (m, k, n), target[1])
    target = sink(record, 1)
    if target is not None:
        launch_product("matmul_tn", target[0], a.region, gradient, (k, n, m), target[1])


def launch_product(form: str, out: Region, a: Region, b: Region, sizes: tuple[int, int, int],
                   accumulate: bool = False, dtype: str = "float32") -> None:
    """Launches one product, with the kernel that is best for its size on this adapter.

    Args:
        form: `matmul_nn`, `matmul_nt` or `matmul_tn`: which operand is stored transposed.
        out: (M, N).
        a: (M, K), or (K, M) for `tn`.
        b: (K, N), or (N, K) for `nt`.
        sizes: M, N, K.
        accumulate: whether to add to `out`.
        dtype: of b, which may be stored in 16 bits in the forms `nn` and `nt`.
    """
    device = current_device()
    m, n, k = sizes
    variant = choose(stored_op(form, dtype), m, n, k, device.info)
    device.launch(variant.kernel, {"M": m, "N": n, "K": k, "ACCUMULATE": int(accumulate)},
                  variant.consts, flops=2 * m * n * k, out=out, a=a, b=b)
