"""Softmax cross-entropy, averaged over the rows."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def cross_entropy_spec(logits: Shape, targets: Shape) -> Spec:
    """Logits (..., V), targets (...) -> a scalar.

    Example:
        >>> cross_entropy_spec((4, 64, 256), (4, 64)).shape
        ()

    Raises:
        ShapeError: not one target for each row of logits.
    """
    if not logits or logits[:-1] != targets:
        raise ShapeError("cross_entropy: every row of logits needs one target.",
                         expected=f"targets {logits[:-1]}", received=str(targets))
    return spec_of((), [logits, targets], flops=5 * element_count(logits))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean over the rows of -log softmax(logits)[target], in nats.

    Args:
        logits: (..., V) float32.
        targets: (...) uint32, each below V.

    Returns:
        A float32 scalar.

    Raises:
        ShapeError: shapes or dtypes that do not fit.
    """
    spec = cross_entropy_spec(logits.shape, targets.shape)
    require_float32("cross_entropy", logits)
    require_ids("cross_entropy", targets)
    device = current_device()
    rows, columns = targets.size, logits.shape[-1]
    losses = device.temporary(rows * ITEM_BYTES, "row losses")
    lse = device.temporary(rows * ITEM_BYTES, "log-sum-exp")
    device.launch("cross_entropy_forward", {"N": rows, "V": columns},
                  {"LANES": lanes_of_a_row(device.info, columns)}, flops=spec.flops,
                  losses=losses, lse=lse, logits=logits.region, targets=targets.region)
    out = Tensor.empty((), label="cross_entropy")
    device.launch("cross_entropy_mean", {"N": rows}, flops=rows, out=out.region, losses=losses)
    return track(out, "cross_entropy", _cross_entropy_backward, [logits, targets], lse=lse)


def _cross_entropy_backward(record: OpRecord, gradient: Region) -> None:
    """dlogits = (softmax - onehot) dloss / N."""
    logits, targets = record.inputs
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        sizes = {"N": targets.size, "V": logits.shape[-1], "ACCUMULATE": int(accumulate)}
        current_device().launch("cross_entropy_backward", sizes, flops=5 * logits.size,
                                dlogits=region, logits=logits.region, targets=targets.region,
                                lse=record.attributes["lse"], dloss=gradient)
