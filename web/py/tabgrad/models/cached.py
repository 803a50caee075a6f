"""What a decoder remembers of the positions it has read: keys and values, or states.

The caches are buffers that plans read and write; `pasts(span)` binds them to the numbers that say
which positions a plan works on. One set of caches serves the plans of prefill and of decode.
"""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad import ops
from tabgrad.autograd import no_grad
from tabgrad.gpu.device import Device
from tabgrad.models.decoder import Decoder
from tabgrad.nn import Attention, DeltaNet, Past
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


@dataclass(frozen=True)
class KeysAndValues:
    """The cache of one attention layer: (R, 2 Hk·D), a ring where the layer slides.

    Args:
        cache: key heads, then value heads of each position.
        window: positions that the layer sees; 0 for all.
    """

    cache: Tensor
    window: int

    @property
    def buffers(self) -> tuple[Tensor, ...]:
        """What is kept."""
        return (self.cache,)


@dataclass(frozen=True)
class State:
    """The memory of one DeltaNet layer, of a fixed size.

    Args:
        recent: (K - 1, 2 HK·DK + HV·DV), what the short convolution has last seen.
        state: (HV, DK, DV), one matrix a value head.
    """

    recent: Tensor
    state: Tensor

    @property
    def buffers(self) -> tuple[Tensor, ...]:
        """What is kept."""
        return self.recent, self.state


class Caches:
    """The memory of all layers for one text.

    Args:
        decoder: whose layers.
        window: S, the most positions that a text may have.
        chunk: the most rows that one plan reads; a sliding layer's ring is larger by them.
    """

    def __init__(self, decoder: Decoder, window: int, chunk: int) -> None:
        self.device: Device = decoder.device
        self.window = window
        self.layers: list[KeysAndValues | State] = []
        for layer in decoder.model.layers:
            if layer.linear_attn is not None:
                self.layers.append(self._state(layer.linear_attn))
            else:
                assert layer.self_attn is not None
                self.layers.append(self._keys_and_values(layer.self_attn, chunk))
        decoder.tables.reserve(window)

    @property
    def bytes(self) -> int:
        """Bytes of all buffers."""
        return sum(tensor.size * ITEM_BYTES for layer in self.layers for tensor in layer.buffers)

    @property
    def states(self) -> list[Tensor]:
        """The buffers that hold the whole past in one state: they cannot be wound back."""
        return [tensor for layer in self.layers if isinstance(layer, State)
                for tensor in layer.buffers]

    def pasts(self, span: Tensor) -> list[Past]:
        """What each layer looks back on, for a plan whose rows `span` places.

        Args:
            span: (2) uint32: the position of the first row, and how many rows count.
        """
        return [CachedAttention(layer, span) if isinstance(layer, KeysAndValues)
                else CachedState(layer, span) for layer in self.layers]

    def keeps(self, position: int, reach: int) -> bool:
        """Whether the keys and values that position `position` needs are still there.

        Args:
            position: where to go on.
            reach: the number of positions that were written since the last `clear`. A ring loses
                a position when the one that is R further on is written.
        """
        return all(position - layer.window + layer.cache.shape[0] >= reach
                   for layer in self.layers
                   if isinstance(layer, KeysAndValues) and layer.window
                   and layer.cache.shape[0] < reach)

    def clear(self) -> None:
        """Forgets everything. Keys and values need no clearing: no position before it is read."""
        for tensor in self.states:
            self.device.clear(tensor.region)

    def _keys_and_values(self, layer: Attention, chunk: int) -> KeysAndValues:
        rows = self.window if not layer.window else min(self.window, layer.window + chunk - 1)
        return KeysAndValues(self._room((rows, layer.cache_width), "keys and values"),
                             layer.window)

    def _state(self, layer: DeltaNet) -> State:
        (_, value_heads), dims = layer.heads, layer.dims
        return State(self._room((layer.kernel - 1, layer.channels), "recent positions"),
                     self._room((value_heads, *dims), "states"))

    def _room(self, shape: tuple[int, ...], label: str) -> Tensor:
        region = self.device.allocate(element_count(shape) * ITEM_BYTES, label).region
        return Tensor(shape, "float32", region)


class CachedAttention:
    """An `AttentionPast` of keys and values."""

    def __init__(self, memory: KeysAndValues, span: Tensor) -> None:
        self.span: Tensor | None = span
        self._span = span
        self._cache = memory.cache

    def attention(self, qkv: Tensor, query_heads: int, key_value_heads: int, *, scale: float,
                  window: int) -> Tensor:
        """Adds the rows to the cache, then each looks at those up to its own position."""
        mixed = ops.attention_cached(_rows(qkv), self._cache, self._span, query_heads,
                                     key_value_heads, scale=scale, window=window)   # (T, H·D)
        return mixed.reshape(1, *mixed.shape)                            # (1, T, H·D)


class CachedState:
    """A `StatePast` of one state."""

    def __init__(self, memory: State, span: Tensor) -> None:
        self.span: Tensor | None = span
        self._span = span
        self._memory = memory

    def convolution(self, x: Tensor, weight: Tensor) -> Tensor:
        """The last positions before the first row come from the memory."""
        out = ops.short_convolution_cached(_rows(x), weight, self._memory.recent, self._span)
        return out.reshape(1, *out.shape)                                # (1, T, C)

    def delta_rule(self, qkv: Tensor, decay: Tensor, beta: Tensor, heads: tuple[int, int],
                   dims: tuple[int, int]) -> Tensor:
        """The state goes on from the memory, and is left there."""
        out = ops.delta_rule_cached(_rows(qkv), _rows(decay), _rows(beta), *heads, *dims,
                                    self._memory.state, self._span)      # (T, HV·DV)
        return out.reshape(1, *out.shape)                                # (1, T, HV·DV)


def _rows(x: Tensor) -> Tensor:
    """(1, T, ...) -> (T, ...)."""
    return x.reshape(*x.shape[1:])


def read(decoder: Decoder, ids: Tensor, span: Tensor, caches: Caches) -> Tensor:
    """Reads ids into the caches.

    Args:
        decoder: whose weights.
        ids: (T) uint32; rows from span[1] on are padding.
        span: (2) uint32: the position of the first id, and how many count.
        caches: filled for all positions before it.

    Returns:
        (1, T, C), what the head reads.
    """
    with no_grad():
        return decoder.hidden_states(ids.reshape(1, -1), caches.pasts(span))
