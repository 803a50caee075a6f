"""Tokens to text, token after token: the decoders of tokenizer.json.

A decoder is a chain of small stages, each from a list of tokens to a list of tokens; the text is
the last list, joined. Here every stage takes the tokens as they come and keeps only what it needs
for the next ones, so a token costs the same however long the text is, and the text is that of the
Rust library (`tokenizers`) on all ids at once, whatever the ids are.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tabgrad.errors import CheckpointError

Tokens = list[str]


class Stage(Protocol):
    """One stage of a decoder."""

    def feed(self, tokens: Tokens) -> Tokens:
        """What these tokens become, as far as it is known."""

    def finish(self) -> Tokens:
        """What was held back."""


class Decoding:
    """A decoder at work on one text.

    Args:
        described: the "decoder" of a tokenizer.json; None puts spaces between tokens.

    Raises:
        CheckpointError: a decoder of a kind that is not known, or without what its kind needs.

    Example:
        >>> spaces = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
        >>> first = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        >>> decoding = Decoding({"type": "Sequence", "decoders": [
        ...     spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, first]})
        >>> [decoding.feed(token) for token in ("▁The", "▁caf", "<0xC3>", "<0xA9>", "▁is")]
        ['The', ' caf', '', '', 'é is']
        >>> decoding.finish()
        ''
    """

    def __init__(self, described: Mapping[str, Any] | None) -> None:
        self._stages: list[Stage] = []
        fused = False  # whether the stages so far make one long token
        try:
            for one in _flat(described):
                self._stages.append(_stage(one, fused))
                fused = fused or one["type"] in ("Fuse", "ByteLevel")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError("tokenizer.json does not describe its decoder as it should.",
                                  received=repr(described)[:100]) from error

    def feed(self, token: str) -> str:
        """The text that this token completes."""
        tokens = [token]
        for stage in self._stages:
            tokens = stage.feed(tokens)
        return "".join(tokens)

    def finish(self) -> str:
        """What is left at the end of the text."""
        tokens: Tokens = []
        for stage in self._stages:
            tokens = stage.feed(tokens) + stage.finish()
        return "".join(tokens)


def _flat(described: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if described is None:
        return [{"type": "Spaces"}]
    if described.get("type") == "Sequence":
        return [inner for one in described.get("decoders", []) for inner in _flat(one)]
    return [described]


def _stage(described: Mapping[str, Any], fused: bool) -> Stage:
    kind = described.get("type")
    if kind == "Fuse":
        return _Each(lambda token: token)
    if kind == "Replace":
        return _replace(described, fused)
    if kind == "Strip":
        content, start, stop = (described[name] for name in ("content", "start", "stop"))
        return _Strip(content, start, stop) if fused else _Each(
            lambda token: _stripped(token, content, start, stop))
    if kind in _BY_TOKEN and not fused:
        return _BY_TOKEN[kind](described)
    raise CheckpointError("This tokenizer's way from tokens to text is not known here.",
                          received=f"a decoder of type {kind}" + (" after Fuse" if fused else ""))


class _Each:
    """Changes each token by itself."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def feed(self, tokens: Tokens) -> Tokens:
        return [self._change(token) for token in tokens]

    def finish(self) -> Tokens:
        return []


def _replace(described: Mapping[str, Any], fused: bool) -> Stage:
    pattern, content = described["pattern"].get("String"), described["content"]
    if not pattern or (fused and len(pattern) > 1):
        raise CheckpointError("This tokenizer's way from tokens to text is not known here.",
                              received=f"a decoder that replaces {described['pattern']}")
    return _Each(lambda token: token.replace(pattern, content))


class _Spaces:
    """One space between tokens."""

    def __init__(self, _: Mapping[str, Any]) -> None:
        self._between = ""

    def feed(self, tokens: Tokens) -> Tokens:
        spaced = []
        for token in tokens:
            spaced.append(self._between + token)
            self._between = " "
        return spaced

    def finish(self) -> Tokens:
        return []


