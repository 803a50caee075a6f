"""Generator: bytes that follow a prompt, of any number, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from tabgrad.errors import SettingsError
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.models.decoder import Decoder

EMPTY_PROMPT = b"\n"
LONGEST = 1_000_000


class Generator:
    """Writes with one decoder that reads bytes.

    When the window of `max_position_embeddings` bytes is full, its last half is read again as the
    prompt of a fresh window, and writing goes on: the model then remembers between half a window
    and a whole one.

    Args:
        decoder: trained or in training; its weights are only read.
    """

    def __init__(self, decoder: Decoder) -> None:
        if decoder.recipe.vocab_size != 256:
            raise SettingsError("Only models that read bytes can be generated from.",
                                expected="a vocabulary of 256",
                                received=str(decoder.recipe.vocab_size))
        self.session = Session(decoder)
        self._one_at_a_time = asyncio.Lock()

    async def generate(self, prompt: bytes, max_new_tokens: int = 100, temperature: float = 0.8,
                       top_k: int = 0, seed: int = 0) -> AsyncGenerator[bytes, None]:
        """Streams what follows the prompt.

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
            SettingsError: an argument out of its range.
        """
        if not 1 <= max_new_tokens <= LONGEST:
            raise SettingsError("max_new_tokens is out of range.", control="max_new_tokens",
                                expected=f"1 to {LONGEST}", received=repr(max_new_tokens))
        sampling = Sampling(temperature=float(temperature), top_k=top_k, seed=seed)
        tokens, left, window = list(prompt or EMPTY_PROMPT), max_new_tokens, 0
        async with self._one_at_a_time:
            # Training may have changed the weights since the last text.
            self.session.forget()
            while left > 0:
                context = self._context(tokens, window)
                # Each window is a stream of its own: no two share random numbers.
                stream = self.session.generate(context, sampling, left, stream=window)
                async with aclosing(stream):
                    async for drawn in stream:
                        new = [one.id for one in drawn]
                        tokens += new
                        left -= len(new)
                        yield bytes(new)
                window += 1

    def _context(self, tokens: list[int], window: int) -> list[int]:
        """What the next window begins with: all of a prompt that fits, else the last half."""
        size = self.session.window
        fits = window == 0 and len(tokens) < size
        return list(tokens if fits else tokens[-max(1, size // 2):])
