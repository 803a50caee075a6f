"""The work that every library is given: first weights and one batch, from fixed seeds.

The numbers are those of the comparison's `params.bin` and `batch.bin`; its matrices are (in, out)
with q, k and v side by side, ours (out, in) and apart, under our names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

V, C, LAYERS, F, POSITIONS = 256, 128, 4, 512, 128
SHAPES = {"small": (4, 64, 20), "spec": (16, 128, 5)}  # B, T, timed steps
WARMUP = 3
LEARNING_RATE, BETAS, EPSILON, DECAY, CLIP = 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0

_LAYER = (("ln1.w", (C,)), ("ln1.b", (C,)), ("qkv.w", (C, 3 * C)), ("qkv.b", (3 * C,)),
          ("proj.w", (C, C)), ("proj.b", (C,)), ("ln2.w", (C,)), ("ln2.b", (C,)),
          ("fc.w", (C, F)), ("fc.b", (F,)), ("out.w", (F, C)), ("out.b", (C,)))
_MODULES = {"ln1": "input_layernorm", "ln2": "post_attention_layernorm", "proj": "self_attn.o_proj",
            "fc": "mlp.up_proj", "out": "mlp.down_proj"}
_NAMES = {f"{theirs}.{kind[0]}": f"{ours}.{kind}" for theirs, ours in _MODULES.items()
          for kind in ("weight", "bias")}


def weights() -> dict[str, Array]:
    """Every parameter under tabgrad's name and in its layout, float32."""
    draw = random.Random(1)
    state: dict[str, Array] = {}
    for name, shape in _parameters():
        value = _initial(name, shape, draw)
        if name == "wte":
            state["model.embed_tokens.weight"] = value                      # (V, C)
        elif name == "wpe":
            state["model.embed_positions.weight"] = value                      # (positions, C)
        elif name.startswith("lnf"):
            state[f"model.norm.{'weight' if name.endswith('w') else 'bias'}"] = value
        else:
            layer, _, part = name.partition(".")
            state.update(_ours(f"model.layers.{layer[1:]}.", part, value))
    return state


def batch(shape: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """ids and targets (B, T): printable bytes, few of them often; the same in every step."""
    B, T, _ = SHAPES[shape]
    draw = random.Random(1)
    for name, dims in _parameters():  # the batch continues the stream of random numbers
        _initial(name, dims, draw)
    letters = range(32, 127)
    often = [1 / (1 + i) for i in range(len(letters))]
    rows = np.array([draw.choices(letters, often, k=T + 1) for _ in range(B)], np.uint32)
    return rows[:, :-1].copy(), rows[:, 1:].copy()


def _parameters() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "wte", (V, C)
    yield "wpe", (POSITIONS, C)
    for layer in range(LAYERS):
        for name, shape in _LAYER:
            yield f"h{layer}.{name}", shape
    yield "lnf.w", (C,)
    yield "lnf.b", (C,)


def _initial(name: str, shape: tuple[int, ...], draw: random.Random) -> Array:
    if len(shape) == 1:
        return np.full(shape, 1.0 if name.endswith(".w") else 0.0, np.float32)
    count = shape[0] * shape[1]
    return np.array([draw.gauss(0, 0.02) for _ in range(count)], np.float32).reshape(shape)


def _ours(prefix: str, part: str, value: Array) -> dict[str, Array]:
    if part.startswith("qkv"):
        kind = "weight" if part.endswith("w") else "bias"
        thirds = np.split(value, 3, axis=-1)
        return {f"{prefix}self_attn.{name}_proj.{kind}": np.ascontiguousarray(third.T)
                for name, third in zip("qkv", thirds, strict=True)}
    return {prefix + _NAMES[part]: np.ascontiguousarray(value.T)}
