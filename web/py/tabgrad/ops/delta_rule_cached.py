"""The gated delta rule for rows that follow others: prefill in pieces, and decoding."""

from __future__ import annotations

from dataclasses import asdict

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.ops.delta_rule import DeltaHeads, delta_rule_spec, run_chunks
from tabgrad.ops.span import span_region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor

GPU_SPLITS = 16  # invocations that share four columns of a state when one row is decoded


def delta_rule_cached_spec(qkv: Shape, decay: Shape, beta: Shape, state: Shape,
                           heads: DeltaHeads) -> Spec:
    """qkv (T, ...), decay and beta (T, HV), state (HV, DK, DV) -> (T, HV DV).

    Example:
        >>> heads = DeltaHeads(HK=2, HV=4, DK=8, DV=16)
        >>> delta_rule_cached_spec((7, 96), (7, 4), (7, 4), (4, 8, 16), heads).shape
        (7, 64)

    Raises:
        ShapeError: heads that do not divide, or shapes that do not fit them.
    """
    spec = delta_rule_spec((1, *qkv), (1, *decay), (1, *beta), heads)
    if state != (heads.HV, heads.DK, heads.DV):
        raise ShapeError("delta_rule_cached: the state has a matrix for each value head.",
                         expected=f"{(heads.HV, heads.DK, heads.DV)}", received=str(state))
    return spec_of(spec.shape[1:], [qkv, decay, beta, state, state], flops=spec.flops)


def delta_rule_cached(qkv: Tensor, decay: Tensor, beta: Tensor, HK: int, HV: int, DK: int, DV: int,
                      state: Tensor, span: Tensor) -> Tensor:
    """`delta_rule` from a given state on, which is moved on by the rows that count.

    Args:
        qkv: (T, 2 HK DK + HV DV) float32: query heads, key heads, value heads.
        decay: (T, HV) float32, never positive.
        beta: (T, HV) float32, between 0 and 1.
        HK, HV, DK, DV: heads and channels, as in `delta_rule`.
        state: (HV, DK, DV) float32; changed in place.
        span: uint32: position of row 0, rows that count. Rows from span[1] on are padding:
            their results mean nothing. With T = 1 the row counts, and span is not looked at.

    Returns:
        (T, HV DV) float32. There is no backward.

    Raises:
        ShapeError: shapes that do not fit.
    """
    heads = DeltaHeads(HK, HV, DK, DV)
    spec = delta_rule_cached_spec(qkv.shape, decay.shape, beta.shape, state.shape, heads)
    require_float32("delta_rule_cached", qkv, decay, beta, state)
    device = current_device()
    out = Tensor.empty(spec.shape, label="delta_rule_cached")
    region = span_region("delta_rule_cached", span)
    if qkv.shape[0] == 1:
        device.launch("delta_step", asdict(heads),
                      {"SPLITS": 1 if runs_on_cpu(device.info) else GPU_SPLITS},
                      flops=7 * HV * DK * DV, out=out.region, state=state.region,
                      qkv=qkv.region, decay=decay.region, beta=beta.region)
        return out
    run_chunks(out.region, state.region, (qkv, decay, beta), region,
               {"B": 1, "T": qkv.shape[0], **asdict(heads)}, keep=False, flops=spec.flops)
    return out
