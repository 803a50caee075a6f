"""The sampler: draws equal the oracle's, penalties, log-probabilities, one plan for everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabgrad.errors import SettingsError, ShapeError
from tabgrad.generate.sampling import Drawn, Sampler, Sampling
from tabgrad.gpu.device import Device, use_device
from tabgrad.tensor import Tensor
from tests.helpers import opened, run

SETTINGS = {
    "greedy": Sampling(temperature=0),
    "plain": Sampling(seed=2**40 + 3),
    "hot": Sampling(temperature=3.0, seed=5),
    "cold": Sampling(temperature=1e-9, seed=5),
    "top_k": Sampling(temperature=0.7, top_k=9, seed=6),
    "top_p": Sampling(top_p=0.8, seed=7),
    "smallest top_p": Sampling(top_p=0.0, seed=7),
    "min_p": Sampling(min_p=0.2, seed=8),
    "all": Sampling(temperature=1.2, top_k=30, top_p=0.9, min_p=0.02, repetition_penalty=1.3,
                    frequency_penalty=0.37, presence_penalty=0.61, seed=9, top_logprobs=5,
                    banned=(1, 3)),
}


class Drawing:
    """A sampler with its plan on one device: one plan for all settings."""

    def __init__(self, device: Device, V: int) -> None:
        use_device(device)
        self.device = device
        self.sampler = Sampler(device, V, 10_000)
        self.logits = Tensor.from_numpy(np.zeros((1, V), np.float32))
        with device.recording() as tape:
            self.sampler.record(self.logits)
        self.plan = run(tape.compile(label="draw"))

    def draw(self, logits: np.ndarray, sampling: Sampling, steps: int = 1,
             tokens: tuple[int, ...] = (0,), position: int = 0, stream: int = 0) -> list[Drawn]:
        """Draws `steps` times from the same logits."""
        self.device.write(self.logits.region, np.ascontiguousarray(logits, np.float32))
        self.sampler.begin(tokens, position, sampling, stream=stream)
        return self.sampler.parse(run(self.device.replay(
            [self.plan], steps=steps, readback=self.sampler.readback)))

    def ids(self, *arguments, **named) -> list[int]:
        """The ids alone."""
        return [one.id for one in self.draw(*arguments, **named)]


@pytest.fixture(scope="module")
def drawing():
    """`drawing(V)`, or `drawing(V, "numpy")`: kept for the tests of this file."""
    made: dict[tuple[int, str], Drawing] = {}

    def get(V: int, kind: str = "webgpu") -> Drawing:
        if (V, kind) not in made:
            made[V, kind] = Drawing(opened(kind), V)
        use_device(made[V, kind].device)
        return made[V, kind]
    yield get
    for one in made.values():
        one.plan.release()


def spread(V: int, seed: int) -> np.ndarray:
    return (3 * np.random.default_rng(seed).standard_normal(V)).astype(np.float32)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("V", [7, 300, 5003])
def test_draws_equal_the_oracle(drawing, V, name):
    sampling = SETTINGS[name]
    logits = spread(V, V)
    for seed in range(4):
        chosen = replace(sampling, seed=sampling.seed + seed)
        arguments = {"steps": 12, "tokens": (2, 4), "position": 77 * seed, "stream": seed}
        drawn = drawing(V).draw(logits, chosen, **arguments)
        assert drawn == drawing(V, "numpy").draw(logits, chosen, **arguments)


@pytest.mark.parametrize("name", SETTINGS)
def test_draws_from_ties_equal_the_oracle(drawing, name):
    logits = np.round(spread(5003, 1) / 2)
    assert len(np.unique(logits)) < 20
    drawn = drawing(5003).draw(logits, SETTINGS[name], steps=15)
    assert drawn == drawing(5003, "numpy").draw(logits, SETTINGS[name], steps=15)


@pytest.mark.parametrize("logits", [np.zeros(300), np.full(300, 1e4), np.linspace(-3e4, 3e4, 300),
                                    np.linspace(-1e-3, 1e-3, 300), -np.logspace(-30, 30, 300)])
def test_draws_from_extreme_logits_equal_the_oracle(drawing, logits):
    for sampling in SETTINGS.values():
        drawn = drawing(300).draw(logits, sampling, steps=5)
        assert drawn == drawing(300, "numpy").draw(logits, sampling, steps=5)


@pytest.mark.parametrize("V", [1, 2, 255, 2048, 2049, 70_001, 262_144])
def test_greedy_takes_the_largest_and_the_first_of_equals(drawing, V):
    logits = np.random.default_rng(V).integers(-20, 3, V).astype(np.float32)
    assert drawing(V).ids(logits, Sampling(temperature=0)) == [int(np.argmax(logits))]
    assert drawing(V).ids(np.full(V, -0.0), Sampling(temperature=0)) == [0]


def test_a_large_vocabulary_is_drawn_from_like_a_small_one(drawing):
    logits = spread(262_144, 3)
    for name in ("plain", "all"):
        drawn = drawing(262_144).draw(logits, SETTINGS[name], steps=3)
        assert drawn == drawing(262_144, "numpy").draw(logits, SETTINGS[name], steps=3)


def test_a_seed_gives_the_same_tokens_and_other_seeds_positions_streams_others(drawing):
    logits = np.zeros(300)
    first = drawing(300).ids(logits, Sampling(seed=1), steps=30)
    assert drawing(300).ids(logits, Sampling(seed=1), steps=30) == first
    assert drawing(300).ids(logits, Sampling(seed=1), steps=20, position=10) == first[10:]
    assert drawing(300).ids(logits, Sampling(seed=2), steps=30) != first
    assert drawing(300).ids(logits, Sampling(seed=1), steps=30, stream=1) != first
    assert len(set(first)) > 20


def test_the_span_moves_on_and_the_token_is_the_next_steps_input(drawing):
    one = drawing(300)
    ids = one.ids(spread(300, 4), Sampling(seed=3), steps=5, position=40)
    assert one.sampler.span.numpy().tolist() == [45, 1]
    assert one.sampler.token.numpy().tolist() == ids[-1:]


@pytest.mark.parametrize("V", [5, 300, 5003])
def test_log_probabilities_are_those_of_the_unmodified_logits(drawing, V):
    logits = spread(V, 5)
    exact = torch.log_softmax(torch.from_numpy(logits).double(), 0)
    best = torch.topk(exact, min(20, V))
    sampling = Sampling(temperature=2.0, top_k=V // 2, repetition_penalty=1.5, top_logprobs=20,
                        banned=(int(best.indices[0]),), seed=4)
    for one in drawing(V).draw(logits, sampling, steps=10, tokens=(1, 2)):
        assert one.logprob == pytest.approx(float(exact[one.id]), abs=1e-5)
        assert [identity for identity, _ in one.alternatives] == best.indices.tolist()
        assert [value for _, value in one.alternatives] == pytest.approx(
            best.values.tolist(), abs=1e-5)


def test_alternatives_with_equal_logits_come_by_id(drawing):
    logits = np.zeros(5003)
    logits[[4000, 17, 2100]] = 2.0
    one, = drawing(5003).draw(logits, Sampling(top_logprobs=6))
    assert [identity for identity, _ in one.alternatives] == [17, 2100, 4000, 0, 1, 2]
    assert drawing(5003).draw(logits, Sampling())[0].alternatives == ()


def penalised(logits: np.ndarray, sampling: Sampling, prompt: list[int],
              drawn: list[int]) -> np.ndarray:
    """The formulas of Transformers and OpenAI, in float64."""
    x = logits.astype(np.float64)
    seen, penalty = np.isin(np.arange(len(x)), prompt + drawn), sampling.repetition_penalty
    x[seen] = np.where(x < 0, x * penalty, x / penalty)[seen]
    count = np.bincount(np.array(drawn, int), minlength=len(x))
    return x - count * sampling.frequency_penalty - (count > 0) * sampling.presence_penalty


@pytest.mark.parametrize("changes", [
    {"repetition_penalty": 1.7}, {"repetition_penalty": 0.9}, {"frequency_penalty": 0.123},
    {"frequency_penalty": -0.2}, {"presence_penalty": 1.5},
    {"repetition_penalty": 1.2, "frequency_penalty": 0.1, "presence_penalty": 0.3}])
def test_penalties_count_the_prompt_and_what_was_drawn(drawing, changes):
    sampling, logits, prompt = Sampling(temperature=0, **changes), spread(300, 6), [5, 9, 9]
    logits[[5, 9]] = logits.max() + np.float32([0.5, 0.25])
    drawn: list[int] = []
    for _ in range(40):
        drawn.append(int(np.argmax(penalised(logits, sampling, prompt, drawn))))
    for _ in range(2):  # a second text starts from its own prompt alone
        assert drawing(300).ids(logits, sampling, steps=40, tokens=tuple(prompt)) == drawn
    assert drawing(300).ids(logits, Sampling(temperature=0), steps=2) == [5, 5]


def test_banned_tokens_are_not_drawn(drawing):
    logits = spread(300, 7)
    order = np.argsort(-logits)
    banned = tuple(int(i) for i in order[:50])
    assert drawing(300).ids(logits, Sampling(temperature=0, banned=banned)) == [order[50]]
    assert drawing(300).ids(logits, Sampling(temperature=0)) == [order[0]]
    assert drawing(300).ids(logits, Sampling(temperature=0, banned=banned[:1])) == [order[1]]
    rest = tuple(i for i in range(300) if i != 123)
    assert drawing(300).ids(logits, Sampling(temperature=2.0, banned=rest), steps=5) == [123] * 5


def test_the_steps_of_a_plan_make_no_buffers(drawing):
    one = drawing(300)
    one.ids(np.zeros(300), SETTINGS["all"], steps=2)
    before = one.device.gpu.counters()
    for sampling in SETTINGS.values():
        one.ids(np.zeros(300), sampling, steps=2)
    after = one.device.gpu.counters()
    assert {name for name in before if before[name] != after[name]} == {"submits", "dispatches"}


@pytest.mark.parametrize("changes", [
    {"temperature": -1.0}, {"temperature": float("nan")}, {"top_k": -1}, {"top_p": 1.1},
    {"min_p": -0.1}, {"repetition_penalty": 0.0}, {"frequency_penalty": 3.0}, {"top_k": 1.5},
    {"presence_penalty": -2.5}, {"seed": 2**64}, {"top_logprobs": 21}])
def test_a_setting_out_of_range_is_named(changes):
    with pytest.raises(SettingsError, match=next(iter(changes))):
        Sampling(**changes)


def test_what_does_not_fit_is_refused(drawing):
    sampler = drawing(300).sampler
    for arguments, words in [(((), 0, Sampling()), "no position"),
                             (((1,), 10_000, Sampling()), "no position"),
                             (((300,), 0, Sampling()), "tokens are not all"),
                             (((1,), 0, Sampling(banned=(300,))), "banned tokens are not all"),
                             (((1,), 0, Sampling(banned=tuple(range(300)))), "Every token")]:
        with pytest.raises(SettingsError, match=words):
            sampler.begin(*arguments)
    with pytest.raises(ShapeError, match="one position"):
        sampler.record(Tensor.from_numpy(np.zeros((2, 300), np.float32)))
    with pytest.raises(ShapeError, match="too large"):
        Sampler(drawing(300).device, 600_000, 10)
