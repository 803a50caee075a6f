"""Sampling the next token: temperature, top-k and inversion of the cumulative distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.philox import philox_4x32, to_unit

Array = NDArray[np.float32]
Words = NDArray[np.uint32]


def sample(tokens: Words, state: Words, logits: Array,
           temperature: Array) -> tuple[Words, Words, Words]:
    """Oracle of `sample`: chooses a token and moves on by one position.

    While position + 1 lies inside the prompt, the prompt's own token is taken. At the end of
    `tokens` nothing moves any more.

    Args:
        tokens: (S,) uint32, the prompt and then what was chosen.
        state: (7,) uint32: position, prompt length, top_k (0 keeps all), seed low, seed high,
            counter low, counter high.
        logits: (V,) float32, of the token after `position`.
        temperature: (1,); 0 chooses the largest logit, the lowest index among equals.

    Returns:
        next (1,), tokens (S,), state (7,).

    Example:
        >>> tokens, state = np.zeros(4, np.uint32), np.array([1, 2, 0, 7, 0, 0, 0], np.uint32)
        >>> logits, greedy = np.array([0.0, 3.0, 1.0]), np.array([0.0])
        >>> next, tokens, state = sample(tokens, state, logits, greedy)
        >>> next.tolist(), tokens.tolist(), int(state[0])
        ([1], [0, 0, 1, 0], 2)
    """
    tokens, state = tokens.copy(), state.copy()
    place, prompt_length = int(state[0]) + 1, int(state[1])
    token = draw(logits, float(temperature[0]), int(state[2]), uniform_of(state))
    if place < min(prompt_length, len(tokens)):
        token = int(tokens[place])
    if place < len(tokens):
        tokens[place] = token
        state[0] = place
    return np.array([token], np.uint32), tokens, state


def draw(logits: Array, temperature: float, top_k: int, u: float) -> int:
    """The token at which the cumulative distribution of softmax(logits / temperature) passes u.

    Args:
        logits: (V,).
        temperature: 0 chooses the largest logit.
        top_k: only the k largest logits count, lower indices first among equals; 0 keeps all.
        u: uniform in [0, 1).

    Example:
        >>> logits = np.log(np.array([0.5, 0.25, 0.25]))
        >>> [draw(logits, 1.0, 0, u) for u in (0.0, 0.49, 0.51, 0.99)]
        [0, 0, 1, 2]
        >>> [draw(logits, 1.0, 2, u) for u in (0.6, 0.7, 0.99)]
        [0, 1, 1]
    """
    greedy = temperature <= 0.0
    k = 1 if greedy else top_k or len(logits)
    kept = np.argsort(-logits, kind="stable")[:k]                   # (k,), best first
    scaled = (logits[kept] - logits.max()) / (1.0 if greedy else temperature)
    weights = np.zeros(len(logits))                                 # (V,)
    weights[kept] = np.exp(scaled)
    cumulative = np.cumsum(weights)                                 # (V,)
    token = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    return min(token, int(np.flatnonzero(weights)[-1]))


def uniform_of(state: Words) -> float:
    """The number in [0, 1) for a position: word 0 of Philox block `position` of the stream."""
    counter = np.array([state[0], 0, state[5], state[6]], np.uint32)
    words = philox_4x32(counter, (int(state[3]), int(state[4])))
    return float(to_unit(words)[0])
