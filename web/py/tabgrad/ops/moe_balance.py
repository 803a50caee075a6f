"""The load-balancing loss of a mixture of experts: a router that asks all experts alike pays least.

One `Balance` goes through the layers of a forward. In each, `balanced` notes what the router did
and passes its logits on; at the end `add_balance` adds the loss. The gradient comes back to every
`balanced`, in a layer that a checkpoint runs again as well: then its sums are known already.
"""

from __future__ import annotations

from tabgrad.autograd import OpRecord, share, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_stretch
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.experts import launch_route, temporary
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor


class Balance:
    """What the routers of one forward did.

    Args:
        num_experts: E, of each layer.
        top_k: experts of a row.
        factor: what the loss is worth: Transformers' `router_aux_loss_coef`.

    Attributes:
        rows: of all layers so far.
        complete: whether the loss was added: layers that run again add nothing to the sums.
    """

    def __init__(self, num_experts: int, top_k: int, factor: float) -> None:
        self.num_experts, self.top_k, self.factor = num_experts, top_k, factor
        self.rows = 0
        self.complete = False
        self.sums = temporary(2 * num_experts, "what experts got")
        self.gradient: Region | None = None

    @property
    def sizes(self) -> dict[str, float]:
        """Of the kernels that read the sums."""
        return {"E": self.num_experts, "ROWS": self.rows, "FACTOR": self.factor}


def balanced_spec(logits: Shape, num_experts: int) -> Spec:
    """Logits (..., E) -> the same.

    Example:
        >>> balanced_spec((2, 8, 4), 4).shape
        (2, 8, 4)

    Raises:
        ShapeError: another number of experts.
    """
    if logits[-1:] != (num_experts,):
        raise ShapeError("balanced: the layers of one balance have the same experts.",
                         expected=f"(..., {num_experts})", received=str(logits))
    return spec_of(logits, [logits], flops=0)


def balanced(logits: Tensor, balance: Balance) -> Tensor:
    """The router's logits as they are, once a balance has seen them.

    Args:
        logits: (..., E) float32.
        balance: of this forward.

    Returns:
        (..., E): the same numbers, with the gradient that balance adds.

    Raises:
        ShapeError: another number of experts.
    """
    balanced_spec(logits.shape, balance.num_experts)
    require_float32("balanced", logits)
    device = current_device()
    routing = launch_route(logits, balance.top_k, normalize=False)
    if not balance.complete:
        sizes = {"N": routing.rows, "E": routing.count, "TOP": routing.top_k,
                 "ACCUMULATE": int(balance.rows > 0)}
        device.launch("moe_balance_sums", sizes, {"LANES": lanes_of_a_stretch(device.info)},
                      flops=3 * logits.size, sums=balance.sums, logits=logits.region,
                      log_sum=routing.log_sum, experts=routing.experts)
        balance.rows += routing.rows
    out = Tensor(logits.shape, logits.dtype, logits.region)
    return track(out, "balanced", _balanced_backward, [logits], balance=balance,
                 log_sum=routing.log_sum)


def _balanced_backward(record: OpRecord, gradient: Region) -> None:
    """dlogits = dout + dloss factor E / R p (f - sum f p)."""
    logits, balance = record.inputs[0], record.attributes["balance"]
    target = sink(record, 0)
    if target is not None:
        assert balance.gradient is not None, "the loss comes after the layers"
        sizes = {**balance.sizes, "N": logits.size // balance.num_experts,
                 "ACCUMULATE": int(target[1])}
        current_device().launch(
            "moe_balance_backward", sizes, flops=(4 + 3 * balance.num_experts) * logits.size,
            dlogits=target[0], dout=gradient, logits=logits.region,
            log_sum=record.attributes["log_sum"], sums=balance.sums, dloss=balance.gradient)


def add_balance(loss: Tensor, balance: Balance) -> Tensor:
    """loss + factor * E * sum_e f_e P_e, over the rows of all layers; see reference/moe_balance.py.

    Args:
        loss: a scalar, computed from what the layers gave.
        balance: that went through the layers.

    Returns:
        A float32 scalar. The same as Transformers' `load_balancing_loss_func`, times its
        coefficient, where no row is padding.

    Raises:
        ShapeError: no scalar, or no layer of experts before it.
    """
    require_float32("add_balance", loss)
    if loss.shape != () or not balance.rows:
        raise ShapeError("add_balance: it comes after the layers, to their loss.",
                         expected="a scalar, and layers of experts",
                         received=f"{loss.shape}, {balance.rows} rows")
    out = Tensor.empty((), label="add_balance")
    current_device().launch("moe_balance_loss", balance.sizes, flops=4 * balance.num_experts,
                            out=out.region, loss=loss.region, sums=balance.sums)
    balance.complete = True
    return track(out, "add_balance", _add_balance_backward, [loss], balance=balance)


def _add_balance_backward(record: OpRecord, gradient: Region) -> None:
    """The loss gets dloss as it is, and every layer's router hears of it."""
    own = temporary(1, "gradient of the balance")
    current_device().copy(gradient, own)
    record.attributes["balance"].gradient = own
    share(record, 0, gradient)
