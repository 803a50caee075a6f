"""Whether a model recites its training text: prefixes of it, and what is written after them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.errors import DataError, SettingsError
from tabgrad.evaluate.progress import Tell, silent
from tabgrad.evaluate.writing import warm_up
from tabgrad.generate.language_model import LanguageModel
from tabgrad.generate.sampling import Sampling
from tabgrad.reference.philox import uniform
from tabgrad.text.stream import Detokenizer

PREFIXES = 32
PREFIX_CHARACTERS = 80
NEW_TOKENS = 64
COPIED = 50
"""Characters from which a verbatim continuation is counted as copied."""
STREAM = 2**48
NEAR = 20
"""How far a prefix's end may move back to the end of a word, in characters."""
MOST_CHARACTERS = 2**24
LONGEST_QUOTE = 400


@dataclass(frozen=True)
class Continuation:
    """One prefix of the training text, and what the model wrote after it.

    Attributes:
        offset: of the prefix's end in the text, in characters.
        line: on which it ends, from 1.
        prefix: what the model read; its beginning may be cut to fit the window.
        text: what it wrote.
        verbatim: characters of it that are the text's own, from the prefix on.
        verbatim_tokens: tokens that lie wholly in them.
        found: characters of the longest part of it that stands anywhere in the text.
        found_offset: where that part begins in the text; None where nothing is found.
        found_line: on which line.
        found_text: the part, at most 400 characters of it.
    """

    offset: int
    line: int
    prefix: str
    text: str
    verbatim: int
    verbatim_tokens: int
    found: int
    found_offset: int | None
    found_line: int | None
    found_text: str


@dataclass(frozen=True)
class Memorised:
    """What the model recites.

    Attributes:
        characters: of the training text.
        prefix_characters: of a prefix.
        max_new_tokens: written after each, and more while all of it is verbatim.
        seed: of where the prefixes stand.
        longest: the most characters that went on verbatim after a prefix.
        longest_tokens: tokens of that continuation.
        longest_found: the most characters of a continuation that stand anywhere in the text.
        mean: of the verbatim characters over all prefixes.
        copied: share of the prefixes with 50 verbatim characters or more.
        continuations: one for each prefix, the longest verbatim one first.
    """

    characters: int
    prefix_characters: int
    max_new_tokens: int
    seed: int
    longest: int
    longest_tokens: int
    longest_found: int
    mean: float
    copied: float
    continuations: tuple[Continuation, ...]


async def memorisation(model: LanguageModel, corpus: str, *, prefixes: int = PREFIXES,
                       prefix_characters: int = PREFIX_CHARACTERS,
                       max_new_tokens: int = NEW_TOKENS, seed: int = 0,
                       tell: Tell = silent) -> Memorised:
    """Feeds prefixes of the training text back in and measures what comes out verbatim.

    Writing is greedy. It goes on for `max_new_tokens`, and while all of it is still the text's
    own, to the end of the window.

    Args:
        model: trained on the text, or not: what is found without training is chance.
        corpus: the training text.
        prefixes: how many; one from each of as many equal stretches of the text.
        prefix_characters: how long each is; its end is moved back to the end of a word.
        max_new_tokens: see above.
        seed: of where in its stretch each prefix stands.
        tell: called before each prefix.

    Raises:
        DataError: a text shorter than a prefix, or too long.
        SettingsError: a number out of its range.

    Source: Carlini et al., "Quantifying memorization across neural language models", 2023.
    """
    window = model.context_length
    for name, value, most in (("prefixes", prefixes, 10_000), ("max_new_tokens", max_new_tokens,
                              window - 1), ("prefix_characters", prefix_characters, 100_000)):
        if not 1 <= value <= most:
            raise SettingsError(f"{name} is out of range.", expected=f"1 to {most}",
                                received=str(value), control=name)
    await warm_up(model)
    found = []
    ends = prefix_ends(corpus, prefixes, prefix_characters, seed)
    for number, end in enumerate(ends):
        tell("Prefixes", number, len(ends))
        found.append(await _continuation(model, corpus, end, prefix_characters, max_new_tokens))
        await platform.current().pause()
    found.sort(key=lambda one: (-one.verbatim, one.offset))
    return Memorised(
        len(corpus), prefix_characters, max_new_tokens, seed, found[0].verbatim,
        found[0].verbatim_tokens, max(one.found for one in found),
        sum(one.verbatim for one in found) / len(found),
        sum(one.verbatim >= COPIED for one in found) / len(found), tuple(found))


