"""Sampling: greedy, top-k with ties, the distribution, large vocabularies, forced tokens."""

from __future__ import annotations

import numpy as np
import pytest

from tabgrad import ops
from tabgrad.errors import SettingsError, ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.reference.philox import uniform
from tabgrad.tensor import Tensor
from tests.helpers import opened, run


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


class Sampler:
    """The buffers of a decode plan, and one step on given logits."""

    def __init__(self, prompt: list[int], length: int, temperature: float, **settings: int) -> None:
        tokens = np.zeros(length, np.uint32)
        tokens[:len(prompt)] = prompt
        self.temperature = Tensor.from_numpy(np.array([temperature], np.float32))
        self.next = Tensor.from_numpy(np.zeros(1, np.uint32))
        self.tokens = Tensor.from_numpy(tokens)
        self.state = Tensor.from_numpy(ops.sample_state(len(prompt), **settings))

    def step(self, logits: Tensor) -> int:
        ops.sample(logits, self.temperature, self.next, self.tokens, self.state)
        return int(self.next.numpy()[0])

    def draw(self, logits: np.ndarray, steps: int) -> list[int]:
        tensor = Tensor.from_numpy(logits.astype(np.float32))
        return [self.step(tensor) for _ in range(steps)]


@pytest.mark.parametrize("V", [1, 2, 7, 255, 256, 257, 1021, 65_536, 70_001])
def test_greedy_takes_the_largest_and_the_first_of_equals(V: int) -> None:
    rng = np.random.default_rng(V)
    logits = rng.integers(-20, 3, V).astype(np.float32)
    assert Sampler([0], 4, 0.0).draw(logits, 1) == [int(np.argmax(logits))]
    assert Sampler([0], 4, 0.0).draw(np.full(V, -0.0), 1) == [0]


def test_zero_and_minus_zero_are_equal() -> None:
    assert Sampler([0], 4, 0.0).draw(np.array([-1.0, -0.0, 0.0]), 1) == [1]


@pytest.mark.parametrize(("V", "top_k"), [(256, 0), (256, 40), (256, 1), (257, 300), (65_536, 0),
                                          (65_536, 1000)])
def test_tokens_are_those_of_the_inverted_distribution(V: int, top_k: int) -> None:
    logits = (3 * np.random.default_rng(V + top_k).standard_normal(V)).astype(np.float32)
    drawn = Sampler([0], 50, 0.7, top_k=top_k, seed=2**40 + 3, counter=2**33 + 1).draw(logits, 40)
    order = np.lexsort((np.arange(V), -logits))[:top_k or V]
    weights = np.zeros(V)
    weights[order] = np.exp((logits[order].astype(np.float64) - logits.max()) / np.float32(0.7))
    cumulative = np.cumsum(weights) / weights.sum()
    for position, token in enumerate(drawn):
        u = uniform(2**40 + 3, 2**33 + 1, 4 * position + 1)[-1]
        before = cumulative[token - 1] if token else 0.0
        assert before - 1e-5 <= u <= cumulative[token] + 1e-5  # rounding of a float32 sum
        assert weights[token] > 0


def test_ties_at_the_threshold_go_to_the_lowest_indices() -> None:
    logits = np.zeros(700, np.float32)
    logits[[5, 300, 699]] = 1.0
    seen = set(Sampler([0], 400, 1.0, top_k=5, seed=1).draw(logits, 399))
    assert seen == {0, 1, 5, 300, 699}


def test_frequencies_are_the_probabilities() -> None:
    probabilities = np.array([0.5, 0.25, 0.125, 0.125])
    drawn = Sampler([0], 4001, 1.0, seed=11).draw(np.log(probabilities), 1000)
    counts = np.bincount(drawn, minlength=4)
    chi_square = float(((counts - 1000 * probabilities) ** 2 / (1000 * probabilities)).sum())
    assert chi_square < 20.0  # 3 degrees of freedom: about two in ten thousand


def test_temperature_sharpens() -> None:
    logits = np.array([1.0, 0.0])
    cold = Sampler([0], 999, 0.2, seed=5).draw(logits, 100)
    hot = Sampler([0], 999, 5.0, seed=5).draw(logits, 100)
    assert sum(cold) < sum(hot)
    assert Sampler([0], 9, 1e-6, seed=5).draw(logits, 5) == [0] * 5


def test_the_prompt_is_fed_by_the_same_plan() -> None:
    sampler = Sampler([3, 1, 2], 6, 0.0)
    logits = Tensor.from_numpy(np.array([0.0, 0.0, 0.0, 0.0, 9.0], np.float32))
    with current_device().recording() as tape:
        ops.sample(logits, sampler.temperature, sampler.next, sampler.tokens, sampler.state)
    plan = run(tape.compile(label="decode"))
    ids = run(current_device().replay([plan], steps=7, readback=sampler.next.region))
    assert np.frombuffer(ids, np.uint32).tolist() == [1, 2, 4, 4, 4, 4, 4]
    assert sampler.tokens.numpy().tolist() == [3, 1, 2, 4, 4, 4]
    assert sampler.state.numpy()[0] == 5
    plan.release()


def test_same_seed_same_tokens_and_another_seed_others() -> None:
    logits = np.zeros(256)
    first = Sampler([0], 40, 1.0, seed=1).draw(logits, 30)
    assert Sampler([0], 40, 1.0, seed=1).draw(logits, 30) == first
    assert Sampler([0], 40, 1.0, seed=2).draw(logits, 30) != first
    assert Sampler([0], 40, 1.0, seed=1, counter=1).draw(logits, 30) != first


def test_wrong_settings_are_named() -> None:
    with pytest.raises(SettingsError, match="top_k"):
        ops.sample_state(1, top_k=-1)
    sampler = Sampler([0], 4, 1.0)
    with pytest.raises(ShapeError, match="one position"):
        sampler.step(Tensor.from_numpy(np.zeros((2, 5), np.float32)))
