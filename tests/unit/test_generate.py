"""Generation: equal to the training model's own forward pass, seeded, unlimited in length."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tabgrad.autograd import no_grad
from tabgrad.errors import SettingsError
from tabgrad.generate.generator import Generator
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.tensor import Tensor

PROMPT = "Größe: ".encode()


def lively(name: str = "tiny", seed: int = 3) -> Decoder:
    """Random weights large enough that logits differ by more than rounding."""
    asyncio.run(open_device("webgpu"))
    decoder = Decoder(preset(name), seed, trainable=False)
    arena = decoder.arena
    state = asyncio.run(arena.read(arena.weights))
    for part, values in state.items():
        # A tied model of random weights repeats its input, unless its blocks speak louder.
        if part.endswith("weight") and ("attn" in part or "mlp" in part):
            values *= 14
    arena.write(arena.weights, state)
    return decoder



def written(generator: Generator, prompt: bytes, **arguments) -> bytes:
    async def collect() -> bytes:
        return b"".join([piece async for piece in generator.generate(prompt, **arguments)])
    return asyncio.run(collect())


def is_greedy(decoder: Decoder, prompt: bytes, text: bytes) -> bool:
    """Whether each byte of `text` is the likeliest after all before it, by one whole forward pass.

    Where two bytes are equally likely but for rounding, either is right.
    """
    ids = np.frombuffer(prompt + text, np.uint8)[None, :-1].astype(np.uint32)
    with no_grad():
        logits = asyncio.run(decoder(Tensor.from_numpy(ids)).read())[0, len(prompt) - 1:]
    chosen = logits[np.arange(len(text)), list(text)]
    return bool((logits.max(axis=1) - chosen < 1e-3 * np.ptp(logits, axis=1)).all())


@pytest.mark.parametrize("name", ["tiny", "byte-tinygpt"])
def test_greedy_text_equals_a_whole_forward_pass(name):
    decoder = lively(name)
    text = written(Generator(decoder), PROMPT, max_new_tokens=40, temperature=0)
    assert len(set(text)) > 4, "a constant text would prove nothing"
    assert is_greedy(decoder, PROMPT, text)
    assert not is_greedy(decoder, PROMPT, bytes(255 - byte for byte in text))


def test_a_seed_gives_one_text_and_another_seed_another():
    generator = Generator(lively())
    first = written(generator, PROMPT, max_new_tokens=40, temperature=1.0, seed=7)
    again = written(generator, PROMPT, max_new_tokens=40, temperature=1.0, seed=7)
    fresh = written(Generator(lively()), PROMPT, max_new_tokens=40, temperature=1.0,
                    seed=7)
    other = written(generator, PROMPT, max_new_tokens=40, temperature=1.0, seed=2**63 + 7)
    assert first == again == fresh != other
    assert written(generator, PROMPT, max_new_tokens=15, temperature=1.0, seed=7) == first[:15]


@pytest.mark.parametrize("batch", [1, 5, 32])
def test_the_size_of_batches_does_not_change_the_text(monkeypatch, batch):
    generator = Generator(lively())
    expected = written(generator, PROMPT, max_new_tokens=90, temperature=0.9, seed=5)
    monkeypatch.setattr(Session, "_batch", lambda self, first: batch)
    assert written(generator, PROMPT, max_new_tokens=90, temperature=0.9, seed=5) == expected


def test_top_k_one_is_greedy():
    generator = Generator(lively())
    greedy = written(generator, PROMPT, max_new_tokens=20, temperature=0)
    assert written(generator, PROMPT, max_new_tokens=20, temperature=1.5, top_k=1,
                   seed=9) == greedy


def test_a_full_window_goes_on_from_its_last_half():
    decoder = lively()
    window = preset("tiny").max_position_embeddings
    long = written(Generator(decoder), PROMPT, max_new_tokens=2 * window + 5,
                   temperature=0)
    assert len(long) == 2 * window + 5
    whole = PROMPT + long
    # The first window ends at its last position; then its last half is the prompt.
    split = window
    assert is_greedy(decoder, whole[split - window // 2:split], whole[split:split + 30])
    assert is_greedy(decoder, PROMPT, long[:split - len(PROMPT) - 1])


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 500])
def test_prompts_of_any_length(length):
    prompt = bytes(range(97, 123)) * 20
    got = written(Generator(lively()), prompt[:length], max_new_tokens=3, seed=1)
    assert len(got) == 3


def test_random_choices_follow_the_probabilities():
    async def scenario():
        device = await open_device("webgpu")
        decoder = Decoder(preset("tiny"), 0, trainable=False)
        state = await decoder.arena.read(decoder.arena.weights)
        state["model.embed_tokens.weight"] *= 4
        decoder.arena.write(decoder.arena.weights, state)
        with no_grad():
            logits = (await decoder(Tensor.from_numpy(np.array([[65]], np.uint32))).read())[0, 0]
        expected = np.exp(logits - logits.max())
        expected /= expected.sum()
        session = Session(decoder)
        counts = np.zeros(256)
        for seed in range(800):
            async for drawn in session.generate([65], Sampling(seed=seed), 1):
                counts[drawn[0].id] += 1
        heavy = expected > np.quantile(expected, 0.5)
        share, spread = counts[heavy].sum() / 800, np.sqrt(0.25 / 800)
        assert abs(share - expected[heavy].sum()) < 4 * spread
        assert device is session.device
    asyncio.run(scenario())


def test_closing_a_stream_early_leaves_the_generator_usable():
    generator = Generator(lively())
    expected = written(generator, PROMPT, max_new_tokens=12, temperature=0)

    async def start_and_close() -> None:
        stream = generator.generate(PROMPT, max_new_tokens=100, temperature=0)
        async for _ in stream:
            break
        await stream.aclose()
    asyncio.run(start_and_close())
    assert written(generator, PROMPT, max_new_tokens=12, temperature=0) == expected


@pytest.mark.parametrize(("name", "value"), [
    ("max_new_tokens", 0), ("temperature", -0.1), ("temperature", float("nan")), ("top_k", 2**32),
    ("top_k", -1), ("seed", -1), ("seed", 2**64)])
def test_an_argument_out_of_range_is_named(name, value):
    generator = Generator(lively())
    with pytest.raises(SettingsError, match=f"{name} is out of range"):
        written(generator, PROMPT, **{name: value})


def test_two_streams_of_one_generator_wait_for_each_other():
    generator = Generator(lively())

    async def collect(seed: int) -> bytes:
        return b"".join([piece async for piece in generator.generate(
            PROMPT, max_new_tokens=30, temperature=1.0, seed=seed)])

    async def both() -> list[bytes]:
        return await asyncio.gather(collect(1), collect(2))
    together = asyncio.run(both())
    assert together == [asyncio.run(collect(1)), asyncio.run(collect(2))]
