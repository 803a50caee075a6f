"""Embedding: rows of a table by their ids."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.row_ranges import row_ranges
from tabgrad.ops.spec import Shape, Spec, require_weights
from tabgrad.reference.stored import FORMATS
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def embedding_spec(ids: Shape, weight: Shape) -> Spec:
    """ids (...), weight (V, C) -> (..., C).

    Example:
        >>> embedding_spec((4, 64), (256, 128)).shape
        (4, 64, 128)

    Raises:
        ShapeError: a table that is not a matrix.
    """
    if len(weight) != 2:
        raise ShapeError("embedding: the table must be a matrix.", expected="(V, C)",
                         received=str(weight))
    count = element_count(ids)
    return Spec((*ids, weight[1]), "float32", 0, ITEM_BYTES * count * (1 + 2 * weight[1]))


def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    """weight[ids].

    Args:
        ids: (...) uint32, each below V.
        weight: (V, C) float32, the table; or stored in 16 bits, which gets no gradient.

    Returns:
        (..., C) float32.

    Raises:
        ShapeError: a table that is not a matrix, ids of another dtype, or a table in 16 bits that
            requires a gradient.
    """
    spec = embedding_spec(ids.shape, weight.shape)
    require_ids("embedding", ids)
    require_weights("embedding", weight)
    out = Tensor.empty(spec.shape, label="embedding")
    _forward(out, ids, weight)
    return track(out, "embedding", _embedding_backward, [ids, weight])


def _forward(out: Tensor, ids: Tensor, weight: Tensor) -> None:
    device = current_device()
    sizes = _sizes(ids, weight)
    consts = {"STORED": FORMATS.index(weight.dtype)}
    ranges = row_ranges(weight)
    if len(ranges) == 1:
        device.launch("embedding_forward", sizes, consts, out=out.region, ids=ids.region,
                      weight=weight.region)
        return
    device.clear(out.region)  # each launch writes only the rows that it finds in its range
    for rows in ranges:
        device.launch("embedding_range_forward",
                      sizes | {"R": rows.count, "FIRST": rows.first}, consts, out=out.region,
                      ids=ids.region, weight=rows.region)


def _embedding_backward(record: OpRecord, gradient: Region) -> None:
    """dweight[ids[n]] += dout[n], in the order of n."""
    ids, weight = record.inputs
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        device = current_device()
        if not accumulate:
            device.clear(region)
        device.launch("embedding_backward", _sizes(ids, weight),
                      {"PARTS": 1 if runs_on_cpu(device.info) else 8},
                      flops=ids.size * weight.shape[1], dweight=region, dout=gradient,
                      ids=ids.region)


def _sizes(ids: Tensor, weight: Tensor) -> dict[str, int | float]:
    return {"N": ids.size, "V": weight.shape[0], "C": weight.shape[1]}


def require_ids(op: str, ids: Tensor) -> None:
    """Raises ShapeError unless the ids are uint32."""
    if ids.dtype != "uint32":
        raise ShapeError(f"{op}: ids are unsigned whole numbers.", expected="uint32",
                         received=f"{ids.dtype} {ids.shape}",
                         remedy="Convert them with astype(numpy.uint32) first.")
