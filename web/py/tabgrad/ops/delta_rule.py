"""The gated delta rule: attention with a state of fixed size, over whole sequences."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tabgrad.autograd import track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.delta_rule_backward import delta_rule_backward
from tabgrad.ops.span import whole_span
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.ops.starts import no_starts, starts_region
from tabgrad.tensor import ITEM_BYTES, Tensor

CHUNK = 32  # rows whose products are formed at once; the state is stored between chunks
VECTOR = 4  # the kernels read four channels at a time


@dataclass(frozen=True)
class DeltaHeads:
    """Heads of a delta rule, and their channels.

    Attributes:
        HK: query heads, and as many key heads.
        HV: value heads; value head h reads the queries and keys of head h // (HV / HK).
        DK: channels of a query or key head.
        DV: channels of a value head.
    """

    HK: int
    HV: int
    DK: int
    DV: int

    @property
    def width(self) -> int:
        """Channels of packed queries, keys and values.

        Example:
            >>> DeltaHeads(HK=2, HV=4, DK=8, DV=16).width
            96
        """
        return 2 * self.HK * self.DK + self.HV * self.DV

    @property
    def state_bytes(self) -> int:
        """Bytes of the state of one sequence."""
        return self.HV * self.DK * self.DV * ITEM_BYTES


def delta_rule_spec(qkv: Shape, decay: Shape, beta: Shape, heads: DeltaHeads) -> Spec:
    """qkv (B, T, 2 HK DK + HV DV), decay and beta (B, T, HV) -> (B, T, HV DV).

    Example:
        >>> heads = DeltaHeads(HK=2, HV=4, DK=8, DV=16)
        >>> delta_rule_spec((3, 7, 96), (3, 7, 4), (3, 7, 4), heads).shape
        (3, 7, 64)

    Raises:
        ShapeError: heads that do not divide, or shapes that do not fit them.
    """
    if min(heads.HK, heads.HV) < 1 or heads.HV % heads.HK:
        raise ShapeError("delta_rule: each key head serves the same number of value heads.",
                         expected="value heads that are a multiple of the key heads",
                         received=f"{heads.HV} and {heads.HK}")
    if min(heads.DK, heads.DV) < 1 or heads.DK % VECTOR or heads.DV % VECTOR:
        raise ShapeError(f"delta_rule: a head has a multiple of {VECTOR} channels.",
                         expected=f"multiples of {VECTOR}",
                         received=f"DK {heads.DK}, DV {heads.DV}")
    rows = qkv[:-1]
    gates = (*rows, heads.HV)
    if len(qkv) != 3 or qkv[-1] != heads.width or decay != gates or beta != gates:
        raise ShapeError("delta_rule: the shapes do not fit the heads.",
                         expected=f"(B, T, {heads.width}), and (B, T, {heads.HV}) twice",
                         received=f"{qkv}, {decay}, {beta}")
    # The state's three products for each row, and the chunk's four triangles.
    of_row = heads.HV * (6 * heads.DK * heads.DV + 2 * CHUNK * (heads.DK + heads.DV))
    return spec_of((*rows, heads.HV * heads.DV), [qkv, decay, beta],
                   flops=rows[0] * rows[1] * of_row)


def delta_rule(qkv: Tensor, decay: Tensor, beta: Tensor, HK: int, HV: int, DK: int,
               DV: int, *, starts: Tensor | None = None) -> Tensor:
    """S = exp(decay) S; delta = beta (v - k S); S = S + kᵀ delta; out = q S, from S = 0 on.

    Args:
        qkv: (B, T, 2 HK DK + HV DV) float32: query heads, key heads, value heads. Queries and
            keys are brought to length one, queries also divided by sqrt(DK).
        decay: (B, T, HV) float32, never positive: the log of what a state keeps.
        beta: (B, T, HV) float32, between 0 and 1: how much of the error is corrected.
        HK: query heads, and as many key heads.
        HV: value heads, a multiple of HK. Value head h reads key head h HK // HV.
        DK: channels of a query or key head, a multiple of 4.
        DV: channels of a value head, a multiple of 4.
        starts: (B, T) uint32, for rows of several documents: S = 0 before starts[b, t], the first
            position of t's document. They do not fall along a row. None: each row is one.

    Returns:
        (B, T, HV DV) float32.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Yang, Kautz, Hatamizadeh, "Gated delta networks", 2024; in chunks as in Yang, Wang,
    Zhang, Shen, Kim, "Parallelizing linear transformers with the delta rule", 2024.
    """
    heads = DeltaHeads(HK, HV, DK, DV)
    spec = delta_rule_spec(qkv.shape, decay.shape, beta.shape, heads)
    require_float32("delta_rule", qkv, decay, beta)
    device = current_device()
    batch, time, _ = qkv.shape
    states = batch * heads.state_bytes
    chunks = -(-time // CHUNK)
    state = device.temporary((1 + chunks) * states, "delta_rule states")
    device.clear(state)
    out = Tensor.empty(spec.shape, label="delta_rule")
    sizes = {"B": batch, "T": time, **asdict(heads)}
    begins = starts_region("delta_rule", starts, (batch, time))
    saved = run_chunks(out.region, state, (qkv, decay, beta), whole_span(time), sizes, keep=True,
                       flops=spec.flops, starts=begins)
    return track(out, "delta_rule", delta_rule_backward, [qkv, decay, beta], sizes=sizes,
                 flops=spec.flops, chunk=CHUNK, state=state, starts=begins, **saved)


def run_chunks(out: Region, state: Region, inputs: tuple[Tensor, Tensor, Tensor], span: Region,
               sizes: dict[str, int], *, keep: bool, flops: int,
               starts: tuple[Region, dict[str, int]] | None = None) -> dict[str, Region]:
    """Records the three kernels of the chunked rule.

    Args:
        out: (B, T, HV DV).
        state: (1, B, HV, DK, DV), updated; with `keep`, one more of them for each chunk.
        inputs: qkv, decay, beta.
        span: of the rows.
        sizes: B, T, HK, HV, DK, DV.
        keep: whether the state before each chunk stays, for a backward.
        flops: of all.
        starts: where documents begin, as `starts_region` has it; None where each row is one.

    Returns:
        unit, rates, erase, attend, errors: what a backward needs besides.
    """
    device = current_device()
    qkv, decay, beta = inputs
    batch, heads = sizes["B"], sizes["HV"]
    rows = batch * -(-sizes["T"] // VECTOR) * VECTOR
    saved = {name: device.temporary(rows * width * ITEM_BYTES, f"delta_rule {name}")
             for name, width in [("unit", 2 * sizes["HK"] * sizes["DK"]), ("rates", heads * 4),
                                 ("erase", heads * CHUNK), ("attend", heads * CHUNK),
                                 ("errors", heads * sizes["DV"])]}
    device.launch("delta_normalise", sizes, unit=saved["unit"], qkv=qkv.region, span=span)
    products = {name: saved[name] for name in ("unit", "rates", "erase", "attend")}
    without_values = {name: size for name, size in sizes.items() if name != "DV"}
    begins, several = starts or (no_starts(device), {})
    device.launch("delta_products", without_values, {"CHUNK": CHUNK, **several},
                  flops=2 * rows * heads * CHUNK * sizes["DK"], decay=decay.region,
                  beta=beta.region, span=span, starts=begins, **products)
    device.launch("delta_scan", {**sizes, "KEEP": int(keep)}, {"CHUNK": CHUNK}, flops=flops,
                  out=out, errors=saved["errors"], state=state, qkv=qkv.region, **products)
    return saved
