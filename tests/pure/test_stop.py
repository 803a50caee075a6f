"""Stop strings: nothing of one is ever shown, however the text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.errors import SettingsError
from tabgrad.text.stop import StopStrings

LETTERS = st.text("abc", max_size=30)
STOPS = st.lists(st.text("abc", min_size=1, max_size=4), max_size=4)


def shown(stop: list[str], pieces: list[str]) -> tuple[str, bool]:
    """All that is shown, and whether the text was stopped."""
    stops, text, stopped = StopStrings(stop), "", False
    for piece in pieces:
        part, stopped = stops.feed(piece)
        text += part
        if stopped:
            return text, True
    return text + stops.finish(), False


def expected(stop: list[str], text: str) -> tuple[str, bool]:
    """By looking at every beginning of the text, shortest first."""
    for end in range(len(text) + 1):
        cut = [one for one in stop if text[:end].endswith(one)]
        if cut:
            return text[:end - max(map(len, cut))], True
    return text, False


@given(STOPS, st.lists(LETTERS, max_size=8))
def test_the_shown_text_does_not_depend_on_the_pieces(stop: list[str], pieces: list[str]) -> None:
    assert shown(stop, pieces) == expected(stop, "".join(pieces))
    assert shown(stop, list("".join(pieces))) == expected(stop, "".join(pieces))


@given(STOPS, LETTERS)
def test_only_what_may_begin_a_stop_string_is_held_back(stop: list[str], text: str) -> None:
    part, stopped = StopStrings(stop).feed(text)
    if not stopped:
        held = text[len(part):]
        assert text.startswith(part)
        assert not held or any(one.startswith(held) for one in stop)


def test_after_the_end_nothing_more_comes() -> None:
    stops = StopStrings(["\n\n", "User:"])
    assert stops.feed("Hello.\n") == ("Hello.", False)
    assert stops.feed("\nUser: and so on") == ("", True)
    assert stops.feed("more") == ("", True)
    assert stops.finish() == ""


def test_without_stop_strings_everything_is_shown_at_once() -> None:
    assert StopStrings([]).feed("text") == ("text", False)


@pytest.mark.parametrize("stop", [[""], ["a", ""], "END", [3]])
def test_empty_stop_strings_are_refused(stop: object) -> None:
    with pytest.raises(SettingsError, match="Stop strings"):
        StopStrings(stop)  # type: ignore[arg-type]
