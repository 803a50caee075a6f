"""A fixed seed draws the same tokens in Chromium (Tint, SwiftShader) as natively (naga)."""

from __future__ import annotations

from typing import Any

from tabgrad.gpu.device import Device
from tests.e2e.python_page import PythonPage
from tests.helpers import run

CODE = """
import numpy as np
from tabgrad.generate.sampling import Sampler, Sampling
from tabgrad.gpu.device import current_device, open_device
from tabgrad.reference.philox import normal
from tabgrad.tensor import Tensor

CHOICES = [
    Sampling(temperature=0), Sampling(seed=2**40 + 3), Sampling(temperature=0.7, top_k=40, seed=1),
    Sampling(top_p=0.9, seed=2), Sampling(min_p=0.05, seed=3),
    Sampling(temperature=1.3, top_k=50, top_p=0.95, min_p=0.01, repetition_penalty=1.2,
             frequency_penalty=0.3, presence_penalty=0.2, seed=4, top_logprobs=5, banned=(1, 9))]

async def draws(V, scale):
    device = current_device()
    logits = Tensor.from_numpy(scale * normal(V, 0, V)[None])
    sampler = Sampler(device, V, 1000)
    with device.recording() as tape:
        sampler.record(logits)
    plan = await tape.compile(label="draw")
    found = []
    for sampling in CHOICES:
        sampler.begin([2, 5, 5], 7, sampling)
        data = await device.replay([plan], steps=25, readback=sampler.readback)
        found.append([[one.id, one.logprob, list(one.alternatives)] for one in sampler.parse(data)])
    plan.release()
    return found
"""
SIZES = [(300, 2.0), (49_152, 3.0)]


def test_a_seed_draws_the_same_in_both_runtimes(browser_python: PythonPage,
                                                device: Device) -> None:
    names: dict[str, Any] = {}
    exec(CODE, names)
    here = [run(names["draws"](*size)) for size in SIZES]
    there = browser_python(CODE + f"""
device = await open_device("webgpu")
found = [await draws(*size) for size in {SIZES}]
device.close()
found
""")
    assert there == [[[[i, value, [list(pair) for pair in pairs]] for i, value, pairs in drawn]
                      for drawn in found] for found in here]
    assert len({tuple(i for i, *_ in drawn) for drawn in here[1]}) == 6, "they all draw alike"
    assert browser_python.problems == []
