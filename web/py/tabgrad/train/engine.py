"""Engine: everything of a run that lives on one GPU.

When the device is lost, the engine goes with it, and the trainer builds the next one from the last
checkpoint. Nothing here is read back from a device that is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tabgrad.checkpoint.folder import Snapshot
from tabgrad.errors import CheckpointError
from tabgrad.gpu.device import Device, use_device
from tabgrad.nn.arena import ParameterArena
from tabgrad.platform import Files
from tabgrad.train.step import TrainStep
from tabgrad.train.tuning import choose_kernels
from tabgrad.train.validation import Validation

Stage: TypeAlias = Callable[[str, int, int, str], None]
"""Called with (name, done, total, unit)."""
GoOn: TypeAlias = Callable[[], bool]
Answer: TypeAlias = dict[str, str]


class Engine(ABC):
    """What a Trainer needs of a run on one device; `train.pretrain` and `train.finetune` make one.

    Args:
        step: of the run, not yet compiled.
        validation: None where nothing is held back, or nobody asks.
    """

    def __init__(self, step: TrainStep, validation: Validation | None) -> None:
        self.device: Device = step.device
        self.arena: ParameterArena = step.arena
        self.step = step
        self.validation = validation

    async def compile(self, state: Mapping[str, Any] | None, files: Files, stage: Stage) -> None:
        """Chooses kernels and makes the plans.

        Args:
            state: state.json of the checkpoint where the run goes on; None for a fresh one.
            files: where this adapter's choices of kernels are kept.
            stage: told how far it is.
        """
        use_device(self.device)
        await choose_kernels(self.device, self.step, state, files,
                             lambda done, total: stage("tuning", done, total, "kernels"))

        def compiled(done: int, total: int) -> None:
            stage("kernels", done, total, "kernels")

        await self.step.compile(compiled)
        if self.validation is not None:
            await self.validation.compile(compiled)

    @abstractmethod
    async def sample(self, go_on: GoOn) -> str | None:
        """A short text from the run's seed; None when it was given up."""

    async def answers(self, go_on: GoOn) -> list[Answer] | None:
        """Answers to the run's own prompts: {"prompt", "text"}; None when it was given up."""
        return []

    def bits_per_byte(self, loss: float) -> float | None:
        """What a loss in nats a token is in bits a byte of the text; None where nobody knows."""
        return None

    @abstractmethod
    async def checkpoint(self, state: dict[str, Any]) -> Snapshot:
        """Reads weights and moments back; no step may be in flight."""


Builder: TypeAlias = Callable[[Device, Mapping[str, bytes] | None, Stage], Awaitable[Engine]]
"""Builds the engine of a run on a device, from the files of a checkpoint or from nothing."""


def check_optim(found: str, wanted: str) -> None:
    """Refuses moments of another optimiser.

    Raises:
        CheckpointError: names both.

    Example:
        >>> check_optim("adamw", "adamw")
    """
    if found != wanted:
        raise CheckpointError(
            "This checkpoint was written by another optimiser.", expected=wanted, received=found,
            control="optim", remedy=f"Go on with {found}, or begin a new run.")

