"""One helper that checks an op from every side; a new op is one line in test_ops.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tabgrad.tensor import Tensor

STEP = 2.0**-6  # of the finite differences: truncation h² ~ 2e-4, rounding 1e-7 / h ~ 1e-5


def check_op(op: Callable[..., Tensor], torch_op: Callable[..., torch.Tensor], *arrays: np.ndarray,
             tolerance: float = 2e-5, finite_tolerance: float = 1e-2,
             **settings: Any) -> None:
    """Checks forward and backward of `op`, called as `op(*tensors, **settings)`.

    1. forward against `torch_op` in float64;
    2. every gradient against PyTorch's float64 autograd, for a random output gradient;
    3. every gradient against central differences of our own forward, along a random direction;
    4. a second backward adds the same again, and an input alone gets the same gradient.

    Errors are relative to the largest element of the buffer they are in.

    Args:
        op: ours.
        torch_op: the same computation on float64 (and int64) torch tensors, with `settings`.
        arrays: the inputs; the float ones are differentiated.
        tolerance: for 1 and 2.
        finite_tolerance: for 3, relative to |gradient| |direction|.
    """
    expected, output_gradient, expected_gradients = _oracle(torch_op, arrays, settings)
    floats = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    inputs, output = _forward(op, arrays, floats, settings)
    assert output.shape == expected.shape
    assert_close(output.numpy(), expected, tolerance, "forward")
    output.backward(Tensor.from_numpy(output_gradient))
    gradients = {i: inputs[i].grad.numpy() for i in floats}
    for i in floats:
        assert gradients[i].shape == arrays[i].shape
        assert_close(gradients[i], expected_gradients[i], tolerance, f"gradient of input {i}")
        _check_finite_difference(op, arrays, settings, output_gradient, i, gradients[i],
                                 finite_tolerance)
    output.backward(Tensor.from_numpy(output_gradient))
    for i in floats:
        assert_close(inputs[i].grad.numpy(), 2 * gradients[i], 1e-6, f"second backward, input {i}")
        alone, output_alone = _forward(op, arrays, [i], settings)
        output_alone.backward(Tensor.from_numpy(output_gradient))
        assert_close(alone[i].grad.numpy(), gradients[i], 1e-6, f"input {i} alone")
        assert all(tensor.grad is None for j, tensor in enumerate(alone) if j != i)


def assert_close(received: np.ndarray, expected: np.ndarray, tolerance: float, what: str) -> None:
    """Asserts max |received - expected| <= tolerance * max |expected|, and no NaN."""
    scale = max(float(np.abs(expected).max()), 1e-30)
    error = float(np.abs(received.astype(np.float64) - expected).max()) / scale
    assert error <= tolerance, f"{what}: error {error:.2e} of {scale:.3g}, allowed {tolerance:g}"


def _oracle(torch_op: Callable[..., torch.Tensor], arrays: Sequence[np.ndarray],
            settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
    """PyTorch's float64 output, a random output gradient, and the gradients that follow."""
    inputs = [torch.tensor(array.astype(np.float64), requires_grad=True)
              if array.dtype.kind == "f" else torch.tensor(array.astype(np.int64))
              for array in arrays]
    output = torch_op(*inputs, **settings)
    rng = np.random.default_rng(output.numel())
    output_gradient = rng.standard_normal(tuple(output.shape)).astype(np.float32)
    output.backward(torch.tensor(output_gradient.astype(np.float64)))
    gradients = {i: np.zeros(arrays[i].shape) if x.grad is None else x.grad.numpy()
                 for i, x in enumerate(inputs) if x.requires_grad}
    return output.detach().numpy(), output_gradient, gradients


def _forward(op: Callable[..., Tensor], arrays: Sequence[np.ndarray], differentiated: list[int],
             settings: dict[str, Any]) -> tuple[list[Tensor], Tensor]:
    inputs = [Tensor.from_numpy(array, requires_grad=i in differentiated)
              for i, array in enumerate(arrays)]
    return inputs, op(*inputs, **settings)


def _check_finite_difference(op: Callable[..., Tensor], arrays: Sequence[np.ndarray],
                             settings: dict[str, Any], output_gradient: np.ndarray, i: int,
                             gradient: np.ndarray, tolerance: float) -> None:
    """(f(x + h v) - f(x - h v)) / 2 h against gradient . v, with f = sum(output * its gradient)."""
    direction = np.random.default_rng(i).choice([-1.0, 1.0], arrays[i].shape)

    def objective(sign: int) -> float:
        moved = list(arrays)
        moved[i] = (arrays[i] + sign * STEP * direction).astype(np.float32)
        _, output = _forward(op, moved, [], settings)
        return float((output.numpy().astype(np.float64) * output_gradient).sum())

    difference = (objective(1) - objective(-1)) / (2 * STEP)
    slope = float((gradient.astype(np.float64) * direction).sum())
    scale = max(float(np.linalg.norm(gradient) * np.linalg.norm(direction)), 1e-6)
    error = abs(difference - slope) / scale
    assert error <= tolerance, f"input {i}: difference {difference:.6g}, gradient {slope:.6g}"
