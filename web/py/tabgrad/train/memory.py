"""How much memory a run will take, before it starts: its own recording, on a GPU that counts.

And what would fit: the same run with the fewest changes that bring it under a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np

from tabgrad.data.source import Batch
from tabgrad.errors import OutOfMemory
from tabgrad.gpu.counting_gpu import CountingDevice
from tabgrad.gpu.device import Device, use_device
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.step_settings import StepSettings

SHORTEST_CONTEXT = 32  # tokens: less is no text
Settings = TypeVar("Settings", bound=StepSettings)
Build = Callable[[Device], Coroutine[Any, Any, object]]


@dataclass(frozen=True)
class Memory:
    """Bytes on the GPU, by what they are for.

    Args:
        weights: of the model and of adapters, as they are stored.
        gradients: of what is trained.
        moments: what the optimiser remembers.
        activations: what the forward pass keeps for the backward, when that begins.
        scratch: other intermediate results, gradients on their way, tables and small things.
        batches: what the steps are fed.
        largest_buffer: the largest piece.
        refused: the first thing that the adapter's own limits forbid, such as a buffer that is too
            large, as the error that the run would end with; None if they forbid nothing.
    """

    weights: int
    gradients: int
    moments: int
    activations: int
    scratch: int
    batches: int
    largest_buffer: int
    refused: OutOfMemory | None = None

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self.parts().values())

    def fits(self, limit_bytes: int | None) -> bool:
        """Whether the adapter's limits allow it, and these bytes (None: any number) are enough."""
        return self.refused is None and (limit_bytes is None or self.total <= limit_bytes)

    def parts(self) -> dict[str, int]:
        """The bytes by name; they add up to the total.

        Example:
            >>> Memory(4, 4, 8, 3, 2, 1, 8).total
            22
        """
        return {"weights": self.weights, "gradients": self.gradients, "moments": self.moments,
                "activations": self.activations, "scratch": self.scratch,
                "batches": self.batches}


def estimate(build: Build, info: AdapterInfo) -> Memory:
    """What `build` allocates on an adapter, to the byte, but for the pool's spare buffers.

    Nothing is drawn, loaded, compiled or computed; the recording is the real one, so that it
    cannot drift from what is estimated.

    Args:
        build: makes everything of a run on the device that it is given, and returns what holds
            it: `async def build(device): step = TrainStep(...); await step.compile(); return step`.
            It must not read from the device, and not wait for anything else.
        info: of the adapter: `device.info`.

    Raises:
        ShapeError: rows of weights that are longer than the adapter can bind.
    """
    device = CountingDevice(info)
    before = use_device(device)
    try:
        held = _finish(build(device))
        memory = _sum_up(device)
        del held
        return memory
    finally:
        device.close()
        use_device(before)


def of_repeats(settings: Settings, estimate: Callable[[Settings], Memory]) -> Memory:
    """What a step of many micro-batches takes, from one and two of them.

    Each repeats the recording of the one before it, in the same room; only the feed grows.

    Args:
        settings: of the run.
        estimate: of such settings, whatever their accumulation.
    """
    count = settings.gradient_accumulation_steps
    if count <= 2:
        return estimate(settings)
    one, two = (estimate(replace(settings, gradient_accumulation_steps=few)) for few in (1, 2))
    return replace(two, batches=two.batches + (count - 2) * (two.batches - one.batches))


class BlankRows:
    """Rows of zeros where a run wants some: what they hold changes no byte of memory.

    Args:
        settings: how many, and how long.
        packed: whether rows hold several documents.
        held_out: whether there are some for validation.
    """

    def __init__(self, settings: StepSettings, *, packed: bool, held_out: bool) -> None:
        self.packed = packed
        self._held_out = held_out
        self._context_length = settings.context_length

    def batch(self, step: int, micro: int, batch_size: int) -> Batch:
        """(B, T) zeros; every target counts."""
        zeros = np.zeros((batch_size, self._context_length), np.uint32)
        return Batch(zeros, zeros, zeros)

    def trained_in(self, step: int, micro_batches: int, batch_size: int) -> int:
        """All of them."""
        return micro_batches * batch_size * self._context_length

    def validation(self, batch_size: int) -> list[Batch]:
        """One batch, or none."""
        return [self.batch(0, 0, batch_size)] if self._held_out else []


