"""Sampling the next token on the GPU, so that a decode plan runs without the CPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec, require_float32
from tabgrad.reference.philox import check_range
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

STATE_WORDS = 7


def sample_state(prompt_length: int, *, top_k: int = 0, seed: int = 0, counter: int = 0,
                 position: int = 0) -> NDArray[np.uint32]:
    """The words that `sample` reads and moves on.

    Args:
        prompt_length: tokens that are given, at least 1.
        top_k: only the k largest logits count; 0 keeps all.
        seed: of Philox, below 2**64.
        counter: number of the random stream, below 2**64.
        position: of the token that is read next.

    Returns:
        (7,) uint32: position, prompt length, top_k, seed low, seed high, counter low, counter high.

    Raises:
        SettingsError: a number out of its range.

    Example:
        >>> sample_state(3, top_k=40, seed=2**32 + 5).tolist()
        [0, 3, 40, 5, 1, 0, 0]
    """
    for name, value in (("position", position), ("prompt_length", prompt_length),
                        ("top_k", top_k)):
        check_range(name, value, 2**32)
    check_range("seed", seed, 2**64)
    check_range("counter", counter, 2**64)
    return np.array([position, prompt_length, top_k, seed % 2**32, seed >> 32, counter % 2**32,
                     counter >> 32], np.uint32)


def sample_spec(logits: Shape, tokens: Shape, state: Shape) -> Spec:
    """Logits (..., V) of one position, tokens (S), state (7) -> (1).

    Example:
        >>> sample_spec((1, 256), (128,), (7,)).shape
        (1,)

    Raises:
        ShapeError: more than one row of logits, or another state.
    """
    if not logits or element_count(logits[:-1]) != 1:
        raise ShapeError("sample: one position at a time.", expected="(1, V)",
                         received=str(logits))
    if len(tokens) != 1 or state != (STATE_WORDS,):
        raise ShapeError("sample: tokens are a list, the state has seven words.",
                         expected=f"(S) and ({STATE_WORDS},)", received=f"{tokens} and {state}")
    return Spec((1,), "uint32", 5 * logits[-1], ITEM_BYTES * logits[-1])


def sample(logits: Tensor, temperature: Tensor, next_token: Tensor, tokens: Tensor,
           state: Tensor) -> None:
    """Chooses the token after `position`, writes it, and moves the position on by one.

    The distribution is softmax(logits / temperature) over the top_k largest logits (all if 0;
    lower ids first among equals), inverted at a Philox number that depends on seed, counter and
    position alone. At temperature 0 the largest logit wins. While position + 1 lies inside the
    prompt, the prompt's own token is taken, so that replaying one plan feeds the prompt, too. At
    the end of `tokens` nothing moves any more.

    Args:
        logits: (..., V) float32 of one position.
        temperature: (1) float32, at least 0.
        next_token: (1) uint32; receives the token: the ids of the next step.
        tokens: (S) uint32; begins with the prompt; the token is written at position + 1.
        state: (7) uint32 from `sample_state`; its position moves on.

    Raises:
        ShapeError: shapes or dtypes that do not fit.
    """
    spec = sample_spec(logits.shape, tokens.shape, state.shape)
    require_float32("sample", logits, temperature)
    for ids in (next_token, tokens, state):
        require_ids("sample", ids)
    if temperature.size != 1 or next_token.size != 1:
        raise ShapeError("sample: one temperature, one next token.", expected="(1) and (1)",
                         received=f"{temperature.shape} and {next_token.shape}")
    current_device().launch("sample", {"S": tokens.shape[0], "V": logits.shape[-1]},
                            flops=spec.flops, next=next_token.region, tokens=tokens.region,
                            state=state.region, logits=logits.region,
                            temperature=temperature.region)