def _byte_characters() -> dict[str, int]:
    """The character that byte-level vocabularies write for each byte.

    Printable characters of Latin-1 stand for themselves, the other bytes in turn for the
    characters from U+0100 on (Radford et al., GPT-2's encoder, 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return ({chr(byte): byte for byte in printable}
            | {chr(0x100 + i): byte for i, byte in enumerate(others)})


BYTE_OF = _byte_characters()
CHARACTER_OF = {byte: character for character, byte in BYTE_OF.items()}


class _ByteLevel:
    """Characters that stand for bytes; all bytes together are UTF-8.

    A token with another character in it, such as a special token, stands for itself.
    """

    def __init__(self, _: Mapping[str, Any]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, tokens: Tokens) -> Tokens:
        return [self._decoder.decode(_bytes_of(token)) for token in tokens]

    def finish(self) -> Tokens:
        return [self._decoder.decode(b"", final=True)]


def _bytes_of(token: str) -> bytes:
    try:
        return bytes([BYTE_OF[character] for character in token])
    except KeyError:
        return token.encode("utf-8")


class _ByteFallback:
    """Tokens <0x00> to <0xFF> are bytes. A run of them is UTF-8, or else one U+FFFD for each.

    Only the end of a run tells which, so a run is held back until then.
    """

    def __init__(self, _: Mapping[str, Any]) -> None:
        self._run = bytearray()

    def feed(self, tokens: Tokens) -> Tokens:
        texts: Tokens = []
        for token in tokens:
            byte = _byte_token(token)
            if byte is None:
                texts += [*self.finish(), token]
            else:
                self._run.append(byte)
        return texts

    def finish(self) -> Tokens:
        if not self._run:
            return []
        try:
            text = self._run.decode("utf-8")
        except UnicodeDecodeError:
            text = "\ufffd" * len(self._run)
        self._run.clear()
        return [text]


def _byte_token(token: str) -> int | None:
    if len(token) != 6 or not (token.startswith("<0x") and token.endswith(">")):
        return None
    try:
        return int(token[3:5], 16)
    except ValueError:
        return None


class _Metaspace:
    """▁ is a space, except in the first token, where it is only the mark of a word."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self._mark = described.get("replacement", "▁")
        scheme = described.get("prepend_scheme", "always")
        if not described.get("add_prefix_space", True):  # how older files say it
            scheme = "never"
        self._first = scheme != "never"

    def feed(self, tokens: Tokens) -> Tokens:
        texts = []
        for token in tokens:
            texts.append(token.replace(self._mark, "" if self._first else " "))
            self._first = False
        return texts

    def finish(self) -> Tokens:
        return []


class _Strip:
    """Takes a character off the beginning and the end of the whole text, at most so often."""

    def __init__(self, content: str, start: int, stop: int) -> None:
        self._content = content
        self._start, self._stop = start, stop
        self._held = ""

    def feed(self, tokens: Tokens) -> Tokens:
        text = self._held + "".join(tokens)
        while self._start and text.startswith(self._content):
            text, self._start = text[1:], self._start - 1
        if text:
            self._start = 0
        kept = _stripped(text, self._content, 0, self._stop)
        self._held = text[len(kept):]
        return [kept]

    def finish(self) -> Tokens:
        self._held = ""
        return []


def _stripped(token: str, content: str, start: int, stop: int) -> str:
    first, last = 0, len(token)
    while first < min(start, len(token)) and token[first] == content:
        first += 1
    while last > max(len(token) - stop, first) and token[last - 1] == content:
        last -= 1
    return token[first:last]


_BY_TOKEN: dict[str, Callable[[Mapping[str, Any]], Stage]] = {
    "ByteLevel": _ByteLevel, "ByteFallback": _ByteFallback, "Metaspace": _Metaspace,
    "Spaces": _Spaces}


class TokenTexts(Protocol):
    """What is needed of a tokenizer to make text of ids."""

    @property
    def decoder(self) -> Mapping[str, Any] | None:
        """As tokenizer.json describes it."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens that are no text."""

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id, as the vocabulary writes it."""
