"""Mixture of experts: each row goes to a few of many SwiGLU networks, which a router chooses."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import LANES
from tabgrad.ops.experts import (
    Groups,
    Routing,
    launch_gradient,
    launch_group,
    launch_product,
    launch_route,
    launch_rows,
    temporary,
)
from tabgrad.ops.fit import fit
from tabgrad.ops.spec import Shape, Spec, require_float32, require_weights
from tabgrad.reference.stored import byte_count
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

MOST_EXPERTS = 4000  # their counts lie in workgroup memory while rows are grouped


def moe_spec(x: Shape, router_logits: Shape, gate_up: Shape, down: Shape, top_k: int,
             dtype: str = "float32") -> Spec:
    """x (..., C), router_logits (..., E), gate_up (E, 2F, C), down (E, C, F) -> (..., C).

    The bytes are those of the experts that can be chosen, stored in `dtype`.

    Example:
        >>> moe_spec((9, 12), (9, 3), (3, 32, 12), (3, 12, 16), 2).flops
        20736

    Raises:
        ShapeError: shapes that do not fit, or a top_k out of range.
    """
    fits = (len(gate_up) == 3 and x[-1:] == gate_up[2:] and gate_up[1] % 2 == 0
            and router_logits == (*x[:-1], gate_up[0])
            and down == (gate_up[0], x[-1], gate_up[1] // 2))
    if not fits:
        raise ShapeError("moe: the shapes do not fit together.",
                         expected="x (..., C), router_logits (..., E), gate_up (E, 2F, C) and "
                                  "down (E, C, F)",
                         received=f"{x}, {router_logits}, {gate_up} and {down}")
    count, c, f = down
    if not 1 <= top_k <= count <= MOST_EXPERTS:
        raise ShapeError("moe: a row goes to at least one expert and at most all of them.",
                         expected=f"top_k from 1 to {count}, at most {MOST_EXPERTS} experts",
                         received=f"top_k = {top_k} of {count}")
    rows = element_count(x[:-1])
    read = min(count, rows * top_k) * byte_count(3 * c * f, dtype)
    return Spec(x, "float32", 6 * rows * top_k * c * f,
                read + ITEM_BYTES * (2 * element_count(x) + element_count(router_logits)))


def moe(x: Tensor, router_logits: Tensor, gate_up: Tensor, down: Tensor, top_k: int, *,
        normalize: bool) -> Tensor:
    """The sum over each row's experts of weight * down(silu(gate(x)) * up(x)).

    Weights are the softmax of router_logits over all experts, of the top_k largest (the first
    among equals), divided by their sum if `normalize`. Only chosen experts' matrices are read: row
    by row when rows are few, else the rows of one expert together. (Where C or F is not a multiple
    of four, copies of all matrices are filled up with zeros first, at every call.)

    Args:
        x: (..., C) float32.
        router_logits: (..., E) float32.
        gate_up: (E, 2F, C), gate above up; float32, or stored in 16 bits, which gets no gradient.
        down: (E, C, F), likewise.
        top_k: experts of a row.
        normalize: Mixtral does; Qwen3's `norm_topk_prob`.

    Returns:
        (..., C) float32.

    Raises:
        ShapeError: shapes that do not fit, or weights in 16 bits that require a gradient.
    """
    spec = moe_spec(x.shape, router_logits.shape, gate_up.shape, down.shape, top_k, down.dtype)
    require_float32("moe", x, router_logits)
    require_weights("moe", gate_up)
    require_weights("moe", down)
    if down.shape[1] % LANES or down.shape[2] % LANES:
        return _filled_up(x, router_logits, gate_up, down, top_k, normalize)
    routing = launch_route(router_logits, top_k, normalize)
    out = Tensor.empty(spec.shape, label="moe")
    groups = pre = None
    if routing.rows == 1 or routing.pairs <= routing.count:
        launch_rows(out.region, x.region, gate_up, down, routing)
    else:
        groups = launch_group(routing)
        pre = launch_product("nt", x.region, gate_up, routing, groups, gather=True)
        h = _activations(pre, groups, down.shape[2])
        z = launch_product("nt", h, down, routing, groups, gather=False)
        _sum_of_slots(out.region, z, routing, groups, down.shape[1])
    return track(out, "moe", _moe_backward, [x, router_logits, gate_up, down], routing=routing,
                 groups=groups, pre=pre, normalize=normalize)


def _filled_up(x: Tensor, router_logits: Tensor, gate_up: Tensor, down: Tensor, top_k: int,
               normalize: bool) -> Tensor:
    """The same with C and F made multiples of four: what is zero adds nothing to any sum."""
    count, c, f = down.shape
    wide_c, wide_f = -(-c // LANES) * LANES, -(-f // LANES) * LANES
    rows = x.size // c
    wide = moe(
        fit(x.reshape(1, rows, c), rows, wide_c),
        router_logits.reshape(1, rows, count),
        fit(gate_up.reshape(2 * count, f, c), wide_f, wide_c).reshape(count, 2 * wide_f, wide_c),
        fit(down, wide_c, wide_f), top_k, normalize=normalize)
    return fit(wide, rows, c).reshape(*x.shape)


def _activations(pre: Region, groups: Groups, f: int) -> Region:
    """weight silu(gate) * up, of each position (P, F)."""
    h = temporary(groups.positions * f, "experts' activations")
    current_device().launch("moe_gated_forward", {"P": groups.positions, "F": f},
                            flops=6 * groups.positions * f, out=h, gate_up=pre,
                            weight=groups.weight)
    return h


def _sum_of_slots(out: Region, z: Region, routing: Routing, groups: Groups, c: int,
                  accumulate: bool = False) -> None:
    """Adds up the positions of each row: (P, C) -> (N, C)."""
    current_device().launch("moe_sum", {"N": routing.rows, "TOP": routing.top_k,
                                        "P": groups.positions, "C": c,
                                        "ACCUMULATE": int(accumulate)},
                            flops=routing.pairs * c, out=out, x=z, place=groups.place)


def _moe_backward(record: OpRecord, gradient: Region) -> None:
    """With h = silu(gate) up and u = downᵀ dout: dw = u · h, and ddown = dout (w h)ᵀ.

    dgate = w u up silu'(gate), dup = w u silu(gate); from them dx and dgate_up as in any linear
    layer, and from dw the router's logits. What a forward of few rows did not keep is made again.
    """
    x, _, gate_up, down = record.inputs
    routing: Routing = record.attributes["routing"]
    c, f = down.shape[1:]
    groups: Groups = record.attributes["groups"] or launch_group(routing)
    pre: Region = record.attributes["pre"] or launch_product(
        "nt", x.region, gate_up, routing, groups, gather=True)
    target = sink(record, 3)
    if target is not None:
        h = _activations(pre, groups, f)
        launch_gradient(*target, down, gradient, h, routing, groups, gather_a=True)
    if not any(tensor.requires_grad for tensor in record.inputs[:3]):
        return
    before = launch_product("nn", gradient, down, routing, groups, gather=True)
    dpre, dweight = _activations_backward(pre, before, groups, f)
    target = sink(record, 2)
    if target is not None:
        launch_gradient(*target, gate_up, dpre, x.region, routing, groups, gather_a=False)
    target = sink(record, 0)
    if target is not None:
        dx = launch_product("nn", dpre, gate_up, routing, groups, gather=False)
        _sum_of_slots(target[0], dx, routing, groups, c, target[1])
    target = sink(record, 1)
    if target is not None:
        _route_backward(record, target, dweight, groups)


def _activations_backward(pre: Region, before: Region, groups: Groups,
                          f: int) -> tuple[Region, Region]:
    """Gradients of the gates and ups (P, 2F), and of the weights (P)."""
    device = current_device()
    dpre = temporary(groups.positions * 2 * f, "gradient of gates and ups")
    dweight = temporary(groups.positions, "gradient of weights")
    device.launch("moe_gated_backward", {"P": groups.positions, "F": f},
                  {"LANES": lanes_of_a_row(device.info, f)}, flops=14 * groups.positions * f,
                  dgate_up=dpre, dweight=dweight, gate_up=pre, dout=before, weight=groups.weight)
    return dpre, dweight


def _route_backward(record: OpRecord, target: tuple[Region, bool], dweight: Region,
                    groups: Groups) -> None:
    logits = record.inputs[1]
    routing: Routing = record.attributes["routing"]
    sizes = {"N": routing.rows, "E": routing.count, "TOP": routing.top_k, "P": groups.positions,
             "NORMALIZE": int(record.attributes["normalize"]), "ACCUMULATE": int(target[1])}
    current_device().launch("moe_route_backward", sizes, flops=4 * logits.size * routing.top_k,
                            dlogits=target[0], logits=logits.region, log_sum=routing.log_sum,
                            experts=routing.experts, weights=routing.weights,
                            place=groups.place, dweight=dweight)
