"""Matrices cut, or filled up with zeros, to other sizes: kernels want multiples of four."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_weights, spec_of
from tabgrad.reference.stored import FORMATS
from tabgrad.tensor import Tensor


def fit_spec(x: Shape, rows: int, columns: int) -> Spec:
    """(A, R, C) -> (A, rows, columns).

    Example:
        >>> fit_spec((3, 5, 7), 8, 8).shape
        (3, 8, 8)

    Raises:
        ShapeError: x has not three axes.
    """
    if len(x) != 3 or min(rows, columns) < 1:
        raise ShapeError("fit: x is a stack of matrices.", expected="(A, R, C)", received=str(x))
    return spec_of((x[0], rows, columns), [x], flops=0)


def fit(x: Tensor, rows: int, columns: int) -> Tensor:
    """The upper left of every matrix, with zeros where x has nothing.

    Args:
        x: (A, R, C) float32, or stored in 16 bits, which gets no gradient.
        rows: of the results.
        columns: of the results.

    Returns:
        (A, rows, columns) float32.

    Raises:
        ShapeError: x has not three axes.
    """
    spec = fit_spec(x.shape, rows, columns)
    require_weights("fit", x)
    out = Tensor.empty(spec.shape, label="fit")
    _launch(out.region, out.shape, x.region, x.shape, x.dtype)
    return track(out, "fit", _fit_backward, [x])


def _fit_backward(record: OpRecord, gradient: Region) -> None:
    """What was kept gets its gradient back, what was cut gets zero."""
    x = record.inputs[0]
    target = sink(record, 0)
    if target is not None:
        _launch(target[0], x.shape, gradient, record.output.shape, "float32", target[1])


def _launch(out: Region, shape: Shape, x: Region, old: Shape, dtype: str,
            accumulate: bool = False) -> None:
    current_device().launch("fit", {"A": shape[0], "I": shape[1], "J": shape[2], "R": old[1],
                                    "C": old[2], "ACCUMULATE": int(accumulate)},
                            {"STORED": FORMATS.index(dtype)}, out=out, x=x)
