"""Answers that are written, greedily, with what they cost."""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.generate.language_model import LanguageModel, Messages
from tabgrad.generate.session import Usage

STOP = "\n\n"
"""Ends an answer: what comes after an empty line is another matter."""


@dataclass(frozen=True)
class Answer:
    """What a model wrote after a prompt.

    Args:
        text: of it.
        usage: what it cost.
    """

    text: str
    usage: Usage


async def warm_up(model: LanguageModel) -> None:
    """Compiles all that writing needs, so that clocks see no compiler."""
    session = model.session
    await session.compile()
    for rows in session.prefill.sizes:
        await session.prefill.compile(rows)


async def answer(model: LanguageModel, prompt: str | Messages, max_new_tokens: int) -> Answer:
    """The greedy continuation of a prompt, or answer to a conversation, up to an empty line.

    Args:
        model: that writes.
        prompt: what comes before.
        max_new_tokens: most tokens.

    Raises:
        SettingsError: the prompt does not fit the model's window.
    """
    pieces = [piece async for piece in model.generate(
        prompt, max_new_tokens=max_new_tokens, stop=STOP, temperature=0.0,
        repetition_penalty=1.0)]
    return Answer("".join(pieces), model.usage)


def begins_with(text: str, expected: str) -> bool:
    r"""Whether a text begins with the expected answer, white space aside, as whole words.

    Example:
        >>> begins_with(" blue.\nThen", "blue"), begins_with("bluebell", "blue")
        (True, False)
    """
    found, wanted = " ".join(text.split()), " ".join(expected.split())
    return found.startswith(wanted) and not found[len(wanted):len(wanted) + 1].isalnum()
