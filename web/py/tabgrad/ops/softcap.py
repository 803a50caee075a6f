"""A soft cap on logits."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def softcap_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> softcap_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=10 * element_count(x))


def softcap(x: Tensor, cap: float) -> Tensor:
    """cap tanh(x / cap), element by element.

    Args:
        x: float32 of any shape.
        cap: what the result stays below, above zero.

    Returns:
        float32 of x's shape.

    Raises:
        ShapeError: a cap that is not above zero.

    Source: Gemma Team, "Gemma 2: improving open language models at a practical size", 2024.
    """
    if not cap > 0:
        raise ShapeError("softcap: the cap is a number above zero.", expected="above 0",
                         received=str(cap))
    spec = softcap_spec(x.shape)
    require_float32("softcap", x)
    out = Tensor.empty(spec.shape, label="softcap")
    current_device().launch("softcap_forward", {"COUNT": spec.size, "CAP": cap}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "softcap", _softcap_backward, [x], out=out.region, cap=cap)


def _softcap_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout (1 - (out / cap)²)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        sizes = {"COUNT": record.inputs[0].size, "CAP": record.attributes["cap"],
                 "ACCUMULATE": int(accumulate)}
        current_device().launch("softcap_backward", sizes, flops=4 * record.inputs[0].size,
                                dx=region, out=record.attributes["out"], dout=gradient)