def _finish(coroutine: Coroutine[Any, Any, object]) -> object:
    """Its result. It never waits, so that nobody else meets the counting device as the current."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("What is estimated must not wait for anything.")


def _sum_up(device: CountingDevice) -> Memory:
    sizes = Counter[str]()
    for label, size in device.counting.held():
        sizes[_part_of(label)] += size
    # Slots hold both, and a slot is never smaller than what lies in it.
    activations = min(device.saved_bytes, sizes["slots"])
    return Memory(sizes["weights"], sizes["gradients"], sizes["moments"], activations,
                  sizes["scratch"] + sizes["slots"] - activations, sizes["batches"],
                  max(size for _, size in device.counting.held()), device.refused)


def _part_of(label: str) -> str:
    """What a buffer is for, by its label.

    Example:
        >>> _part_of("model.norm.weight"), _part_of("slot 3"), _part_of("feed of a step")
        ('weights', 'slots', 'batches')
    """
    if label == "weights" or label.startswith(("model.", "lm_head.")):
        return "weights"
    if label == "gradients":
        return "gradients"
    if "moment" in label:
        return "moments"
    if label.startswith("slot "):
        return "slots"
    return "batches" if "feed" in label else "scratch"


# --- what would fit -------------------------------------------------------------------------------


def fit(settings: Settings, limit_bytes: int | None,
        estimate: Callable[[Settings], Memory]) -> tuple[Settings, str] | None:
    """The settings with the first change that makes them fit, and why, in a sentence.

    In this order: gradient checkpointing on, which changes no number; fewer rows at a time, with as
    many tokens a step; a shorter context; a smaller rank of an adapter. Each is added to those
    before it, and what turns out not to be needed is taken back.

    Args:
        settings: of the run.
        limit_bytes: that it may take; None for only what the adapter's own limits allow.
        estimate: of such settings; asked about five times.

    Returns:
        None where nothing helps.
    """
    asked = estimate(settings)
    if asked.fits(limit_bytes):
        return settings, f"It takes {size_of(asked.total)}, which fits."
    steps = [cast(Settings, one) for one in _smaller(settings)]
    if not steps or not (found := estimate(steps[-1])).fits(limit_bytes):
        return None
    chosen, first, last = steps[-1], 0, len(steps) - 1
    while first < last:  # each step takes less than the one before it
        middle = (first + last) // 2
        memory = estimate(steps[middle])
        if memory.fits(limit_bytes):
            chosen, found, last = steps[middle], memory, middle
        else:
            first = middle + 1
    for fields in _KINDS:
        kept = replace(chosen, **{name: getattr(settings, name) for name in fields})
        if kept not in (chosen, settings) and (memory := estimate(kept)).fits(limit_bytes):
            chosen, found = kept, memory
    return chosen, _why(settings, chosen, asked, found, limit_bytes)


_KINDS = (("gradient_checkpointing",), ("per_device_train_batch_size",
                                        "gradient_accumulation_steps"), ("context_length",))


def _smaller(settings: StepSettings) -> Iterator[StepSettings]:
    """The settings with one change after the other."""
    if not settings.gradient_checkpointing:
        settings = replace(settings, gradient_checkpointing=True)
        yield settings
    rows, micro = settings.per_device_train_batch_size, settings.gradient_accumulation_steps
    most = settings.WHOLE["gradient_accumulation_steps"][1]
    for part in range(2, rows + 1):
        if rows % part == 0 and micro * part <= most:
            settings = replace(settings, per_device_train_batch_size=rows // part,
                               gradient_accumulation_steps=micro * part)
            yield settings
    while settings.context_length >= 2 * SHORTEST_CONTEXT:
        settings = replace(settings, context_length=settings.context_length // 2)
        yield settings
    if isinstance(settings, FineTuneSettings) and settings.is_lora:
        yield from _smaller_ranks(settings)


def _smaller_ranks(settings: FineTuneSettings) -> Iterator[FineTuneSettings]:
    """Half the rank, time after time; alpha / r stays, so that the adapter counts as before."""
    while settings.lora.r > 1:
        lora, rank = settings.lora, settings.lora.r // 2
        settings = replace(settings, lora=replace(
            lora, r=rank, lora_alpha=lora.lora_alpha * rank / lora.r))
        yield settings


def _why(old: StepSettings, new: StepSettings, before: Memory, after: Memory,
         limit_bytes: int | None) -> str:
    changes = []
    if new.gradient_checkpointing != old.gradient_checkpointing:
        changes.append("activations recomputed (gradient_checkpointing)")
    rows = new.per_device_train_batch_size
    if rows != old.per_device_train_batch_size:
        changes.append(f"batches of {rows} instead of {old.per_device_train_batch_size} "
                       f"({new.gradient_accumulation_steps} of them a step)")
    if new.context_length != old.context_length:
        changes.append(f"a context of {new.context_length:,} instead of {old.context_length:,}")
    if isinstance(new, FineTuneSettings) and isinstance(old, FineTuneSettings) \
            and new.lora.r != old.lora.r:
        changes.append(f"a rank of {new.lora.r} instead of {old.lora.r}")
    problem = f"It would take {size_of(before.total)}"
    if before.refused is not None:
        problem += ", and one piece is larger than this adapter allows"
    elif limit_bytes is not None:
        problem += f", and {size_of(limit_bytes)} may be taken"
    listed = " and ".join(filter(None, (", ".join(changes[:-1]), changes[-1])))
    return f"{problem}; with {listed} it takes {size_of(after.total)}."


def size_of(count: int) -> str:
    """Bytes for people.

    Example:
        >>> size_of(3_200_000), size_of(1_234_000_000)
        ('3.2 MB', '1.2 GB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
