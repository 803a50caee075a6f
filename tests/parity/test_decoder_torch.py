"""The decoder against its PyTorch twin: logits, loss, and every gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad.errors import ShapeError
from tabgrad.models.cached import Caches, read
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.tensor import Tensor
from tests.helpers import run
from tests.parity.torch_twin import Golden, make_golden, twin_from
from tests.unit.check_op import assert_close

pytestmark = pytest.mark.usefixtures("device")


def decoder_from(golden: Golden) -> Decoder:
    decoder = Decoder(preset(golden.preset), seed=1)
    decoder.arena.write(decoder.arena.weights, golden.state)
    return decoder


def gradient_scale(name: str, golden: Golden) -> float:
    """The largest component of a gradient, or of its joined buffer where the gradient is 0.

    In exact arithmetic k_proj.bias has the gradient 0, because softmax does not see a number that
    is added to all its inputs; and so have all of q and k when there is one position to attend to.
    What both sides compute there is rounding, so it is measured by the buffer of q, k and v.
    """
    context = golden.ids.shape[-1]
    nothing = "k_proj.bias" in name or (context == 1 and ("q_proj" in name or "k_proj" in name))
    parts = [name]
    if nothing:
        parts = [name.replace("q_proj", "k_proj").replace("k_proj", part)
                 for part in ("q_proj", "k_proj", "v_proj")]
    return max(float(np.abs(golden.gradients[part]).max()) for part in parts)


@pytest.mark.parametrize(("batch", "context"), [(1, 1), (2, 7), (3, 64)])
def test_logits(batch: int, context: int) -> None:
    golden = make_golden("tiny", steps=1, batch_size=batch, context=context)
    decoder = decoder_from(golden)
    logits = decoder(Tensor.from_numpy(golden.ids[0])).numpy()
    with torch.no_grad():
        oracle = twin_from(golden.state, "tiny").double()(
            torch.tensor(golden.ids[0].astype(np.int64)))
    assert_close(logits, oracle.numpy(), 1e-5, "logits")


@pytest.mark.parametrize(("name", "batch", "context"), [
    ("tiny", 2, 64), ("tiny", 1, 1), ("tiny", 3, 13), ("byte-tinygpt", 2, 128)])
def test_every_gradient(name: str, batch: int, context: int) -> None:
    golden = make_golden(name, steps=1, batch_size=batch, context=context)
    decoder = decoder_from(golden)
    loss = decoder.loss(Tensor.from_numpy(golden.ids[0]), Tensor.from_numpy(golden.targets[0]))
    loss.backward()
    assert abs(float(loss.numpy()) - golden.losses[0]) <= 1e-5
    gradients = run(decoder.arena.read(decoder.arena.gradients))
    assert set(gradients) == set(golden.gradients)
    for parameter, expected in golden.gradients.items():
        error = float(np.abs(gradients[parameter] - expected).max())
        scale = gradient_scale(parameter, golden)
        assert error <= 1e-4 * scale, f"{parameter}: {error:.2e} of {scale:.2e}"


def test_same_bits_every_time() -> None:
    golden = make_golden("tiny", steps=1, batch_size=4)
    results = []
    for _ in range(2):
        decoder = decoder_from(golden)
        decoder.loss(Tensor.from_numpy(golden.ids[0]),
                     Tensor.from_numpy(golden.targets[0])).backward()
        results.append(run(decoder.arena.read(decoder.arena.gradients)))
    assert all(np.array_equal(results[0][name], results[1][name]) for name in results[0])


def test_context_that_is_too_long() -> None:
    decoder = Decoder(preset("tiny"), seed=0)
    with pytest.raises(ShapeError, match="T up to 64"):
        decoder(Tensor.from_numpy(np.zeros((1, 65), np.uint32)))


def test_decode_steps_give_the_rows_of_the_forward(device) -> None:
    """One recorded step, replayed for every position, against the twin's logits."""
    golden = make_golden("tiny", steps=1, batch_size=1)
    decoder = decoder_from(golden)
    recipe, context = decoder.recipe, golden.ids.shape[-1]
    caches = Caches(decoder, context, chunk=1)
    feed = device.allocate(512, "token and position").region
    with device.recording() as recording:
        token = Tensor((1,), "uint32", feed.part(0, 4))
        span = Tensor((2,), "uint32", feed.part(256, 8))
        logits = decoder.head(read(decoder, token, span, caches))
    plan = run(recording.compile(outputs=[logits.region], label="decode step"))
    data = np.zeros((context, 128), np.uint32)
    data[:, 0], data[:, 64] = golden.ids[0, 0], np.arange(context)
    rows = run(device.replay([plan], feed, data.tobytes(), steps=context, readback=logits.region))
    with torch.no_grad():
        oracle = twin_from(golden.state, "tiny").double()(
            torch.tensor(golden.ids[0].astype(np.int64)))[0]
    received = np.frombuffer(rows, np.float32).reshape(context, recipe.vocab_size)
    assert_close(received, oracle.numpy(), 1e-5, "logits")
