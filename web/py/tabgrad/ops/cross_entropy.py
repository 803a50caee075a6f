"""Softmax cross-entropy: the mean over the rows, or the weighted sum over those that count."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.mul import mul
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.ops.sum import scaled_sum
from tabgrad.ops.token_losses import launch_losses, require_targets
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def cross_entropy_spec(logits: Shape, targets: Shape) -> Spec:
    """Logits (..., V), targets (...) -> a scalar.

    Example:
        >>> cross_entropy_spec((4, 64, 256), (4, 64)).shape
        ()

    Raises:
        ShapeError: not one target for each row of logits.
    """
    require_targets("cross_entropy", logits, targets)
    return spec_of((), [logits, targets], flops=5 * element_count(logits))


def cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The mean of -log softmax(logits)[target] over the rows, in nats.

    With a weight, the sum over the rows that count, times the weight: with 1 over the number of
    counted targets in all micro-batches of a step, their losses add up to that step's mean.

    Args:
        logits: (..., V) float32.
        targets: (...) uint32, each below V; with a weight also `data.source.IGNORED`,
            which does not count.
        weight: (1) float32, data of a plan; None for the mean over all rows.

    Returns:
        A float32 scalar.

    Raises:
        ShapeError: shapes or dtypes that do not fit.
    """
    spec = cross_entropy_spec(logits.shape, targets.shape)
    require_float32("cross_entropy", logits)
    require_ids("cross_entropy", targets)
    ignores = weight is not None
    device = current_device()
    losses = Tensor.empty((targets.size,), label="row losses")
    lse = device.temporary(losses.region.size, "log-sum-exp")
    launch_losses(losses.region, lse, logits, targets.region, ignores=ignores)
    if weight is None:
        out = Tensor.empty(spec.shape, label="cross_entropy")
        device.launch("cross_entropy_mean", {"N": losses.size}, flops=losses.size,
                      out=out.region, losses=losses.region)
    else:
        out = scaled_sum("cross_entropy", losses, 1.0)
    out = track(out, "cross_entropy", _cross_entropy_backward, [logits, targets], lse=lse,
                ignores=ignores)
    return out if weight is None else weighted(out, weight)


def weighted(loss: Tensor, weight: Tensor) -> Tensor:
    """A scalar times a weight (1), which is data.

    Raises:
        ShapeError: a weight of another shape or dtype.
    """
    if weight.shape != (1,):
        raise ShapeError("cross_entropy: the weight of the sum is one number.", expected="(1,)",
                         received=str(weight.shape))
    return mul(loss, weight.reshape())


def _cross_entropy_backward(record: OpRecord, gradient: Region) -> None:
    """dlogits = (softmax - onehot) dloss, over N for the mean, 0 where the row does not count."""
    logits, targets = record.inputs
    target = sink(record, 0)
    if target is not None:
        launch_backward(target[0], logits, targets.region, record.attributes["lse"], gradient,
                        accumulate=target[1], ignores=record.attributes["ignores"])


def launch_backward(dlogits: Region, logits: Tensor, targets: Region, lse: Region, dloss: Region,
                    *, accumulate: bool, ignores: bool) -> None:
    """Launches the gradient of the logits.

    Args:
        dlogits: (N, V) float32, written or added to.
        logits: (..., V) float32 of N rows.
        targets: (N) uint32.
        lse: (N) float32, of the forward.
        dloss: (1) float32.
        accumulate: whether to add to dlogits.
        ignores: as in the forward.
    """
    sizes = {"N": targets.size // ITEM_BYTES, "V": logits.shape[-1], "ACCUMULATE": int(accumulate)}
    current_device().launch("cross_entropy_backward", sizes, {"IGNORES": 1} if ignores else {},
                            flops=5 * logits.size, dlogits=dlogits, logits=logits.region,
                            targets=targets, lse=lse, dloss=dloss)
