"""Drawing the next token on the GPU, so that a decode plan runs without the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32
from tabgrad.reference.sample import BINS, MOST_ALTERNATIVES, POSITION, RECORD
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

BLOCK = 4096
THREADS = 256
THREADS_OF_A_CPU = 16
"""Threads of `sample_draw`, whose header has the measurements."""
LARGEST_VOCABULARY = 128 * BLOCK
RECORD_WORDS = 8 + 2 * MOST_ALTERNATIVES
STATE_WORDS = RECORD + RECORD_WORDS
NUMBERS = ("octaves", "repetition", "inverse_repetition", "frequency", "frequency_rest", "presence")
"""float32 settings: octaves of a unit of logit, 1 / (temperature ln 2); the repetition penalty and
its inverse; the frequency penalty in two parts of 12 bits, so that its products are exact."""
WORDS = ("flags", "top_k", "top_p", "reach", "seed_low", "seed_high", "stream_low", "stream_high",
         "alternatives")
"""uint32 settings: flags of `reference.sample`; top_p in 2^-32; how far min_p reaches below
the peak in 2^-26 octaves; the key and the stream of Philox; how many alternatives to list."""


def sample_spec(logits: Shape) -> Spec:
    """Logits (..., V) of one position -> (1), the id of a token.

    Example:
        >>> sample_spec((1, 256)).shape
        (1,)

    Raises:
        ShapeError: more than one row of logits, or too large a vocabulary.
    """
    if not logits or element_count(logits[:-1]) != 1:
        raise ShapeError("sample: one position at a time.", expected="(1, V)",
                         received=str(logits))
    if logits[-1] > LARGEST_VOCABULARY:
        raise ShapeError("sample: the vocabulary is too large.",
                         expected=f"at most {LARGEST_VOCABULARY}", received=str(logits[-1]))
    # Two masses of about seventy whole-number operations each.
    return Spec((1,), "uint32", 150 * logits[-1], 6 * ITEM_BYTES * logits[-1])


@dataclass(frozen=True)
class SampleBuffers:
    """What a draw reads and moves on; all of it is data, so that one plan serves every setting.

    Args:
        state: (176) uint32: the token at 0, the position at 64, the record from 128 on.
        counts: (V) uint32; bit 0: the token is in the prompt; above it: how often it was drawn.
        banned: (ceil(V / 32)) uint32, a bit for each token, lowest first.
        numbers: (6) float32, as `NUMBERS` lists them.
        words: (9) uint32, as `WORDS` lists them.
    """

    state: Region
    counts: Region
    banned: Region
    numbers: Region
    words: Region

    @classmethod
    def allocate(cls, device: Device, vocab_size: int) -> SampleBuffers:
        """Zeroed buffers for a vocabulary."""
        def room(words: int, label: str) -> Region:
            return device.allocate(words * ITEM_BYTES, label).region
        settings = room(POSITION + len(WORDS), "sampling settings")
        return cls(room(STATE_WORDS, "sampling state"), room(vocab_size, "token counts"),
                   room(-(-vocab_size // 32), "banned tokens"),
                   settings.part(0, len(NUMBERS) * ITEM_BYTES),
                   settings.part(POSITION * ITEM_BYTES, len(WORDS) * ITEM_BYTES))


def sample(logits: Tensor, buffers: SampleBuffers) -> None:
    """Draws the token that follows a position, writes it and its record, and moves on by one.

    In the order of Transformers: penalties over the tokens so far, banned tokens, temperature,
    top-k (with all that equal the k-th), top-p (the fewest tokens, likeliest and then lowest id
    first, whose share reaches p), min-p; then the cumulative mass, in the order of ids, is inverted
    at a Philox number that depends on seed, stream and position alone. Sums are of whole numbers
    (`reference/mass.py`), so every adapter draws the same token from the same logits.

    Args:
        logits: (..., V) float32 of one position.
        buffers: settings and state.

    Raises:
        ShapeError: more than one row, another dtype, or too large a vocabulary.
    """
    spec = sample_spec(logits.shape)
    require_float32("sample", logits)
    device, V = current_device(), logits.shape[-1]
    blocks = -(-V // BLOCK)
    adjusted = Tensor.empty((V,), label="adjusted logits")
    peaks = Tensor.empty((blocks, 2), label="peaks")
    sums = Tensor.empty((4 * blocks + 3 * BINS,), "uint32", label="masses")
    device.launch("sample_adjust", {"V": V}, adjusted=adjusted.region, peaks=peaks.region,
                  sums=sums.region, logits=logits.region, counts=buffers.counts,
                  banned=buffers.banned, numbers=buffers.numbers, words=buffers.words)
    device.launch("sample_sums", {"V": V}, flops=spec.flops, sums=sums.region,
                  logits=logits.region, adjusted=adjusted.region, peaks=peaks.region,
                  numbers=buffers.numbers, words=buffers.words)
    threads = THREADS_OF_A_CPU if runs_on_cpu(device.info) else THREADS
    device.launch("sample_draw", {"V": V}, {"THREADS": threads}, state=buffers.state,
                  counts=buffers.counts, sums=sums.region, peaks=peaks.region,
                  logits=logits.region, adjusted=adjusted.region, numbers=buffers.numbers,
                  words=buffers.words)


def sample_settings(numbers: Mapping[str, float],
                    words: Mapping[str, int]) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """The two arrays of settings in their order.

    Example:
        >>> sample_settings(dict.fromkeys(NUMBERS, 0.5), dict.fromkeys(WORDS, 3))[1].tolist()
        [3, 3, 3, 3, 3, 3, 3, 3, 3]
    """
    return (np.array([numbers[name] for name in NUMBERS], np.float32),
            np.array([words[name] for name in WORDS], np.uint32))
