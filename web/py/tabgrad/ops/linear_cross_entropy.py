"""The head and its loss in chunks of rows: the logits of all rows never exist at once."""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.autograd import OpRecord, no_grad, sink, track
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.cross_entropy import launch_backward, weighted
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.linear import linear, linear_spec
from tabgrad.ops.matmul import launch_product
from tabgrad.ops.scale import scale as multiply
from tabgrad.ops.softcap import softcap
from tabgrad.ops.spec import Shape, Spec, require_float32, require_weights, spec_of
from tabgrad.ops.sum import scaled_sum
from tabgrad.ops.token_losses import launch_losses, require_targets
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

MOST_BYTES = 32 * 2**20
"""Of the logits of one chunk, unless the fewest rows of a chunk have more."""
STEP = ALIGNMENT // ITEM_BYTES  # rows: a chunk's targets begin where a buffer can be bound


def chunk_rows(vocabulary: int) -> int:
    """The rows of a chunk: a multiple of 64 whose logits stay below `MOST_BYTES`, or 64.

    Example:
        >>> chunk_rows(49152), chunk_rows(262144)
        (128, 64)
    """
    return max(1, MOST_BYTES // (vocabulary * ITEM_BYTES * STEP)) * STEP


def linear_cross_entropy_spec(x: Shape, weight: Shape, targets: Shape,
                              bias: Shape | None = None) -> Spec:
    """x (..., C), weight (V, C), targets (...), bias (V) -> a scalar.

    Example:
        >>> linear_cross_entropy_spec((2, 64, 576), (49152, 576), (2, 64)).shape
        ()

    Raises:
        ShapeError: shapes that do not fit.
    """
    product = linear_spec(x, weight, bias)
    require_targets("linear_cross_entropy", product.shape, targets)
    return spec_of((), [x, weight, targets], flops=product.flops + 5 * element_count(product.shape))


def linear_cross_entropy(x: Tensor, weight: Tensor, targets: Tensor,
                         scale: Tensor | None = None, *, bias: Tensor | None = None,
                         cap: float | None = None) -> Tensor:
    """cross_entropy(softcap(x weightᵀ + bias), targets, scale), a chunk of rows at a time.

    The forward keeps the log-sum-exp of each row. The backward computes the logits of each chunk
    once more: a product more, for a memory that does not grow with the rows.

    Args:
        x: (..., C) float32.
        weight: (V, C) float32; or stored in 16 bits, which gets no gradient.
        targets: (...) uint32, see `ops.cross_entropy`.
        scale: (1) float32, the weight of `ops.cross_entropy`; None for the mean over all rows.
        bias: (V) float32, or None.
        cap: of the logits, see `ops.softcap`; None for none.

    Returns:
        A float32 scalar.

    Raises:
        ShapeError: shapes or dtypes that do not fit.
    """
    linear_cross_entropy_spec(x.shape, weight.shape, targets.shape,
                              None if bias is None else bias.shape)
    require_float32("linear_cross_entropy", x)
    require_weights("linear_cross_entropy", weight)
    require_ids("linear_cross_entropy", targets)
    losses = Tensor.empty((targets.size,), label="row losses")
    lse = current_device().temporary(losses.region.size, "log-sum-exp")
    head = Head(weight, bias, cap)
    for rows in chunks(targets.size, weight.shape[0]):
        launch_losses(rows.vector(losses.region), rows.vector(lse), head.logits(rows.matrix(x)),
                      rows.vector(targets.region), ignores=True)
    total = scaled_sum("linear_cross_entropy", losses, 1.0)
    inputs = [x, weight, targets, *([] if bias is None else [bias])]
    total = track(total, "linear_cross_entropy", _backward, inputs, lse=lse, head=head)
    return multiply(total, 1.0 / targets.size) if scale is None else weighted(total, scale)


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring rows: the number of the first, and how many."""

    first: int
    count: int

    def vector(self, region: Region) -> Region:
        """Of a region with one number a row, those of these rows."""
        return region.part(self.first * ITEM_BYTES, self.count * ITEM_BYTES)

    def matrix(self, x: Tensor) -> Tensor:
        """Of x (..., C), these rows: (count, C)."""
        width = x.shape[-1]
        return Tensor((self.count, width), "float32", self.rows(x.region, width))

    def rows(self, region: Region, width: int) -> Region:
        """Of a region with `width` numbers a row, those of these rows."""
        size = width * ITEM_BYTES
        return region.part(self.first * size, self.count * size)


def chunks(rows: int, vocabulary: int) -> list[Chunk]:
    """All rows, chunk by chunk.

    Example:
        >>> [chunk.count for chunk in chunks(300, 49152)]
        [128, 128, 44]
    """
    most = chunk_rows(vocabulary)
    return [Chunk(first, min(most, rows - first)) for first in range(0, rows, most)]


@dataclass(frozen=True)
class Head:
    """What makes logits of rows: weight (V, C), bias (V) or None, and their cap."""

    weight: Tensor
    bias: Tensor | None
    cap: float | None

    def logits(self, x: Tensor) -> Tensor:
        """(N, C) -> (N, V), by the kernels that make all logits at once; no record is left."""
        with no_grad():
            logits = linear(x, self.weight, self.bias)                   # (N, V)
            return logits if self.cap is None else softcap(logits, self.cap)

    def through_cap(self, logits: Tensor, dlogits: Region) -> Region:
        """The gradient before the cap, from that of the capped logits."""
        if self.cap is None:
            return dlogits
        device = current_device()
        before = device.temporary(dlogits.size, "gradient before the cap")
        device.launch("softcap_backward", {"COUNT": logits.size, "CAP": self.cap, "ACCUMULATE": 0},
                      flops=4 * logits.size, dx=before, out=logits.region, dout=dlogits)
        return before


def _backward(record: OpRecord, gradient: Region) -> None:
    """For each chunk: dlogits of its logits; dx = dlogits W, dW += dlogitsᵀ x, db += their sum."""
    x, weight, targets = record.inputs[:3]
    head: Head = record.attributes["head"]
    dx, dweight = sink(record, 0), sink(record, 1)
    dbias = None if head.bias is None else sink(record, 3)
    device = current_device()
    (vocabulary, width) = weight.shape
    for rows in chunks(targets.size, vocabulary):
        x_rows = rows.matrix(x)                                          # (N, C)
        logits = head.logits(x_rows)                                     # (N, V)
        capped = device.temporary(logits.region.size, "gradient of logits")
        launch_backward(capped, logits, rows.vector(targets.region),
                        rows.vector(record.attributes["lse"]), gradient, accumulate=False,
                        ignores=True)
        dlogits = head.through_cap(logits, capped)                       # (N, V)
        later = rows.first > 0  # the sums over rows go on from the first chunk's
        if dx is not None:
            launch_product("matmul_nn", rows.rows(dx[0], width), dlogits, weight.region,
                           (rows.count, width, vocabulary), dx[1], weight.dtype)
        if dweight is not None:
            launch_product("matmul_tn", dweight[0], dlogits, x_rows.region,
                           (vocabulary, width, rows.count), dweight[1] or later)
        if dbias is not None:
            device.launch("column_sum", {"R": rows.count, "C": vocabulary, "FACTOR": 1.0,
                                         "ACCUMULATE": int(dbias[1] or later)},
                          lanes_of_a_column(device.info), flops=rows.count * vocabulary,
                          out=dbias[0], x=dlogits)
