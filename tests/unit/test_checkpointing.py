"""Activation checkpointing: the same bits as without it, in less memory; and inputs in 16 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabgrad import ops
from tabgrad.autograd import checkpoint, no_grad
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device
from tabgrad.lora.adapter import Adapter
from tabgrad.lora.config import LoraConfig
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.nn import ParameterArena
from tabgrad.ops.halves import Halves
from tabgrad.tensor import Tensor
from tests.checkpoints import PROMPT, config_of, save
from tests.helpers import run

FAMILIES = ("gpt2", "llama", "gemma3_text", "phi", "qwen3_5_text", "qwen3_moe")
DIGITS = {"bfloat16": 8, "float16": 11}


class Step:
    """Loss, gradients and memory of a decoder, from one plan: the mean loss of two texts.

    Args:
        decoder: whose arena is trained, unless another is given.
        on: whether layers run again.
        dtype: in which their inputs wait.
        arena: of an adapter.
        starts: where documents begin, (2, 32).
    """

    def __init__(self, decoder: Decoder, on: bool, dtype: str = "float32",
                 arena: ParameterArena | None = None, starts: Tensor | None = None) -> None:
        arena, device = arena or decoder.arena, decoder.device
        ids = PROMPT[:66].reshape(2, 33)
        decoder.gradient_checkpointing, decoder.activation_dtype = on, dtype
        inputs, targets = (Tensor.from_numpy(np.ascontiguousarray(part, np.uint32))
                           for part in (ids[:, :-1], ids[:, 1:]))
        with device.recording() as tape:
            arena.clear_gradients()
            loss = decoder.loss(inputs, targets, starts)
            loss.backward()
        plan = run(tape.compile(outputs=[loss.region], label="gradients"))
        run(device.replay([plan]))
        self.loss = run(device.read(loss.region))
        self.gradients = run(arena.read(arena.gradients))
        self.slots, self.kept = plan.slot_bytes, plan.saved_bytes
        plan.release()


def two_documents_a_row() -> Tensor:
    """starts (2, 32)."""
    return Tensor.from_numpy(np.array([[0] * 20 + [20] * 12, [0] * 9 + [9] * 23], np.uint32))


@pytest.mark.parametrize(("family", "packed"), [*((family, False) for family in FAMILIES),
                                                ("qwen3_5_text", True)])
def test_gradients_have_the_same_bits(device: Device, tmp_path: Path, family: str,
                                      packed: bool) -> None:
    decoder = Decoder(recipe_from_config(config_of(save(family, tmp_path))), seed=3)
    starts = two_documents_a_row() if packed else None
    kept, again = (Step(decoder, on, starts=starts) for on in (False, True))
    assert all(np.abs(gradient).max() > 0 for gradient in kept.gradients.values())
    assert not [name for name in kept.gradients
                if not np.array_equal(kept.gradients[name], again.gradients[name])]
    assert again.loss == kept.loss and again.kept < kept.kept


def test_an_adapter_with_dropout_on_packed_rows(device: Device, tmp_path: Path) -> None:
    recipe = recipe_from_config(config_of(save("llama", tmp_path)))
    decoder = Decoder(recipe, seed=3, trainable=False)
    adapter = Adapter(decoder, LoraConfig(r=4, lora_dropout=0.3, target_modules="all-linear"))
    draw = np.random.default_rng(0)
    adapter.arena.write(adapter.arena.weights, {
        name: draw.standard_normal(one.shape).astype(np.float32)
        for name, one in adapter.parameters.items()})
    adapter.attach()
    adapter.dropout_seed = Tensor.from_numpy(np.array([7, 8], np.uint32))
    starts = two_documents_a_row()
    kept, again = (Step(decoder, on, arena=adapter.arena, starts=starts) for on in (False, True))
    assert all(np.abs(gradient).max() > 0 for gradient in kept.gradients.values())
    assert all(np.array_equal(kept.gradients[name], again.gradients[name])
               for name in kept.gradients)
    assert again.loss == kept.loss and again.kept < kept.kept


@pytest.mark.parametrize("dtype", DIGITS)
def test_inputs_in_16_bits(device: Device, tmp_path: Path, dtype: str) -> None:
    # Deep enough that what layers keep is most of what there is at once.
    deep = save("llama", tmp_path, num_hidden_layers=10)
    decoder = Decoder(recipe_from_config(config_of(deep)), seed=3)
    full, halves = Step(decoder, on=True), Step(decoder, True, dtype)
    assert halves.loss == full.loss, "only the backward reads what was rounded"
    assert halves.slots < full.slots and halves.kept < full.kept
    errors = {name: float(np.linalg.norm(halves.gradients[name] - gradient)
                          / np.linalg.norm(gradient)) for name, gradient in full.gradients.items()}
    assert 0 < max(errors.values()) < 2.0 ** (1 - DIGITS[dtype])
    again = Step(decoder, True, dtype)
    assert all(np.array_equal(again.gradients[name], halves.gradients[name])
               for name in again.gradients)


@pytest.mark.parametrize("dtype", DIGITS)
def test_rows_of_any_size_fit(device: Device, dtype: str) -> None:
    sizes = np.array([1e-30, 1e-4, 1.0, 6e4, 65519.0, 65520.0, 1e9, 3e38], np.float32)
    rows = sizes[:, None] * np.linspace(-1, 1, 37, dtype=np.float32)
    rows = np.concatenate([rows, np.zeros((1, 37), np.float32)])
    back = run(Halves(Tensor.from_numpy(rows), dtype).restored().read())
    assert np.all(np.abs(back - rows) <= np.abs(rows) * 2.0 ** -DIGITS[dtype])
    assert np.any(back != rows)


def test_a_function_may_read_parameters_and_be_nested(device: Device) -> None:
    values = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)

    def gradients(wrap: bool, leaf: bool) -> list[np.ndarray]:
        x = Tensor.from_numpy(values, requires_grad=leaf)
        weight = Tensor.from_numpy(values + 1, requires_grad=True)

        def inner(y: Tensor) -> Tensor:
            return y * weight + y

        def outer(y: Tensor) -> Tensor:
            return y + (checkpoint(inner, y) if wrap else inner(y)) * weight

        start = x * weight + x
        end = checkpoint(outer, start) if wrap else outer(start)
        (end * start).sum().backward()
        return [run(tensor.grad.read()) for tensor in (x, weight) if tensor.grad is not None]

    for leaf in (True, False):
        expected = gradients(wrap=False, leaf=leaf)
        assert len(expected) == 1 + leaf
        for ours, oracle in zip(gradients(wrap=True, leaf=leaf), expected, strict=True):
            assert np.array_equal(ours, oracle)


def test_an_input_that_was_not_given_is_refused(device: Device) -> None:
    x = Tensor.from_numpy(np.ones((2, 3), np.float32), requires_grad=True)
    doubled = x + x
    with pytest.raises(ShapeError, match="no input of the function"):
        checkpoint(lambda y: y * doubled, x)
    with no_grad():  # nobody asks for gradients
        assert checkpoint(lambda y: y * doubled, x).record is None
    assert checkpoint(lambda y: y * y, x.detach()).record is None
    with pytest.raises(ShapeError, match="not kept so"):
        ops.kept("int8")
