"""A ladder from a constant to ten training steps: the first failure says where to look.

Rungs are in order, each standing on those before. `pytest -x tests/unit/test_ladder.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.models.decoder import Decoder, sequential
from tabgrad.models.recipe import preset
from tabgrad.nn import WHOLE
from tabgrad.optim import AdamW
from tabgrad.tensor import Tensor
from tests.helpers import opened, run
from tests.parity.torch_twin import Golden, make_golden, twin_from
from tests.unit.check_op import assert_close


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


@pytest.fixture(scope="module")
def golden() -> Golden:
    return make_golden("tiny", steps=10, batch_size=2, context=32)


def decoder_from(golden: Golden) -> Decoder:
    decoder = Decoder(preset("tiny"), seed=1)
    decoder.arena.write(decoder.arena.weights, golden.state)
    return decoder


def test_rung_1_a_constant_goes_there_and_back() -> None:
    for array in (np.float32(1.5), np.arange(7, dtype=np.uint32), -np.arange(6).reshape(2, 3)):
        tensor = Tensor.from_numpy(array)
        assert tensor.shape == np.shape(array)
        assert np.array_equal(tensor.numpy(), array)


def test_rung_2_one_kernel() -> None:
    a, b = np.arange(1031, dtype=np.float32), np.full(1031, 0.5, np.float32)
    assert np.array_equal((Tensor.from_numpy(a) + Tensor.from_numpy(b)).numpy(), a + b)


def test_rung_3_a_product() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((17, 33)).astype(np.float32)
    b = rng.standard_normal((33, 9)).astype(np.float32)
    product = (Tensor.from_numpy(a) @ Tensor.from_numpy(b)).numpy()
    assert_close(product, a.astype(np.float64) @ b, 1e-5, "product")


def test_rung_4_softmax_in_the_loss() -> None:
    rng = np.random.default_rng(0)
    logits = 30 * rng.standard_normal((5, 257)).astype(np.float32)
    targets = rng.integers(0, 257, 5).astype(np.uint32)
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    expected = np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(5), targets])
    loss = ops.cross_entropy(Tensor.from_numpy(logits), Tensor.from_numpy(targets))
    assert float(loss.numpy()) == pytest.approx(expected, rel=1e-5)


def test_rung_5_a_block(golden: Golden) -> None:
    x = np.random.default_rng(0).standard_normal((2, 13, 64)).astype(np.float32)
    weights = decoder_from(golden).model.layers[0]
    ours = sequential(weights, Tensor.from_numpy(x), None, WHOLE, None).numpy()
    with torch.no_grad():
        twin = twin_from(golden.state, "tiny").model["layers"][0].double()
        expected = twin(torch.tensor(x, dtype=torch.float64)).numpy()
    assert_close(ours, expected, 1e-5, "block")


def test_rung_6_a_backward(golden: Golden) -> None:
    decoder = decoder_from(golden)
    decoder.loss(Tensor.from_numpy(golden.ids[0]), Tensor.from_numpy(golden.targets[0])).backward()
    gradients = run(decoder.arena.read(decoder.arena.gradients))
    for name in ("model.norm.weight", "model.layers.1.mlp.down_proj.weight",
                 "model.layers.1.self_attn.v_proj.weight", "model.layers.0.self_attn.q_proj.weight",
                 "model.embed_positions.weight", "model.embed_tokens.weight"):
        assert_close(gradients[name], golden.gradients[name], 1e-4, name)


def test_rung_7_ten_steps(golden: Golden) -> None:
    decoder = decoder_from(golden)
    optimizer = AdamW(decoder.arena, golden.learning_rate, golden.betas, golden.epsilon,
                      golden.weight_decay, golden.max_grad_norm)
    for step, expected in enumerate(golden.losses):
        optimizer.zero_grad()
        loss = decoder.loss(Tensor.from_numpy(golden.ids[step]),
                            Tensor.from_numpy(golden.targets[step]))
        loss.backward()
        optimizer.step()
        assert float(loss.numpy()) == pytest.approx(expected, abs=1e-4), f"step {step}"
