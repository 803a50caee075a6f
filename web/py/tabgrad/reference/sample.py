"""Drawing the next token: penalties, top-k, top-p, min-p, and inversion of the cumulative mass.

The three kernels of a draw, one oracle each; `ops/sample.py` lists the settings that they
read. Masses are whole numbers (`reference/mass.py`), so every sum here is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.mass import (
    OCTAVES_PER_NAT,
    Floats,
    Masses,
    Words,
    distance_below,
    mass_at,
    order_key,
    share,
)
from tabgrad.reference.philox import philox_4x32

GREEDY, PENALTIES, BANNED, TOP_K, TOP_P = 1, 2, 4, 8, 16
BINS = 1024
LAST_BIN = BINS - 1  # everything deeper than 1023 / 64 octaves
BIN_SHIFT = np.uint32(20)
MOST_COUNTED = 4095
MASKED = np.float32(-1e30)
MOST_ALTERNATIVES = 20
TOKEN, POSITION, RECORD = 0, 64, 128
Threshold = tuple[int, int]


def sample_adjust(logits: Floats, counts: Words, banned: Words, numbers: Floats, words: Words,
                  BLOCK: int) -> tuple[Floats, Floats, Words]:
    """Oracle of `sample_adjust`: penalties, then banned tokens; and each block's peaks.

    For a token that was seen, in the prompt or since:
    y = (x * penalty if x < 0 else x / penalty) - drawn * frequency - (presence if drawn).

    Args:
        logits: (V,).
        counts: (V,); bit 0: in the prompt; above it: how often drawn.
        banned: (ceil(V / 32),) a bit for each token, lowest first.
        numbers: (6,) and words: (9,), the settings.
        BLOCK: logits of a block.

    Returns:
        adjusted (V,), peaks (blocks, 2) of logits and adjusted, sums: zeros.

    Example:
        >>> numbers = np.array([1, 2, 0.5, 0.25, 0, 0.5], np.float32)
        >>> words = np.array([PENALTIES, 0, 0, 0, 0, 0, 0, 0, 0], np.uint32)
        >>> logits, counts = np.array([4, -4, 1], np.float32), np.array([1, 4, 0], np.uint32)
        >>> sample_adjust(logits, counts, np.zeros(1, np.uint32), numbers, words, 2048)[0].tolist()
        [2.0, -9.0, 1.0]
    """
    V = len(logits)
    adjusted = logits.copy()
    if int(words[0]) & PENALTIES:
        _, penalty, inverse, coarse, fine, presence = numbers
        drawn = np.minimum(counts >> np.uint32(1), MOST_COUNTED).astype(np.float32)
        y = np.where(logits < 0, logits * penalty, logits * inverse)
        y = (y - drawn * coarse) - drawn * fine
        y = y - np.where(drawn > 0, presence, np.float32(0))
        adjusted = np.where(counts != 0, y, logits)
    if int(words[0]) & BANNED:
        bits = np.unpackbits(np.ascontiguousarray(banned).view(np.uint8), bitorder="little")
        adjusted = np.where(bits[:V] == 1, MASKED, adjusted)
    starts = np.arange(0, V, BLOCK)
    peaks = np.stack([np.maximum.reduceat(logits, starts),
                      np.maximum.reduceat(adjusted, starts)], axis=1)
    return adjusted, peaks, np.zeros(4 * len(starts) + 3 * BINS, np.uint32)


def sample_sums(sums: Words, logits: Floats, adjusted: Floats, peaks: Floats, numbers: Floats,
                words: Words, BLOCK: int) -> Words:
    """Oracle of `sample_sums`: adds each block's masses, and the histogram near the peak.

    Args:
        sums: (4 blocks + 3 * 1024,), what to add to: for each block the mass of the logits and of
            the adjusted ones as two words each, then count and mass of each bin.
        logits: (V,);  adjusted: (V,);  peaks: (blocks, 2).
        numbers: (6,) and words: (9,), the settings.
        BLOCK: logits of a block.

    Returns:
        sums.
    """
    flags, starts = int(words[0]), np.arange(0, len(logits), BLOCK)
    given_peak, peak = peaks.max(axis=0)
    given = mass_at(distance_below(given_peak, logits, OCTAVES_PER_NAT))         # (V,)
    added = np.zeros((len(starts), 2), np.uint64)
    added[:, 0] = np.add.reduceat(given, starts)
    histogram = np.zeros((BINS, 2), np.uint64)                                   # count, mass
    if not flags & GREEDY:
        distance = distance_below(peak, adjusted, numbers[0])                    # (V,)
        mass, selects = mass_at(distance), bool(flags & (TOP_K | TOP_P))
        kept = mass if selects else np.where(distance <= words[3], mass, np.uint64(0))
        added[:, 1] = np.add.reduceat(kept, starts)
        if selects:
            bins = _bins(distance)
            near = bins < LAST_BIN
            np.add.at(histogram[:, 0], bins[near], np.uint64(1))
            np.add.at(histogram[:, 1], bins[near], mass[near])
    split = 4 * len(starts)
    blocks = _joined(sums[:split].reshape(-1, 2)) + added.reshape(-1)
    old = sums[split:].reshape(BINS, 3)
    counts = old[:, :1] + histogram[:, :1].astype(np.uint32)
    return np.concatenate([_words(blocks).reshape(-1), np.concatenate(
        [counts, _words(_joined(old[:, 1:]) + histogram[:, 1])], axis=1).reshape(-1)])


def sample_draw(state: Words, counts: Words, sums: Words, peaks: Floats, logits: Floats,
                adjusted: Floats, numbers: Floats, words: Words,
                BLOCK: int) -> tuple[Words, Words]:
    """Oracle of `sample_draw`: draws a token and moves on by one position.

    Args:
        state: (176,): the token, at 64 the position, from 128 on the record.
        counts: (V,), as in `sample_adjust`.
        sums: as `sample_sums` leaves them;  peaks: (blocks, 2).
        logits: (V,);  adjusted: (V,).
        numbers: (6,) and words: (9,), the settings.
        BLOCK: logits of a block.

    Returns:
        state, counts.
    """
    state, counts, flags = state.copy(), counts.copy(), int(words[0])
    blocks, V = len(peaks), len(logits)
    if flags & GREEDY:
        start = int(np.argmax(peaks[:, 1])) * BLOCK
        token = start + int(np.argmax(order_key(adjusted[start:start + BLOCK])))
    else:
        masses = kept_masses(sums, peaks[:, 1], adjusted, numbers[0], words, BLOCK)
        token = invert(*masses, _random_word(state, words), BLOCK)
    given = _joined(sums[:4 * blocks].reshape(-1, 2))[::2]
    n = min(int(words[8]), MOST_ALTERNATIVES, V)
    state[RECORD:RECORD + 8] = [
        token, logits[token].view(np.uint32), peaks[:, 0].max().view(np.uint32),
        *_words(given.sum(keepdims=True))[0], n, state[POSITION], 0]
    listed = _alternatives(logits, peaks[:, 0], n, BLOCK)
    state[RECORD + 8:RECORD + 8 + 2 * n:2] = listed
    state[RECORD + 9:RECORD + 9 + 2 * n:2] = logits[listed].view(np.uint32)
    state[TOKEN] = token
    state[POSITION] += np.uint32(1)
    if flags & PENALTIES:
        counts[token] += np.uint32(2)
    return state, counts


def threshold_of(amounts: Masses, keys: Words, target: int) -> Threshold:
    """Key and id of the element at which the sum from the largest key down reaches the target.

    Lower ids come first among equal keys. (0, 0), below everything, if the sum never reaches it.

    Args:
        amounts: (V,) what is added up: ones, or masses.
        keys: (V,) of the elements, zero for those that do not count.
        target: at least 1.

    Example:
        >>> keys = np.array([5, 9, 5, 7], np.uint32)
        >>> threshold_of(np.ones(4, np.uint64), keys, 3)
        (5, 0)
    """
    order = np.lexsort((np.arange(len(keys)), -keys.astype(np.int64)))           # (V,)
    order = order[keys[order] > 0]
    reached = np.cumsum(amounts[order]) >= np.uint64(target)
    if not reached.any():
        return 0, 0
    last = order[int(np.argmax(reached))]
    return int(keys[last]), int(last)


def kept_masses(sums: Words, block_peaks: Floats, adjusted: Floats, octaves: np.float32,
                words: Words, BLOCK: int) -> tuple[Masses, Masses]:
    """What top-k, then top-p, then min-p leave: the mass of each token, zero where not kept.

    Args:
        sums: as `sample_sums` leaves them;  block_peaks: (blocks,) of the adjusted logits.
        adjusted: (V,).
        octaves: of one unit of logit.
        words: (9,), the settings.
        BLOCK: logits of a block.

    Returns:
        masses (V,), and their sums in each block (blocks,).
    """
    flags, blocks = int(words[0]), len(block_peaks)
    distance = distance_below(block_peaks.max(), adjusted, octaves)              # (V,)
    mass, keys = mass_at(distance), order_key(adjusted)                          # (V,)
    bins = _bins(distance)                                                       # (V,)
    nearest = _bins(distance_below(block_peaks.max(), block_peaks, octaves))     # (blocks,)
    nearest = np.repeat(nearest, BLOCK)[:len(keys)]                              # (V,)
    histogram = sums[4 * blocks:].reshape(BINS, 3)
    bin_mass = _joined(histogram[:, 1:])
    block_mass = _joined(sums[:4 * blocks].reshape(-1, 2))[1::2]                 # (blocks,)
    total, kept, edge = int(block_mass.sum()), np.ones(len(keys), bool), LAST_BIN
    if flags & TOP_K:
        edge, before = _bin_at(histogram[:, 0].astype(np.uint64), min(int(words[1]), len(keys)))
        inside = (bins == edge) & (nearest <= edge)
        least, _ = threshold_of(inside.astype(np.uint64), np.where(inside, keys, 0),
                                min(int(words[1]), len(keys)) - before)
        kept = (bins <= edge) & (keys >= least)
        total = int(mass[kept & (nearest <= edge)].sum())
    if flags & TOP_P:
        target = max(share(total, int(words[2])), 1)
        edge, before = _bin_at(bin_mass, target)
        inside = (bins == edge) & (nearest <= edge)
        least, last = threshold_of(mass, np.where(inside, keys, 0), target - before)
        lower = np.arange(len(keys)) <= last
        kept = (bins <= edge) & ((keys > least) | ((keys == least) & lower))
    kept_mass = np.where(kept & (distance <= words[3]), mass, np.uint64(0))      # (V,)
    if flags & (TOP_K | TOP_P):
        reached = np.where(nearest <= edge, kept_mass, np.uint64(0))             # (V,)
        block_mass = np.add.reduceat(reached, np.arange(0, len(keys), BLOCK))    # (blocks,)
    return kept_mass, block_mass


def _bins(distance: Words) -> Words:
    """The bin of the histogram: 64 in an octave, the last for all that lies deeper."""
    bins: Words = np.minimum(distance >> BIN_SHIFT, np.uint32(LAST_BIN))
    return bins


def _bin_at(amounts: Masses, target: int) -> tuple[int, int]:
    """The bin in which the sum reaches the target, and the sum before it."""
    cumulative = np.cumsum(amounts[:LAST_BIN])
    edge = int(np.searchsorted(cumulative, np.uint64(target)))
    return edge, int(cumulative[edge - 1]) if edge else 0


def invert(kept_mass: Masses, block_mass: Masses, word: int, BLOCK: int) -> int:
    """The first id at which the cumulative mass passes word / 2^32 of the whole.

    Example:
        >>> masses = np.array([2, 0, 1, 1], np.uint64)
        >>> quarters = [0, 2**30, 2**31, 3 * 2**30]
        >>> [invert(masses, masses.sum(keepdims=True), word, 4) for word in quarters]
        [0, 0, 2, 3]
    """
    cumulative = np.cumsum(block_mass)
    goal = share(int(cumulative[-1]), word)
    block = min(int(np.searchsorted(cumulative, np.uint64(goal), side="right")),
                len(block_mass) - 1)
    goal -= int(cumulative[block - 1]) if block else 0
    inside = np.cumsum(kept_mass[block * BLOCK:(block + 1) * BLOCK])
    found = int(np.searchsorted(inside, np.uint64(goal), side="right"))
    return block * BLOCK + found if found < len(inside) else len(kept_mass) - 1


def _random_word(state: Words, words: Words) -> int:
    """Word 0 of Philox block `position` of the stream: 32 random bits."""
    counter = np.array([state[POSITION], 0, words[6], words[7]], np.uint32)
    return int(philox_4x32(counter, (int(words[4]), int(words[5])))[0])


def _alternatives(logits: Floats, peaks: Floats, n: int, BLOCK: int) -> NDArray[np.intp]:
    """Ids of the n largest logits, lower ids first among equals.

    Blocks are looked into in the order of their peaks, as the kernel does.
    """
    tops = order_key(peaks)
    keys, listed = order_key(logits).astype(np.int64), []
    for _ in range(n):
        block = int(np.argmax(tops))
        inside = keys[block * BLOCK:(block + 1) * BLOCK]
        best = int(np.argmax(inside))
        listed.append(block * BLOCK + best)
        inside[best] = 0
        tops[block] = inside.max()
    return np.array(listed, np.intp)


def _joined(pairs: Words) -> Masses:
    """(..., 2) words, low first, as 64 bits."""
    return pairs[..., 0].astype(np.uint64) | pairs[..., 1].astype(np.uint64) << np.uint64(32)


def _words(masses: Masses) -> Words:
    return np.stack([masses, masses >> np.uint64(32)], axis=-1).astype(np.uint32)
