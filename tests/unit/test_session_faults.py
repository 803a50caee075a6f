"""Sessions that are interrupted, forgotten, closed, or led through any chat: never a wrong past."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.errors import SettingsError
from tabgrad.generate.sampling import Drawn
from tabgrad.generate.session import Session
from tabgrad.gpu.device import Device
from tests.unit.test_session import GREEDY, PROMPT, RECIPES, session

pytestmark = pytest.mark.usefixtures("device")


def drawn(chat: Session, ids: list[int], count: int, **arguments) -> list[Drawn]:
    """What it writes: a wrong past shows in the log-probabilities before it shows in the ids."""
    async def collect() -> list[Drawn]:
        return [one async for some in chat.generate(ids, GREEDY, count, **arguments)
                for one in some]
    return asyncio.run(collect())


def assert_same(found: list[Drawn], wanted: list[Drawn]) -> None:
    assert [one.id for one in found] == [one.id for one in wanted]
    assert [one.logprob for one in found] == pytest.approx([one.logprob for one in wanted],
                                                           abs=1e-4)


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_forgotten_leaves_no_trace(name: str) -> None:
    chat, fresh = session(name), session(name)
    drawn(chat, PROMPT, 9)
    chat.forget()
    assert_same(drawn(chat, PROMPT[:10], 4), drawn(fresh, PROMPT[:10], 4))
    assert chat.usage.reused_tokens == 0


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("moment", range(1, 5))
def test_an_interruption_leaves_no_wrong_past(monkeypatch: pytest.MonkeyPatch, name: str,
                                              moment: int) -> None:
    monkeypatch.setattr(Session, "_batch", lambda self, first: 1 if first else 4)
    chat, fresh = session(name), session(name)
    drawn(chat, PROMPT, 9)
    other = [*PROMPT[:20], *PROMPT[5:45]]
    replay, count = Device.replay, 0

    def interrupted(self: Device, *given, **named):
        nonlocal count
        result = replay(self, *given, **named)
        count += 1
        if count == moment:  # the work is on the GPU, but nobody waits for it any more
            raise asyncio.CancelledError
        return result
    with monkeypatch.context() as patch, pytest.raises(asyncio.CancelledError):
        patch.setattr(Device, "replay", interrupted)
        drawn(chat, other, 20)
    for text in (PROMPT, other, [*other, 1, 2]):
        assert_same(drawn(chat, text, 5), drawn(fresh, text, 5))


def test_a_text_that_is_given_up_while_it_waits_changes_nothing() -> None:
    chat = session("attention")
    drawn(chat, PROMPT, 4)
    assert drawn(chat, PROMPT[::-1], 4, go_on=lambda: False) == []
    assert chat.finish_reason == "abort" and chat.usage.completion_tokens == 0
    drawn(chat, PROMPT, 4)
    assert chat.usage.prefill_tokens == 0


def test_a_text_that_waits_while_the_model_is_closed() -> None:
    chat = session("attention")

    async def scene() -> None:
        first = chat.generate(PROMPT, GREEDY, 20)
        await anext(first)
        closing = asyncio.create_task(chat.close())
        await asyncio.sleep(0)
        second = asyncio.create_task(anext(chat.generate(PROMPT, GREEDY, 20)))
        await asyncio.sleep(0)
        await first.aclose()
        await closing
        with pytest.raises(SettingsError, match="was closed"):
            await second
    asyncio.run(scene())


@pytest.mark.parametrize("window", [0, -5, 1])
def test_windows_without_room_are_refused(window: int) -> None:
    with pytest.raises(SettingsError, match="context length"):
        Session(session("attention").decoder, window)


def test_a_window_is_filled_to_its_last_place() -> None:
    chat = Session(session("attention").decoder, 20, (16,))
    assert len(drawn(chat, PROMPT[:19], 9)) == 1 and chat.finish_reason == "window"
    with pytest.raises(SettingsError, match="longer than the model's window"):
        drawn(chat, PROMPT[:20], 9)
    with pytest.raises(SettingsError, match="no text"):
        drawn(chat, [], 9)
    assert Session(chat.decoder, 10_000).window == 512


@cache
def pair(name: str) -> tuple[Session, Session]:
    """Two sessions of one recipe, small rings and chunks, for many chats."""
    chat = Session(session(name).decoder, 160, (16, 5))
    return chat, Session(chat.decoder, 160, (16, 5))


TURN = st.tuples(
    st.integers(0, 160), st.lists(st.integers(0, 60), min_size=1, max_size=40),
    st.integers(1, 12), st.sampled_from([None, 1, 2, 5]))


@settings(max_examples=8)
@given(name=st.sampled_from(sorted(RECIPES)), turns=st.lists(TURN, min_size=2, max_size=5))
def test_any_chat_writes_what_a_fresh_one_does(name: str, turns) -> None:
    chat, fresh = pair(name)
    text: list[int] = []
    for kept, new, count, patience in turns:
        text = (text[:kept] + new)[:150]
        asked = iter(range(1000))
        found = drawn(chat, text, count, go_on=lambda asked=asked, patience=patience:
                      patience is None or next(asked) < patience)
        if patience is None:
            fresh.forget()
            assert_same(found, drawn(fresh, text, count))
        text = text + [one.id for one in found]
