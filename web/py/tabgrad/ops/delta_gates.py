"""The two gates of the gated delta rule."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def delta_gates_spec(a: Shape, b: Shape, A_log: Shape, dt_bias: Shape) -> Spec:
    """a, b (..., H), A_log, dt_bias (H) -> the shape of both gates.

    Example:
        >>> delta_gates_spec((4, 64, 16), (4, 64, 16), (16,), (16,)).shape
        (4, 64, 16)

    Raises:
        ShapeError: shapes that do not fit.
    """
    if not a or b != a or A_log != a[-1:] or dt_bias != a[-1:]:
        raise ShapeError("delta_gates: a and b have a number for each head, and so have the rest.",
                         expected=f"{a}, {a}, {a[-1:]}, {a[-1:]}",
                         received=f"{a}, {b}, {A_log}, {dt_bias}")
    return spec_of(a, [a, a, b, A_log, dt_bias], flops=12 * element_count(a))


def delta_gates(a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor) -> tuple[Tensor, Tensor]:
    """decay = -exp(A_log) softplus(a + dt_bias), beta = sigmoid(b).

    Args:
        a: (..., H) float32.
        b: (..., H) float32.
        A_log: (H) float32.
        dt_bias: (H) float32.

    Returns:
        decay (..., H), never positive: the log of what a state keeps; and beta (..., H), between
        0 and 1: how far the state moves to the new value.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Yang, Kautz, Hatamizadeh, "Gated delta networks", 2024.
    """
    spec = delta_gates_spec(a.shape, b.shape, A_log.shape, dt_bias.shape)
    require_float32("delta_gates", a, b, A_log, dt_bias)
    decay = Tensor.empty(spec.shape, label="delta_gates decay")
    beta = Tensor.empty(spec.shape, label="delta_gates beta")
    current_device().launch("delta_gates_forward", _sizes(a), flops=spec.flops,
                            decay=decay.region, beta=beta.region, a=a.region, b=b.region,
                            A_log=A_log.region, dt_bias=dt_bias.region)
    return (track(decay, "delta_gates decay", _decay_backward, [a, A_log, dt_bias]),
            track(beta, "delta_gates beta", _beta_backward, [b]))


def _decay_backward(record: OpRecord, gradient: Region) -> None:
    """da = -ddecay exp(A_log) sigmoid(a + dt_bias); dA_log sums ddecay decay, ddt_bias sums da."""
    device = current_device()
    a, A_log, dt_bias = record.inputs
    given = {"ddecay": gradient, "a": a.region, "A_log": A_log.region, "dt_bias": dt_bias.region}
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("delta_gates_backward_input",
                      {**_sizes(a), "ACCUMULATE": int(accumulate)}, None,
                      flops=8 * a.size, da=region, **given)
    if A_log.requires_grad or dt_bias.requires_grad:
        _sums_over_rows(record, given)


def _sums_over_rows(record: OpRecord, given: dict[str, Region]) -> None:
    """One kernel gives both sums; when one of them is added to, the other starts from zero."""
    device = current_device()
    a = record.inputs[0]
    targets = [sink(record, 1), sink(record, 2)]
    accumulate = any(target is not None and target[1] for target in targets)
    regions = []
    for target in targets:
        region, has_numbers = target or (
            device.temporary(a.shape[-1] * ITEM_BYTES, "delta_gates gradient nobody needs"), False)
        if accumulate and not has_numbers:
            device.clear(region)
        regions.append(region)
    device.launch("delta_gates_backward_weight", {**_sizes(a), "ACCUMULATE": int(accumulate)},
                  lanes_of_a_column(device.info), flops=14 * a.size, dA_log=regions[0],
                  ddt_bias=regions[1], **given)


def _beta_backward(record: OpRecord, gradient: Region) -> None:
    """db = dbeta beta (1 - beta)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("delta_gates_backward_beta",
                                {"COUNT": count, "ACCUMULATE": int(accumulate)}, flops=4 * count,
                                db=region, dbeta=gradient, beta=record.output.region)


def _sizes(a: Tensor) -> dict[str, int]:
    return {"R": a.size // a.shape[-1], "H": a.shape[-1]}
