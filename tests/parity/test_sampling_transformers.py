"""What top-k, top-p and min-p keep is what Transformers keeps; draws follow those probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    SuppressTokensLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from tabgrad.generate.sampling import Sampler, Sampling, bit_mask, settings_of
from tabgrad.ops.sample import BLOCK
from tabgrad.reference.philox import philox_4x32
from tabgrad.reference.sample import kept_masses, sample_adjust, sample_sums
from tabgrad.tensor import Tensor
from tests.helpers import run

PROMPT = (3, 1, 4)
NOTHING = 1e-13  # a probability below the resolution of masses, which no draw would ever meet
CHOICES = {
    "temperature": Sampling(temperature=0.6),
    "top_k": Sampling(top_k=12),
    "top_k of all": Sampling(top_k=10**6),
    "top_p": Sampling(top_p=0.8517),
    "top_p of one": Sampling(top_p=1e-6),
    "top_p of nearly all": Sampling(top_p=0.999),
    "min_p": Sampling(min_p=0.07),
    "min_p of one": Sampling(min_p=1.0),
    "all": Sampling(temperature=1.4, top_k=40, top_p=0.9031, min_p=0.03, repetition_penalty=1.3,
                    banned=(0, 7)),
}


def masses(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """The oracle's mass of each token, zero where it cannot be drawn; float64."""
    V = len(logits)
    numbers, words = settings_of(sampling)
    counts = np.zeros(V, np.uint32)
    counts[list(PROMPT)] = 1
    adjusted, peaks, sums = sample_adjust(logits, counts, bit_mask(sampling.banned, V), numbers,
                                          words, BLOCK)
    sums = sample_sums(sums, logits, adjusted, peaks, numbers, words, BLOCK)
    kept, _ = kept_masses(sums, peaks[:, 1], adjusted, numbers[0], words, BLOCK)
    return kept.astype(np.float64)


def scores(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Transformers' scores in float64, in the order in which its `generate` applies them."""
    chain = LogitsProcessorList([
        RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty),
        SuppressTokensLogitsProcessor(sampling.banned),
        TemperatureLogitsWarper(sampling.temperature)])
    if sampling.top_k:
        chain.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        chain.append(TopPLogitsWarper(sampling.top_p))
    chain.append(MinPLogitsWarper(sampling.min_p))
    ids = torch.tensor([PROMPT])
    return chain(ids, torch.from_numpy(logits[None]).double())[0].numpy()


def probabilities(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Of Transformers, float64."""
    return torch.softmax(torch.from_numpy(scores(logits, sampling)), 0).numpy()


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("V", [8, 1000, 49_152])
def test_kept_tokens_and_their_probabilities_are_those_of_transformers(V: int, name: str) -> None:
    sampling = CHOICES[name]
    for seed in range(3):
        logits = (2 * np.random.default_rng(seed).standard_normal(V)).astype(np.float32)
        kept, expected = masses(logits, sampling), probabilities(logits, sampling)
        assert ((kept > 0) == (expected > 0))[(expected == 0) | (expected > NOTHING)].all()
        assert kept / kept.sum() == pytest.approx(expected, rel=3e-6, abs=NOTHING)


@pytest.mark.parametrize("name", CHOICES)
def test_of_equal_logits_as_many_are_kept_and_the_lower_ids(name: str) -> None:
    sampling = CHOICES[name]
    for seed in range(20):
        logits = np.random.default_rng(seed).integers(-3, 4, 500).astype(np.float32) / 2
        kept, expected = masses(logits, sampling) > 0, np.isfinite(scores(logits, sampling))
        assert sorted(logits[kept]) == sorted(logits[expected])
        whole = np.unique(logits[kept])[1:]  # all but the least: nothing of them is cut off
        assert (kept == expected)[np.isin(logits, whole)].all()
        if sampling.top_p == 1:
            assert (kept == expected).all()  # top-k and min-p never part equal logits
        least = np.flatnonzero(logits == logits[kept].min())
        if not sampling.banned:
            assert (np.diff(kept[least].astype(int)) <= 0).all()


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "all"])
def test_a_hundred_thousand_draws_follow_the_exact_distribution(device, name: str) -> None:
    # The repetition penalty would change the distribution with every draw.
    sampling, draws, on_gpu = replace(CHOICES[name], repetition_penalty=1.0), 100_000, 1500
    logits = (2 * np.random.default_rng(7).standard_normal(60)).astype(np.float32)
    positions = np.zeros((draws, 4), np.uint32)
    positions[:, 0] = np.arange(draws)
    words = philox_4x32(positions, (sampling.seed, 0))[:, 0].astype(object)
    kept = masses(logits, sampling).astype(np.uint64)
    cumulative = np.cumsum(kept)
    goals = (words * int(cumulative[-1]) >> 32).astype(np.uint64)
    drawn = np.searchsorted(cumulative, goals, side="right")

    sampler = Sampler(device, len(logits), draws)
    scores = Tensor.from_numpy(logits[None])
    with device.recording() as tape:
        sampler.record(scores)
    plan = run(tape.compile(label="draw"))
    sampler.begin(PROMPT, 0, sampling)
    ids = run(device.replay([plan], steps=on_gpu, readback=sampler.token.region))
    assert (np.frombuffer(ids, np.uint32) == drawn[:on_gpu]).all()

    expected = draws * probabilities(logits, sampling)
    counts = np.bincount(drawn, minlength=len(logits))
    assert not counts[expected == 0].any()
    # Categories with few expected draws count together, as the chi-square test wants it.
    common = expected >= 10
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    freedom = len(wanted) - 1
    chi_square = float(((observed - wanted) ** 2 / wanted).sum())
    assert freedom > 5
    # Mean and spread of the distribution; above it lies about one in ten thousand.
    assert abs(chi_square - freedom) < 4.5 * np.sqrt(2 * freedom)
