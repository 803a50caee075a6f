"""Sessions: what was read is not read again, stops end a text, and nothing depends on the cuts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from tabgrad.errors import SettingsError
from tabgrad.generate.prefill import cut
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import FULL, LINEAR, SLIDING, LinearAttention, Recipe
from tabgrad.models.rotary import RotaryParameters

pytestmark = pytest.mark.usefixtures("device")
GREEDY = Sampling(temperature=0.0)
ROTARY = RotaryParameters("default", 1e4, 16, 512, 512)
ATTENTION = Recipe(
    vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, intermediate_size=48, max_position_embeddings=512, hidden_act="silu",
    tie_word_embeddings=False, initializer_range=0.3, model_type="qwen3", head_dim=16, norm="rms",
    gated_mlp=True, attention_bias=False, output_bias=False, mlp_bias=False,
    position_embedding="rotary", rotary=((FULL, ROTARY), (SLIDING, ROTARY)))
SLIDES = replace(ATTENTION, layer_types=(SLIDING, FULL), sliding_window=12)
HYBRID = replace(ATTENTION, num_hidden_layers=3, layer_types=(LINEAR, FULL, LINEAR),
                 linear_attention=LinearAttention(2, 4, 8, 8, 4))
RECIPES = {"attention": ATTENTION, "sliding": SLIDES, "hybrid": HYBRID}
PROMPT = np.random.default_rng(3).integers(0, 61, 45).tolist()


def session(name: str, chunks: tuple[int, ...] = (64, 16)) -> Session:
    return Session(Decoder(RECIPES[name], seed=1, trainable=False), 256, chunks)


def write(session: Session, ids: list[int], count: int, **arguments) -> list[int]:
    async def collect() -> list[int]:
        return [one.id async for drawn in session.generate(
            ids, arguments.pop("sampling", GREEDY), count, **arguments) for one in drawn]
    return asyncio.run(collect())


@pytest.mark.parametrize("name", RECIPES)
def test_a_second_turn_reads_only_what_is_new(name: str) -> None:
    chat, fresh = session(name), session(name)
    answer = write(chat, PROMPT, 14)
    assert chat.usage.reused_tokens == 0
    assert chat.usage.prefill_tokens == len(PROMPT) - 1
    turn = PROMPT + answer + [7, 8, 9]
    again = write(chat, turn, 14)
    # All but the last id drawn had been read, and the last id of the prompt is read by decoding.
    assert chat.usage.reused_tokens == len(PROMPT) + len(answer) - 1
    assert chat.usage.prefill_tokens == 3
    assert again == write(fresh, turn, 14)


@pytest.mark.parametrize("name", RECIPES)
def test_an_answer_that_is_written_again_reads_nothing_twice(name: str) -> None:
    chat = session(name)
    first = write(chat, PROMPT, 20)
    assert write(chat, PROMPT, 20) == first
    assert chat.usage.prefill_tokens == 0
    assert chat.usage.reused_tokens == len(PROMPT) - 1


@pytest.mark.parametrize("name", RECIPES)
def test_a_text_that_parts_early_is_read_from_there(name: str) -> None:
    chat, fresh = session(name), session(name)
    write(chat, PROMPT, 9)
    other = [*PROMPT[:20], 1, 2, 3, *PROMPT[20:]]
    assert write(chat, other, 9) == write(fresh, other, 9)
    # A state cannot go back to where no copy was made.
    assert chat.usage.reused_tokens == (0 if name == "hybrid" else 20)


def test_a_ring_that_has_lost_what_it_needs_is_filled_again() -> None:
    chat, fresh = session("sliding", (16,)), session("sliding", (16,))
    write(chat, PROMPT, 150)
    other = [*PROMPT[:30], 5]
    assert write(chat, other, 9) == write(fresh, other, 9)
    assert chat.usage.reused_tokens == 0


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("batch", [1, 4, 32])
def test_a_stop_in_the_middle_of_a_batch(monkeypatch: pytest.MonkeyPatch, name: str,
                                         batch: int) -> None:
    monkeypatch.setattr(Session, "_batch", lambda self, first: batch)
    chat, fresh = session(name), session(name)
    whole = write(fresh, PROMPT, 30)
    place = next(i for i in range(5, 30) if whole[i] not in whole[:i])
    stopped = write(chat, PROMPT, 30, stop_ids={whole[place]})
    assert stopped == whole[:place + 1]
    assert chat.finish_reason == "stop"
    turn = PROMPT + stopped + [3, 4]
    again = write(chat, turn, 8)
    assert chat.usage.reused_tokens == len(PROMPT) + len(stopped) - 1
    assert again == write(fresh, turn, 8)


@pytest.mark.parametrize("chunks", [(256,), (64, 16), (16,), (7,)])
def test_chunks_do_not_change_the_text(chunks: tuple[int, ...]) -> None:
    expected = write(session("hybrid", (1,)), PROMPT, 20)
    assert write(session("hybrid", chunks), PROMPT, 20) == expected


def test_it_can_be_given_up_while_the_prompt_is_read() -> None:
    chat, fresh = session("attention", (16,)), session("attention", (16,))
    asked = 0

    def go_on() -> bool:
        nonlocal asked
        asked += 1
        return asked < 3  # once before anything, then before each chunk
    assert write(chat, PROMPT, 20, go_on=go_on) == []
    assert chat.finish_reason == "abort"
    assert chat.usage.prefill_tokens == 16
    assert write(chat, PROMPT, 20) == write(fresh, PROMPT, 20)
    assert chat.usage.reused_tokens == 16


def test_nothing_is_made_while_it_writes(device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_batch", lambda self, first: 1 if first else 8)
    chat = session("attention")
    write(chat, PROMPT, 40)
    before = device.gpu.counters()
    drawn = write(chat, [*PROMPT, 1], 40)
    made = {name: count - before[name] for name, count in device.gpu.counters().items()}
    assert len(drawn) == 40
    assert made["buffers"] == made["bind_groups"] == made["pipelines"] == 0
    assert made["submits"] <= 40 + 2


def test_a_prompt_that_does_not_fit_is_refused_before_any_work() -> None:
    chat = session("attention")
    with pytest.raises(SettingsError, match="longer than the model's window"):
        write(chat, PROMPT * 6, 1)
    with pytest.raises(SettingsError, match="a token that the model does not know"):
        write(chat, [61], 1)
    assert write(chat, PROMPT * 5, 500) and chat.finish_reason == "window"
    assert chat.usage.completion_tokens == 256 - 5 * len(PROMPT)


def test_cut() -> None:
    assert cut(0) == []
    assert cut(1000) == [(256, 256)] * 3 + [(256, 232)]
    assert cut(350) == [(256, 256), (64, 64), (16, 16), (16, 14)]
    assert sum(count for _, count in cut(777)) == 777
