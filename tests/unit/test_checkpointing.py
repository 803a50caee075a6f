"""Activation checkpointing: the same bits as without it, in less memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabgrad import nn, ops
from tabgrad.autograd import checkpoint, no_grad
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.tensor import Tensor
from tests.checkpoints import PROMPT, config_of, save
from tests.helpers import run

FAMILIES = ("gpt2", "llama", "gemma3_text", "phi", "qwen3_5_text", "qwen3_moe")


def gradients(decoder: Decoder, on: bool) -> dict[str, np.ndarray]:
    """Of every parameter, from one plan: the mean loss of two texts."""
    arena, device = decoder.arena, decoder.device
    decoder.gradient_checkpointing = on
    ids = PROMPT[:66].reshape(2, 33)
    inputs, targets = (Tensor.from_numpy(np.ascontiguousarray(part, np.uint32))
                       for part in (ids[:, :-1], ids[:, 1:]))
    with device.recording() as tape:
        arena.clear_gradients()
        decoder.loss(inputs, targets).backward()
    plan = run(tape.compile(label="gradients"))
    run(device.replay([plan]))
    plan.release()
    return run(arena.read(arena.gradients))


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_have_the_same_bits(device: Device, tmp_path: Path, family: str) -> None:
    decoder = Decoder(recipe_from_config(config_of(save(family, tmp_path))), seed=3)
    kept, again = gradients(decoder, on=False), gradients(decoder, on=True)
    assert all(np.abs(kept[name]).max() > 0 for name in kept)
    differing = [name for name in kept if not np.array_equal(kept[name], again[name])]
    assert not differing
