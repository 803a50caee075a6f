"""The loss of each row of logits by itself: what log-likelihoods and curves by position are of."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def token_losses_spec(logits: Shape, targets: Shape) -> Spec:
    """Logits (..., V), targets (...) -> (...).

    Example:
        >>> token_losses_spec((4, 64, 256), (4, 64)).shape
        (4, 64)

    Raises:
        ShapeError: not one target for each row of logits.
    """
    require_targets("token_losses", logits, targets)
    return spec_of(targets, [logits, targets], flops=5 * element_count(logits))


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """-log softmax(logits)[target] of every row, in nats; 0 where the target does not count.

    Args:
        logits: (..., V) float32.
        targets: (...) uint32: below V, or `data.source.IGNORED`.

    Returns:
        (...) float32. There is no backward.

    Raises:
        ShapeError: shapes or dtypes that do not fit.
    """
    spec = token_losses_spec(logits.shape, targets.shape)
    require_float32("token_losses", logits)
    require_ids("token_losses", targets)
    out = Tensor.empty(spec.shape, label="token_losses")
    lse = current_device().temporary(out.region.size, "log-sum-exp")
    launch_losses(out.region, lse, logits, targets.region, ignores=True)
    return out


def launch_losses(losses: Region, lse: Region, logits: Tensor, targets: Region, *,
                  ignores: bool) -> None:
    """Launches the forward of the loss of each row.

    Args:
        losses, lse: (N) float32 each, written.
        logits: (..., V) float32 of N rows.
        targets: (N) uint32.
        ignores: whether targets may be IGNORED; else each is below V.
    """
    device = current_device()
    columns = logits.shape[-1]
    consts = {"LANES": lanes_of_a_row(device.info, columns)}
    if ignores:
        consts["IGNORES"] = 1
    device.launch("cross_entropy_forward", {"N": losses.size // ITEM_BYTES, "V": columns}, consts,
                  flops=5 * logits.size, losses=losses, lse=lse, logits=logits.region,
                  targets=targets)


def require_targets(op: str, logits: Shape, targets: Shape) -> None:
    """Raises ShapeError unless there is one target for each row of logits."""
    if not logits or logits[:-1] != targets:
        raise ShapeError(f"{op}: every row of logits needs one target.",
                         expected=f"targets {logits[:-1]}", received=str(targets))
