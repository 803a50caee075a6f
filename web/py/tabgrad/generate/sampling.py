"""How the next token is drawn, and the buffers on the GPU that draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.gpu.device import Device
from tabgrad.gpu.storage import Region
from tabgrad.ops.sample import (
    RECORD_WORDS,
    SampleBuffers,
    sample,
    sample_settings,
    sample_spec,
)
from tabgrad.reference.mass import OCTAVE, PEAK_MASS
from tabgrad.reference.sample import (
    BANNED,
    GREEDY,
    MOST_ALTERNATIVES,
    PENALTIES,
    POSITION,
    RECORD,
    TOP_K,
    TOP_P,
)
from tabgrad.tensor import ITEM_BYTES, Tensor

COLDEST = 1e-6
"""Lower temperatures differ from this one in nothing that float32 logits can show."""
LIMITS: dict[str, tuple[float, float]] = {
    "temperature": (0, 100), "top_k": (0, 2**32 - 1), "top_p": (0, 1), "min_p": (0, 1),
    "repetition_penalty": (0.01, 100), "frequency_penalty": (-2, 2), "presence_penalty": (-2, 2),
    "seed": (0, 2**64 - 1), "top_logprobs": (0, MOST_ALTERNATIVES)}


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn; names and order are those of Transformers' `generate`.

    Args:
        temperature: divides the logits; 0 always takes the largest.
        top_k: only the k largest logits can be drawn, with all that equal the k-th; 0 keeps all.
        top_p: only the fewest of the likeliest tokens whose probabilities sum up to top_p.
        min_p: only tokens at least min_p times as likely as the likeliest.
        repetition_penalty: of tokens in the prompt or drawn since, negative logits are multiplied
            by it, others divided.
        frequency_penalty: taken off a logit for each time that the token was drawn (OpenAI).
        presence_penalty: taken off the logit of every token that was drawn (OpenAI).
        seed: with the position it makes every random number.
        top_logprobs: how many of the likeliest tokens to list beside the drawn one.
        banned: ids that are never drawn.

    Raises:
        SettingsError: a number out of its range.

    Example:
        >>> Sampling(temperature=0.7, top_p=0.9, seed=1).top_k
        0
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    seed: int = 0
    top_logprobs: int = 0
    banned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name not in LIMITS:
                continue
            (low, high), value = LIMITS[field.name], getattr(self, field.name)
            whole = isinstance(field.default, int)
            if not low <= value <= high or (whole and value != int(value)):
                raise SettingsError(f"{field.name} is out of range.", control=field.name,
                                    expected=f"{'a whole number ' * whole}from {low} to {high}",
                                    received=repr(value))

    @property
    def has_penalties(self) -> bool:
        """Whether the tokens so far matter."""
        return (self.repetition_penalty, self.frequency_penalty, self.presence_penalty) != (1, 0, 0)


@dataclass(frozen=True)
class Drawn:
    """A token that was drawn.

    Attributes:
        id: of the token.
        logprob: its log-probability by the unmodified logits, in nats.
        alternatives: (id, logprob) of the likeliest tokens, the likeliest first.
    """

    id: int
    logprob: float
    alternatives: tuple[tuple[int, float], ...] = ()


class Sampler:
    """Draws tokens on the GPU; one plan that records it serves all settings and positions.

    Args:
        device: where to draw.
        vocab_size: V, at most 524,288.
        window: positions that the model can hold.

    Attributes:
        token: (1) uint32, the token drawn last: the next step's ids.
        span: (2) uint32: the position of that token, and 1.
        readback: what to read after each step, for `parse`.

    Raises:
        ShapeError: too large a vocabulary.
    """

    def __init__(self, device: Device, vocab_size: int, window: int) -> None:
        sample_spec((vocab_size,))
        self.device = device
        self.vocab_size = vocab_size
        self.window = window
        self._buffers = SampleBuffers.allocate(device, vocab_size)
        state = self._buffers.state
        self.token = Tensor((1,), "uint32", state.part(0, ITEM_BYTES))
        self.span = Tensor((2,), "uint32", state.part(POSITION * ITEM_BYTES, 2 * ITEM_BYTES))
        self.readback: Region = state.part(RECORD * ITEM_BYTES, RECORD_WORDS * ITEM_BYTES)
        self._banned: tuple[int, ...] = ()

    def record(self, logits: Tensor) -> None:
        """Appends a draw to what is recorded: token and record are written, the span moves on.

        Args:
            logits: (1, V) float32 of the token at the span's position.
        """
        sample(logits, self._buffers)

    def begin(self, tokens: Sequence[int], position: int, sampling: Sampling, *,
              stream: int = 0) -> None:
        """Makes everything ready for the first draw.

        Args:
            tokens: all tokens so far, at least one: `token` becomes the last of them.
            position: of the token whose logits the first draw takes.
            sampling: how to draw.
            stream: draws at the same position of different streams are independent.

        Raises:
            SettingsError: no token, a position beyond the window, an id beyond the vocabulary, or
                every token banned.
        """
        self._check(tokens, position, sampling)
        numbers, words = settings_of(sampling, stream)
        device, buffers = self.device, self._buffers
        device.write(buffers.numbers, numbers)
        device.write(buffers.words, words)
        device.write(self.token.region, np.array(tokens[-1:], np.uint32))
        device.write(self.span.region, np.array([position, 1], np.uint32))
        if sampling.has_penalties:
            counts = np.zeros(self.vocab_size, np.uint32)
            counts[np.asarray(tokens)] = 1
            device.write(buffers.counts, counts)
        if sampling.banned and sampling.banned != self._banned:
            device.write(buffers.banned, bit_mask(sampling.banned, self.vocab_size))
            self._banned = sampling.banned

    def parse(self, data: bytes) -> list[Drawn]:
        """What the steps of a replay left in `readback`, one after the other.

        Raises:
            CheckpointError: logits that are infinite or no numbers.
        """
        return [_drawn(record)
                for record in np.frombuffer(data, np.uint32).reshape(-1, RECORD_WORDS)]

    def _check(self, tokens: Sequence[int], position: int, sampling: Sampling) -> None:
        if not len(tokens) or not 0 <= position < self.window:
            raise SettingsError("There is no position to draw from.",
                                expected=f"a token, and a position from 0 to {self.window - 1}",
                                received=f"{len(tokens)} tokens, position {position}")
        for name, ids in (("The tokens", tokens), ("The banned tokens", sampling.banned)):
            if len(ids) and not 0 <= min(ids) <= max(ids) < self.vocab_size:
                raise SettingsError(f"{name} are not all in the vocabulary.",
                                    expected=f"ids from 0 to {self.vocab_size - 1}",
                                    received=f"{min(ids)} to {max(ids)}")
        if len(set(sampling.banned)) == self.vocab_size:
            raise SettingsError("Every token is banned.", expected="at least one that is not",
                                received=f"{self.vocab_size} banned tokens")


def settings_of(sampling: Sampling, stream: int = 0) -> tuple[NDArray[np.float32],
                                                              NDArray[np.uint32]]:
    """The settings as `sample` reads them: (6) float32 and (9) uint32.

    Example:
        >>> numbers, words = settings_of(Sampling(temperature=0.5, top_k=40, seed=2**32 + 5))
        >>> round(float(numbers[0] * np.log(2)), 4), words[1].item(), words[4:6].tolist()
        (2.0, 40, [5, 1])
    """
    coarse = _twelve_bits(sampling.frequency_penalty)
    numbers = {
        "octaves": 1.0 / (max(sampling.temperature, COLDEST) * math.log(2)),
        "repetition": sampling.repetition_penalty,
        "inverse_repetition": 1.0 / sampling.repetition_penalty,
        "frequency": coarse, "presence": sampling.presence_penalty,
        "frequency_rest": _twelve_bits(sampling.frequency_penalty - coarse)}
    flags = (GREEDY * (sampling.temperature == 0) + PENALTIES * sampling.has_penalties
             + BANNED * bool(sampling.banned) + TOP_K * (sampling.top_k > 0)
             + TOP_P * (sampling.top_p < 1))
    # Rounded down: where a sum equals top_p but for rounding, it has reached it.
    reach = OCTAVE * -math.log2(sampling.min_p) if sampling.min_p > 0 else 2.0**32 - 1
    words = {
        "flags": flags, "top_k": sampling.top_k,
        "top_p": min(int(sampling.top_p * 2**32), 2**32 - 1),
        "reach": min(int(reach), 2**32 - 1), "alternatives": sampling.top_logprobs,
        "seed_low": sampling.seed % 2**32, "seed_high": sampling.seed >> 32,
        "stream_low": stream % 2**32, "stream_high": stream >> 32}
    return sample_settings(numbers, words)


def bit_mask(ids: Sequence[int], vocab_size: int) -> NDArray[np.uint32]:
    """A bit for each token, lowest first: (ceil(V / 32)) uint32.

    Example:
        >>> bit_mask([0, 33, 34], 40).tolist()
        [1, 6]
    """
    bits = np.zeros(-(-vocab_size // 32) * 32, np.uint8)
    bits[list(ids)] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)


def _twelve_bits(value: float) -> float:
    """The nearest number with twelve significant bits: times a count below 2^12, it is exact."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**12), exponent - 12)


def _drawn(record: NDArray[np.uint32]) -> Drawn:
    given = record.view(np.float32)
    mass = int(record[3]) | int(record[4]) << 32
    # The sum of exp over all logits, as a multiple of the peak's.
    log_sum = float(given[2]) + math.log(mass / PEAK_MASS)
    if not math.isfinite(float(given[1]) - log_sum):
        raise CheckpointError("The model's logits are not numbers.", expected="finite logits",
                              received=f"{given[1]}", remedy="Its weights may be damaged, or too "
                              "large for float32: choose another checkpoint.")
    listed = range(8, 8 + 2 * int(record[5]), 2)
    return Drawn(int(record[0]), float(given[1]) - log_sum,
                 tuple((int(record[i]), float(given[i + 1]) - log_sum) for i in listed))
