"""Generator: what follows a prompt, of any length, a few tokens at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from tabgrad.errors import DataError, SettingsError
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session, always
from tabgrad.models.decoder import Decoder
from tabgrad.text.stream import Detokenizer, TextStream
from tabgrad.text.tokenizer import Tokenizer
from tabgrad.text.word_tokenizer import WordTokenizer

EMPTY_PROMPT = b"\n"
LONGEST = 1_000_000


@dataclass(frozen=True)
class Written:
    """A piece of text.

    Args:
        text: never half a character.
        tokens: how many tokens it took.
    """

    text: str
    tokens: int


class Generator:
    """Writes with a decoder that was trained here.

    When the window of `max_position_embeddings` tokens is full, its last half is read again as the
    prompt of a fresh window, and writing goes on: the model then remembers between half a window
    and a whole one.

    Args:
        decoder: trained or in training; its weights are only read.
        tokenizer: of a model that reads words, or tokens of which it may know more than there are;
            None for one that reads bytes.
    """

    def __init__(self, decoder: Decoder,
                 tokenizer: WordTokenizer | Tokenizer | None = None) -> None:
        wanted, found = tokenizer.vocab_size if tokenizer else 256, decoder.recipe.vocab_size
        if found != wanted and not (isinstance(tokenizer, Tokenizer) and found > wanted):
            raise SettingsError("This model reads neither bytes nor the words of a preset.",
                                expected=f"a vocabulary of {wanted}", received=str(found))
        self.session = Session(decoder)
        self.tokenizer = tokenizer
        self._one_at_a_time = asyncio.Lock()

    async def generate(self, prompt: bytes, max_new_tokens: int = 100, temperature: float = 0.8,
                       top_k: int = 0, seed: int = 0) -> AsyncGenerator[bytes, None]:
        """Streams the bytes that follow a prompt, of a model that reads bytes.

        The same arguments and weights give the same bytes, however the stream is cut. Close the
        generator (`aclose`) to end early: at most one batch of tokens is then on the GPU.

        Args:
            prompt: what to go on from; an empty one counts as a new line.
            max_new_tokens: how many bytes to write.
            temperature: divides the logits; 0 always takes the likeliest byte.
            top_k: only the k likeliest bytes can be drawn; 0 keeps all.
            seed: of the random numbers, below 2**64.
        Yields:
            one or more bytes; a character of several bytes may be cut (see `TextStream`).
        Raises:
            SettingsError: an argument out of its range, or a model that reads words.
        """
        if self.tokenizer is not None:
            raise SettingsError("This model reads words or tokens: ask for text.",
                                expected="text(...)")
        stream = self._ids(list(prompt or EMPTY_PROMPT), (), max_new_tokens, temperature, top_k,
                           seed)
        async with aclosing(stream):
            async for ids in stream:
                yield bytes(ids)

    async def text(self, prompt: str, max_new_tokens: int = 100, temperature: float = 0.8,
                   top_k: int = 0, seed: int = 0, go_on: Callable[[], bool] = always,
                   ) -> AsyncGenerator[Written, None]:
        """Streams the text that follows a prompt; words end where the model says so.

        Args:
            prompt: what to go on from; an empty one counts as a new line, but for a model of words.
            max_new_tokens: most tokens (bytes, for a model of bytes) to write.
            temperature, top_k, seed: as in `generate`.
            go_on: asked after each piece; False ends.
        Yields:
            pieces of text; the last one may be empty.
        Raises:
            SettingsError: an argument out of its range.
            DataError: the prompt has a word that the model does not know.
        """
        feed, finish, stops = self._decoding()
        stream = self._ids(self._encode(prompt), stops, max_new_tokens, temperature, top_k, seed)
        async with aclosing(stream):
            async for ids in stream:
                yield Written(feed(ids), len(ids))
                if not go_on():
                    break
        yield Written(finish(), 0)

    def _encode(self, prompt: str) -> list[int]:
        if self.tokenizer is None:
            return list(prompt.encode() or EMPTY_PROMPT)
        if isinstance(self.tokenizer, Tokenizer):
            return self.tokenizer.encode(prompt or EMPTY_PROMPT.decode(), False)
        try:
            return self.tokenizer.encode(prompt)
        except DataError as error:
            error.control = "prompt"
            raise

    def _decoding(self) -> tuple[Callable[[Sequence[int]], str], Callable[[], str],
                                 Collection[int]]:
        """Ids to text, what is left at the end, and the ids that end a text."""
        if self.tokenizer is None:
            characters = TextStream()
            return lambda ids: characters.feed(bytes(ids)), characters.finish, ()
        if isinstance(self.tokenizer, Tokenizer):
            texts = Detokenizer(self.tokenizer)
            return texts.feed, texts.finish, self.tokenizer.stop_ids
        words = self.tokenizer
        # A word is never half a character: nothing is held back.
        return lambda ids: words.decode(ids, True), str, words.stop_ids

    async def _ids(self, tokens: list[int], stops: Collection[int], max_new_tokens: int,
                   temperature: float, top_k: int, seed: int) -> AsyncGenerator[list[int], None]:
        if not 1 <= max_new_tokens <= LONGEST:
            raise SettingsError("max_new_tokens is out of range.", control="max_new_tokens",
                                expected=f"1 to {LONGEST}", received=repr(max_new_tokens))
        sampling = Sampling(temperature=float(temperature), top_k=top_k, seed=seed)
        left, window = max_new_tokens, 0
        async with self._one_at_a_time:
            # Training may have changed the weights since the last text.
            self.session.forget()
            while left > 0:
                context = self._context(tokens, window)
                # Each window is a stream of its own: no two share random numbers.
                stream = self.session.generate(context, sampling, left, stops, stream=window)
                async with aclosing(stream):
                    async for drawn in stream:
                        new = [one.id for one in drawn]
                        tokens += new
                        left -= len(new)
                        yield new
                if self.session.finish_reason == "stop":
                    return
                window += 1

    def _context(self, tokens: list[int], window: int) -> list[int]:
        """What the next window begins with: all of a prompt that fits, else the last half."""
        size = self.session.window
        fits = window == 0 and len(tokens) < size
        return list(tokens if fits else tokens[-max(1, size // 2):])
