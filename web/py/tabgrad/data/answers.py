"""Where the assistant speaks in a rendered conversation, found by rendering it several times.

A chat template is a program: only running it tells what it makes of a message. So each answer is
looked at from two sides.

- The conversation up to the answer, with the generation prompt: what the model will have read when
  it is to speak. Where this is how the whole text begins, the answer begins at its end.
- The whole conversation with a probe, a character that occurs nowhere in it, in the answer's place.
  What both texts begin with is not the answer's own, nor is what both end with.

Templates rewrite what came before (Qwen 3 drops the thinking of earlier turns), always or never
write the generation prompt (Llama 3, old ChatML), or strip the answer. The rules below hold for
these; what fits none of them is an error, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from tabgrad.data.borders import common_length
from tabgrad.data.documents import Chat

Message = Mapping[str, Any]
Span = tuple[int, int]

_PROBES = [chr(code) for code in range(0xE000, 0xE100)]  # of the private use area


class NoSpan(ValueError):
    """An answer that cannot be found for sure; the text says why."""


class ChatTokenizer(Protocol):
    """What is needed of `text.tokenizer.Tokenizer`."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens that are no text."""

    stop_ids: frozenset[int]

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id."""

    def apply_chat_template(self, messages: Sequence[Message],
                            tools: Sequence[Mapping[str, Any]] | None = None,
                            add_generation_prompt: bool = True) -> str:
        """The text of a conversation."""


class Answers:
    """Finds answers in the conversations of one model.

    Args:
        tokenizer: of the model, with its chat template.
    """

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        self._tokenizer = tokenizer
        self._stops = _any_of(tokenizer, tokenizer.stop_ids)
        self._special = _any_of(tokenizer, tokenizer.special_ids)

    def find(self, chat: Chat) -> tuple[str, list[Span]]:
        """The text of a conversation, and where its answers stand.

        An answer reaches from behind the role's header through its end token.

        Returns:
            The rendered text, and for each message of the assistant (begin, end) in characters.

        Raises:
            NoSpan: an answer cannot be found for sure.
            CheckpointError: the template does not accept the conversation.
        """
        text = self._render(chat, chat.messages)
        probe = next((one for one in _PROBES if one not in text), None)
        if probe is None:
            raise NoSpan("the conversation has too many characters of the private use area")
        spans: list[Span] = []
        for number, message in enumerate(chat.messages):
            if message["role"] == "assistant":
                span = self._span(chat, text, number, probe)
                if spans and span[0] < spans[-1][1]:
                    raise NoSpan(f"message {number + 1} overlaps the answer before it")
                spans.append(span)
        return text, spans

    def _span(self, chat: Chat, text: str, number: int, probe: str) -> Span:
        where = f"message {number + 1}"
        probing = {"role": "assistant", "content": probe}
        before, after = chat.messages[:number], chat.messages[number + 1:]
        probed = self._render(chat, [*before, probing, *after])
        if probed.count(probe) != 1:
            raise NoSpan(f"the template shows {where} {probed.count(probe)} times")
        own = common_length(text, probed)            # where the answer's own text begins
        tail = probed[probed.index(probe) + 1:]
        end = len(text) - len(tail)
        if not text.endswith(tail) or end < own:
            raise NoSpan(f"the template writes what follows {where} according to what it says")
        return self._begin(chat, text, number, own), self._closed(chat, text, number, end, probing)

    def _begin(self, chat: Chat, text: str, number: int, own: int) -> int:
        before = chat.messages[:number]
        prompt = self._render(chat, before, add_generation_prompt=True)
        plain = self._render(chat, before) if before else ""
        if prompt == plain:
            return own              # the template has no prompt, or always writes it
        if text.startswith(prompt) and len(prompt) <= own:
            return len(prompt)
        # The template rewrites what came before, but for the header that the answer stands behind.
        header = prompt.removeprefix(plain)
        if prompt.startswith(plain) and text.endswith(header, 0, own):
            return own
        if common_length(text, prompt) >= own:
            return own              # the prompt goes on where answers of earlier turns begin
        raise NoSpan(f"the template begins message {number + 1} otherwise than it asks for one")

    def _closed(self, chat: Chat, text: str, number: int, end: int, probing: Message) -> int:
        """The end with its end token: one that stops a text, or one that the template closes with.

        The latter is known by closing the last message too, where no other header follows.
        """
        stop = self._stops.match(text, end)
        if stop:
            return stop.end()
        ending = self._render(chat, [*chat.messages[:number], probing])
        after = ending.partition(str(probing["content"]))[2]
        closing = self._special.match(after)
        if closing and text.startswith(closing[0], end):
            return end + len(closing[0])
        return end

    def _render(self, chat: Chat, messages: Sequence[Message],
                add_generation_prompt: bool = False) -> str:
        return self._tokenizer.apply_chat_template(messages, chat.tools, add_generation_prompt)


def _any_of(tokenizer: ChatTokenizer, ids: Iterable[int]) -> re.Pattern[str]:
    """White space and one of these tokens, the longest first; matches nothing where none is."""
    texts = {tokenizer.id_to_token(one) for one in ids} - {None, ""}
    names = sorted((re.escape(str(text)) for text in texts), key=len, reverse=True)
    return re.compile(rf"\s*(?:{'|'.join(names)})" if names else r"(?!)")
