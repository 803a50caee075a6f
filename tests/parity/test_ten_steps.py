"""Ten AdamW steps from one initial state, with clipping and decay groups, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.optim import AdamW
from tabgrad.tensor import Tensor
from tests.helpers import run
from tests.parity.torch_twin import Golden, make_golden
from tests.unit.check_op import assert_close

LOSS_ERROR = 1e-4


def optimizer_of(golden: Golden, decoder: Decoder) -> AdamW:
    return AdamW(decoder.arena, golden.learning_rate, golden.betas, golden.epsilon,
                 golden.weight_decay, golden.max_grad_norm)


def check_run(golden: Golden, losses: list[float], norms: list[float], decoder: Decoder) -> None:
    assert np.abs(np.array(losses) - golden.losses).max() <= LOSS_ERROR, (losses, golden.losses)
    np.testing.assert_allclose(norms, golden.norms, rtol=1e-4)
    assert min(golden.norms) > golden.max_grad_norm, "clipping must have worked"
    weights = run(decoder.arena.read(decoder.arena.weights))
    for name, expected in golden.final.items():
        # A step moves a weight by up to the learning rate whatever the size of its gradient, so
        # the error is measured by that, not by the weight.
        moved = len(losses) * golden.learning_rate
        error = float(np.abs(weights[name] - expected).max())
        allowed = 1.0 if name.endswith("k_proj.bias") else 0.05  # its gradient is only rounding
        assert error <= allowed * moved, f"{name}: {error:.2e} of {moved:.2e}"


@pytest.mark.parametrize("name", ["tiny", "byte-tinygpt"])
def test_ten_steps_as_replayed_plan(device, name: str) -> None:
    golden = make_golden(name, steps=10, batch_size=4)
    decoder = Decoder(preset(name), seed=1)
    arena = decoder.arena
    arena.write(arena.weights, golden.state)
    optimizer = optimizer_of(golden, decoder)
    _, batch, context = golden.ids.shape
    ids_bytes = batch * context * 4
    assert ids_bytes % 256 == 0
    feed = device.allocate(256 + 2 * ids_bytes, "feed").region
    measured = device.allocate(12, "loss and norm").region
    with device.recording() as recording:
        arena.clear_gradients()
        ids = Tensor((batch, context), "uint32", feed.part(256, ids_bytes))
        targets = Tensor((batch, context), "uint32", feed.part(256 + ids_bytes, ids_bytes))
        loss = decoder.loss(ids, targets)
        loss.backward()
        optimizer.record_update(feed.part(0, 16))
        device.copy(loss.region, measured.part(0, 4))
        device.copy(optimizer.norm, measured.part(4, 8))
    plan = run(recording.compile(label="train step"))
    data = b""
    for step in range(len(golden.losses)):
        scalars = np.zeros(64, np.float32)
        scalars[:4] = optimizer.scalars(step, golden.learning_rate)
        data += scalars.tobytes() + golden.ids[step].tobytes() + golden.targets[step].tobytes()
    result = run(device.replay([plan], feed, data, steps=len(golden.losses), readback=measured))
    rows = np.frombuffer(result, np.float32).reshape(-1, 3)
    check_run(golden, rows[:, 0].tolist(), rows[:, 1].tolist(), decoder)


def test_eager_steps(device) -> None:
    """The same numbers without a plan."""
    golden = make_golden("tiny", steps=3, batch_size=2)
    decoder = Decoder(preset("tiny"), seed=1)
    decoder.arena.write(decoder.arena.weights, golden.state)
    optimizer = optimizer_of(golden, decoder)
    losses, norms = [], []
    for ids, targets in zip(golden.ids, golden.targets, strict=True):
        optimizer.zero_grad()
        loss = decoder.loss(Tensor.from_numpy(ids), Tensor.from_numpy(targets))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.numpy()))
        norms.append(float(np.frombuffer(run(device.read(optimizer.norm)), np.float32)[0]))
    check_run(golden, losses, norms, decoder)


def test_micro_batches_add_up_to_the_batch(device) -> None:
    golden = make_golden("tiny", steps=1, batch_size=4)
    decoder = Decoder(preset("tiny"), seed=1)
    decoder.arena.write(decoder.arena.weights, golden.state)
    for half in (slice(0, 2), slice(2, 4)):
        decoder.loss(Tensor.from_numpy(golden.ids[0, half]),
                     Tensor.from_numpy(golden.targets[0, half])).backward()
    gradients = run(decoder.arena.read(decoder.arena.gradients))
    for name, expected in golden.gradients.items():
        if not name.endswith("k_proj.bias"):
            assert_close(gradients[name] / 2, expected, 1e-4, name)
