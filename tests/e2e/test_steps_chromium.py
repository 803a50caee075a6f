"""Ten AdamW steps in Chromium equal PyTorch's, and so does every gradient of the first."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from tests.e2e.python_page import PythonPage
from tests.parity.torch_twin import Golden, make_golden

STEPS = 10
LOSS_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-4  # of the largest component of the parameter's gradient

CODE = """
import base64, io
import numpy as np
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import Decoder
from tabgrad.train.settings import TrainSettings
from tabgrad.train.pretrain import pretrain_step, windows

state = dict(np.load(io.BytesIO(base64.b64decode("{work}"))))
ids, targets = state.pop("ids"), state.pop("targets")
STEPS, B, T = ids.shape

device = await open_device("webgpu")
settings = TrainSettings.for_preset(
    "{preset}", context_length=T, per_device_train_batch_size=B, learning_rate={learning_rate},
    lr_scheduler_type="constant", warmup_steps=0, max_steps=STEPS, weight_decay={weight_decay},
    max_grad_norm={max_grad_norm})
decoder = Decoder(settings.recipe, seed=0)
arena = decoder.arena
arena.write(arena.weights, state)
step = pretrain_step(decoder, settings, windows(settings, np.zeros(2 * T, np.uint8)))
drawn = step.data

def data(number):
    words = drawn(number)
    step.feed.put(words, "ids.0", ids[number])
    step.feed.put(words, "targets.0", targets[number])
    return words

step.data = data
await step.compile()

losses, norms = [], []
for number in range(STEPS):
    (measured,) = step.read(number, await step.submit(number, 1))
    losses.append(measured.loss)
    norms.append(measured.grad_norm)
    if number == 0:
        gradients = await arena.read(arena.gradients)
file = io.BytesIO()
np.savez(file, **gradients)
device.close()
[losses, norms, base64.b64encode(file.getvalue()).decode()]
"""


def in_chromium(python: PythonPage, golden: Golden
                ) -> tuple[list[float], list[float], dict[str, np.ndarray]]:
    """Losses and gradient norms of the steps, and the first step's gradients by name."""
    file = io.BytesIO()
    np.savez(file, ids=golden.ids, targets=golden.targets, **golden.state)
    values = {"work": base64.b64encode(file.getvalue()).decode(), "preset": golden.preset,
              "learning_rate": golden.learning_rate, "weight_decay": golden.weight_decay,
              "max_grad_norm": golden.max_grad_norm}
    code = CODE
    for name, value in values.items():
        code = code.replace("{" + name + "}", str(value))
    losses, norms, packed = python(code)
    return losses, norms, dict(np.load(io.BytesIO(base64.b64decode(packed))))


def scale(name: str, golden: Golden) -> float:
    """What a gradient's error is measured by: its own largest component.

    Softmax does not see a number that is added to all its inputs, so that the gradient of
    k_proj.bias is exactly 0 and what is computed there is rounding; q's and v's are taken with it.
    """
    parts = [name.replace("k_proj", part) for part in ("k_proj", "q_proj", "v_proj")] \
        if name.endswith("k_proj.bias") else [name]
    return max(float(np.abs(golden.gradients[part]).max()) for part in parts)


@pytest.mark.parametrize("preset", ["tiny", "byte-tinygpt"])
def test_ten_steps_equal_pytorch(browser_python: PythonPage, preset: str) -> None:
    golden = make_golden(preset, steps=STEPS)
    losses, norms, gradients = in_chromium(browser_python, golden)
    largest = max(abs(ours - theirs)
                  for ours, theirs in zip(losses, golden.losses, strict=True))
    errors = {name: float(np.abs(gradients[name] - gradient).max()) / scale(name, golden)
              for name, gradient in golden.gradients.items()}
    print(f"{preset}: losses {largest:.1e} apart, gradients at most {max(errors.values()):.1e}")
    assert largest <= LOSS_TOLERANCE
    assert set(gradients) == set(golden.gradients)
    assert {name: error for name, error in errors.items() if error > GRADIENT_TOLERANCE} == {}
    np.testing.assert_allclose(norms, golden.norms, rtol=1e-4)
    assert browser_python.problems == []