def prefix_ends(corpus: str, count: int, characters: int, seed: int) -> list[int]:
    """Where prefixes end: one in each of `count` equal stretches, at the end of a word if one is
    near; the same for the same seed.

    Example:
        >>> text = "one two three four five six seven eight nine ten"
        >>> [text[end - 7:end] for end in prefix_ends(text, 3, 7, seed=1)]
        ['o three', 'ive six', 'n eight']

    Raises:
        DataError: a text shorter than a prefix and what follows, or too long.
    """
    if not characters < len(corpus) <= MOST_CHARACTERS:
        raise DataError("This text does not suit the memorisation check.", control="corpus",
                        expected=f"{characters + 1:,} to {MOST_CHARACTERS:,} characters",
                        received=f"{len(corpus):,}")
    room = len(corpus) - characters
    count = min(count, room)
    draws = uniform(seed, STREAM, count).tolist()
    ends = []
    for number, draw in enumerate(draws):
        end = characters + int((number + min(draw, 0.999)) * room / count)
        near = range(end, max(end - NEAR, characters - 1), -1)
        ends.append(next((at for at in near if corpus[at].isspace()
                          and not corpus[at - 1].isspace()), end))
    return sorted(set(ends))


def longest_match(text: str, corpus: str) -> tuple[int, int, int]:
    """(where it begins in the text, its length, where it begins in the corpus) of the longest part
    of a text that stands in the corpus; the first of equal ones, and length 0 without any.

    Example:
        >>> longest_match("a cold river", "the river is cold")
        (6, 6, 3)
    """
    best = (0, 0, 0)
    for start in range(len(text)):
        # Whoever wants to be longer has to contain one that is longer by one.
        while (end := start + best[1] + 1) <= len(text):
            at = corpus.find(text[start:end])
            if at < 0:
                break
            best = (start, end - start, at)
    return best


def common_beginning(text: str, corpus: str, offset: int) -> int:
    """How many characters a text and the corpus from `offset` on begin with in common.

    Example:
        >>> common_beginning(" runs fast", "the dog runs far", 7)
        8
    """
    length = 0
    while (length < len(text) and offset + length < len(corpus)
           and text[length] == corpus[offset + length]):
        length += 1
    return length


async def _continuation(model: LanguageModel, corpus: str, end: int, characters: int,
                        max_new_tokens: int) -> Continuation:
    tokenizer, window = model.tokenizer, model.context_length
    prefix = corpus[end - characters:end]
    ids = _fitting(tokenizer.encode(prefix), window - max_new_tokens)
    text, ends = "", list[int]()
    async with aclosing(_greedy(model, ids)) as stream:
        async for piece in stream:
            text += piece
            ends.append(len(text))
            if len(ends) >= max_new_tokens and not corpus.startswith(text, end):
                break
    verbatim = common_beginning(text, corpus, end)
    start, length, at = longest_match(text, corpus)
    return Continuation(
        end, _line(corpus, end), prefix, text, verbatim,
        sum(one <= verbatim for one in ends), length, at if length else None,
        _line(corpus, at) if length else None, text[start:start + length][:LONGEST_QUOTE])


async def _greedy(model: LanguageModel, ids: Sequence[int]) -> AsyncGenerator[str, None]:
    """The likeliest text after some ids, token by token, to a stop or the end of the window."""
    decoding, stops = Detokenizer(model.tokenizer), model.tokenizer.stop_ids
    decoding.feed(ids)  # so that the first token keeps the space before it
    stream = model.session.generate(ids, Sampling(temperature=0.0),
                                    model.context_length - len(ids), stops)
    async with aclosing(stream):
        async for drawn in stream:
            for one in drawn:
                if one.id not in stops:
                    yield decoding.feed([one.id])


def _fitting(ids: Sequence[int], room: int) -> list[int]:
    """The last ids of a prefix that leave room for what is written; at least one."""
    return list(ids[-max(room, 1):])


def _line(corpus: str, offset: int) -> int:
    return corpus.count("\n", 0, offset) + 1
