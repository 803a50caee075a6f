"""Dropout without a stored mask: the backward draws it again."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def dropout_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> dropout_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x, (2,)], flops=element_count(x))


def dropout(x: Tensor, seed: Tensor, p: float, stream: int) -> Tensor:
    """Each element with probability p becomes 0; the others are divided by 1 - p.

    Args:
        x: float32 of any shape.
        seed: (2) uint32, low word first. It is data: write other words for another mask. The
            forward and the backward of one pass must find the same ones.
        p: in [0, 1). It is part of the program, as is `stream`.
        stream: 0 <= stream < 2**32, different for each place of a model that drops.

    Returns:
        float32 of x's shape.

    Raises:
        ShapeError: a seed that is not two words, or p or a stream out of its range.

    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
    2014; the mask's bits are Philox's (see reference/philox.py).
    """
    spec = dropout_spec(x.shape)
    require_float32("dropout", x)
    if seed.shape != (2,) or seed.dtype != "uint32":
        raise ShapeError("dropout: the seed is two words.", expected="uint32 (2,)",
                         received=f"{seed.dtype} {seed.shape}")
    if not 0.0 <= p < 1.0 or not 0 <= stream < 2**32:
        raise ShapeError("dropout: p or stream is out of range.",
                         expected="0 <= p < 1 and 0 <= stream < 2**32",
                         received=f"p {p}, stream {stream}")
    out = Tensor.empty(spec.shape, label="dropout")
    sizes = {"COUNT": spec.size, "P": p, "STREAM": stream}
    _launch(out.region, x.region, seed, sizes, accumulate=False)
    return track(out, "dropout", _dropout_backward, [x], seed=seed, sizes=sizes)


def _dropout_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout / (1 - p) where x was kept, else 0."""
    target = sink(record, 0)
    if target is not None:
        saved = record.attributes
        _launch(target[0], gradient, saved["seed"], saved["sizes"], target[1])


def _launch(out: Region, x: Region, seed: Tensor, sizes: dict[str, float],
            accumulate: bool) -> None:
    current_device().launch("dropout", {**sizes, "ACCUMULATE": int(accumulate)},
                            flops=int(sizes["COUNT"]), out=out, x=x, seed=seed.region)
