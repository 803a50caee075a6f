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
from tabgrad.autograd import no_grad
from tabgrad.gpu.device import Device, use_device
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.storage import Region
from tabgrad.models.decoder import Block, Decoder, head
from tabgrad.nn.attention import project_qkv
from tabgrad.tensor import ITEM_BYTES, Tensor

_STATE_WORDS = 7  # as wgsl/sample.wgsl lists them
_WORD = 0xFFFFFFFF


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

    `next` is one uint32 that every replay leaves: the token that follows.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.device: Device = decoder.arena.device
        self.decoder = decoder
        self.window = decoder.recipe.max_position_embeddings
        recipe = decoder.recipe
        width = 2 * recipe.num_key_value_heads * recipe.head_dim
        self.next = self._room(1, "next token")
        self._tokens = self._room(self.window, "tokens")
        self._state = self._room(_STATE_WORDS, "decode state")
        self._temperature = self._room(1, "temperature")
        self._caches = [self._room(self.window * width, "keys and values")
                        for _ in range(recipe.num_hidden_layers)]
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
        with self.device.recording() as tape, no_grad():
            logits = self._logits()                                          # (1, V)
            self.device.launch(
                "sample", {"S": self.window, "V": logits.shape[-1]}, next=self.next,
                tokens=self._tokens, state=self._state, logits=logits.region,
                temperature=self._temperature)
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
        state = [0, len(tokens), sampling.top_k, sampling.seed & _WORD, sampling.seed >> 32,
                 window, 0]
        self.device.write(self._tokens, padded.tobytes())
        self.device.write(self._state, np.array(state, np.uint32).tobytes())
        self.device.write(self._temperature, np.float32(sampling.temperature).tobytes())
        self.device.write(self.next, np.uint32(tokens[0]).tobytes())

    async def run(self, count: int) -> list[int]:
        """Replays the step `count` times; the token that each of them left."""
        data = await self.device.replay([self.plan], steps=count, readback=self.next)
        return [int(token) for token in np.frombuffer(data, np.uint32)]

    def _logits(self) -> Tensor:
        weights = self.decoder.transformer
        token = Tensor((1,), "uint32", self.next)
        position = Tensor((1,), "uint32", self._state.part(0, ITEM_BYTES))
        x = ops.add(weights.wte(token), weights.wpe(position))               # (1, C)
        for layer, cache in zip(weights.h, self._caches, strict=True):
            x = self._block(layer, cache, position, x)                       # (1, C)
        return head(self.decoder, weights.ln_f(x))                           # (1, V)

    def _block(self, layer: Block, cache: Region, position: Tensor, x: Tensor) -> Tensor:
        recipe = self.decoder.recipe
        heads, keys = recipe.num_attention_heads, recipe.num_key_value_heads
        qkv = project_qkv(layer.attn, layer.ln_1(x))                         # (1, (H + 2 Hk)·D)
        mixed = Tensor.empty((1, heads * recipe.head_dim), label="mixed values")
        self.device.launch(
            "attention_decode", {"S": self.window, "HQ": heads, "HK": keys},
            {"D": recipe.head_dim}, out=mixed.region, cache=cache, qkv=qkv.region,
            position=position.region)
        x = layer.attn.o_proj(mixed, residual=x)                             # (1, C)
        return layer.mlp(layer.ln_2(x), residual=x)                          # (1, C)

    def _room(self, words: int, label: str) -> Region:
        return self.device.allocate(words * ITEM_BYTES, label).region
