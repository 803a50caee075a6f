"""How much memory a run will take, before it starts: its own recording, on a GPU that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from tabgrad.errors import OutOfMemory
from tabgrad.gpu.counting_gpu import CountingDevice
from tabgrad.gpu.device import Device, use_device
from tabgrad.platform.gpu_protocol import AdapterInfo

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
