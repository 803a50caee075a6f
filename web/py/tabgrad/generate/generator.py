"""Generator: bytes that follow a prompt, a few at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator

from tabgrad import platform
from tabgrad.errors import SettingsError
from tabgrad.generate.decode import DecodeStep, Sampling
from tabgrad.gpu.device import Device
from tabgrad.models.decoder import Decoder

BATCH_MS = 60.0
BATCH_TOKENS = 32
EMPTY_PROMPT = b"\n"


class Generator:
    """Writes with one decoder.

    When the window of `max_position_embeddings` bytes is full, its last half is read again as the
    prompt of a fresh window, and writing goes on: the model then remembers between half a window
    and a whole one.

    Args:
        device: of the decoder.
        decoder: trained or in training; its weights are only read.
    """

    def __init__(self, device: Device, decoder: Decoder) -> None:
        self.device = device
        self._step = DecodeStep(decoder)
        self._vocabulary = decoder.recipe.vocab_size
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
        self._check(max_new_tokens, temperature, top_k, seed)
        sampling = Sampling(float(temperature), top_k, seed)
        tokens, left, window = list(prompt or EMPTY_PROMPT), max_new_tokens, 0
        async with self._one_at_a_time:
            await self._step.compile()
            while left > 0:
                async for new in self._write_window(tokens, left, sampling, window):
                    tokens += new
                    left -= len(new)
                    yield bytes(new)
                window += 1

    async def _write_window(self, context: list[int], left: int, sampling: Sampling,
                            window: int) -> AsyncGenerator[list[int], None]:
        """New tokens until the window is full or nothing is left to write."""
        size = self._step.window
        fits = window == 0 and len(context) <= size
        prompt = list(context if fits else context[-max(1, size // 2):])
        self._step.begin(prompt, sampling, window)
        # Replay r reads position r; from the prompt's last position on each leaves a new token.
        silent = len(prompt) - 1
        replays = min(size, silent + left)
        done = 0
        while done < replays:
            count = min(self._batch(), replays - done)
            tokens = await self._step.run(count)
            new = tokens[max(0, silent - done):]
            done += count
            if new:
                yield new
            # Natively nothing above has let the event loop run.
            await platform.current().pause()

    def _batch(self) -> int:
        """Replays in one submission: about 60 ms, so that text flows and other work is let in."""
        step_ms = self.device.step_ms([self._step.plan])
        if not step_ms:
            return 1
        return max(1, min(BATCH_TOKENS, int(BATCH_MS / step_ms)))

    def _check(self, max_new_tokens: int, temperature: float, top_k: int, seed: int) -> None:
        if self._vocabulary != 256:
            raise SettingsError("Only models that read bytes can be generated from.",
                                expected="a vocabulary of 256", received=str(self._vocabulary))
        limits: dict[str, tuple[float, float, float]] = {
            "max_new_tokens": (max_new_tokens, 1, 1_000_000),
            "temperature": (temperature, 0, 100), "top_k": (top_k, 0, self._vocabulary),
            "seed": (seed, 0, 2**64 - 1)}
        for name, (value, low, high) in limits.items():
            if not math.isfinite(value) or not low <= value <= high:
                raise SettingsError(f"{name} is out of range.", control=name,
                                    expected=f"{low} to {high}", received=repr(value))
