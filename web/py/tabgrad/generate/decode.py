"""One decode step: the next token from the token before it and a cache of keys and values.

The step is recorded once and replayed for every token. What changes lies on the GPU and is moved on
by the step itself: the token, the position, the random counter. While the prompt lasts, the step
takes the prompt's tokens instead of the ones it draws, so that reading and writing are one plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tabgrad import ops
from tabgrad.gpu.device import Device, use_device
from tabgrad.gpu.plan import Plan
from tabgrad.models.cached import Caches, read
from tabgrad.models.decoder import Decoder
from tabgrad.ops.sample import STATE_WORDS, sample_state
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: divides the logits; 0 always takes the largest.
        top_k: only the k largest logits can be drawn; 0 keeps all.
        seed: with the window and the position it makes every random number.
    """

    temperature: float
    top_k: int
    seed: int


class DecodeStep:
    """The plan, and the buffers that it lives on.

    Args:
        decoder: whose weights it reads; training may change them between steps.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.device: Device = decoder.arena.device
        self.decoder = decoder
        self.window = decoder.recipe.max_position_embeddings
        self._token = self._room((1,), "uint32", "next token")
        self._tokens = self._room((self.window,), "uint32", "tokens")
        self._state = self._room((STATE_WORDS,), "uint32", "decode state")
        self._temperature = self._room((1,), "float32", "temperature")
        self._caches = Caches(decoder, self.window, 1)
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The compiled plan."""
        assert self._plan is not None, "compile first"
        return self._plan

    async def compile(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Records the step and makes its plan; a second call does nothing."""
        if self._plan is not None:
            return
        use_device(self.device)
        # The state's first word is the position.
        position = Tensor((1,), "uint32", self._state.region.part(0, ITEM_BYTES))
        with self.device.recording() as tape:
            hidden = read(self.decoder, self._token, position, self._caches)     # (1, 1, C)
            logits = self.decoder.head(hidden)                                   # (1, 1, V)
            ops.sample(logits, self._temperature, self._token, self._tokens, self._state)
        self._plan = await tape.compile(label="decode step", progress=progress)

    def begin(self, tokens: list[int], sampling: Sampling, window: int) -> None:
        """Puts a prompt of 1 to S tokens in place; the next replay reads its first token.

        Args:
            tokens: the prompt.
            sampling: how to draw what follows it.
            window: number of this window, so that no two windows share random numbers.
        """
        padded = np.zeros(self.window, np.uint32)
        padded[:len(tokens)] = tokens
        state = sample_state(len(tokens), top_k=sampling.top_k, seed=sampling.seed,
                             counter=window)
        heat = np.float32(sampling.temperature)
        for target, data in ((self._tokens, padded), (self._state, state),
                             (self._temperature, heat), (self._token, padded[:1])):
            self.device.write(target.region, data.tobytes())

    async def run(self, count: int) -> list[int]:
        """Replays the step `count` times; the token that each of them left."""
        data = await self.device.replay([self.plan], steps=count, readback=self._token.region)
        return [int(token) for token in np.frombuffer(data, np.uint32)]

    def _room(self, shape: tuple[int, ...], dtype: str, label: str) -> Tensor:
        size = element_count(shape) * ITEM_BYTES
        return Tensor(shape, dtype, self.device.allocate(size, label).region)
