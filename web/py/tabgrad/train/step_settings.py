"""StepSettings: the numbers of an optimiser step and of the agenda, whatever is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from tabgrad.errors import SettingsError
from tabgrad.optim import OPTIMIZERS, SCHEDULES

Range = tuple[float, float]


@dataclass(frozen=True)
class StepSettings:
    """What every run has, under Hugging Face's TrainingArguments names. Each field is checked.

    Args:
        context_length: T, tokens (or bytes) of one row.
        per_device_train_batch_size: B, rows of one micro-batch.
        gradient_accumulation_steps: micro-batches whose gradients are averaged before a step.
        max_steps: optimiser steps of the whole run.
        learning_rate: peak of the schedule.
        warmup_steps: steps of linear rise from 0.
        lr_scheduler_type: after the warm-up "cosine", "linear", "constant" or
            "warmup_stable_decay".
        weight_decay: of matrices and embeddings only.
        adam_beta1: memory of the first moment.
        adam_beta2: memory of the second moment.
        adam_epsilon: added to Adam's denominator.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.
        seed: of the initial weights, the order of the data, dropout and the samples.
        eval_steps: steps between validations; 0 never validates.
        save_steps: steps between checkpoints (saved by time as well).
        sample_steps: steps between samples; 0 never samples.
        logging_steps: steps between points of the curve.
        optim: "adamw", "sgd", "lion" or "muon". Lion reads its betas from adam_beta1, adam_beta2.
        momentum: memory of SGD's and of Muon's moment.
        nesterov: whether these two look ahead along it.
        gradient_checkpointing: whether the backward computes each layer's inner values anew
            instead of keeping them.
        activation_dtype: how the inputs of layers wait for that: "float32", "bfloat16" or
            "float16"; in 16 bits only with gradient_checkpointing.

    Raises:
        SettingsError: a value out of its range, or 16 bits without gradient_checkpointing; names
            the field.

    Example:
        >>> StepSettings(max_steps=10).rate(0)
        0.0
    """

    context_length: int = 128
    per_device_train_batch_size: int = 16
    gradient_accumulation_steps: int = 1
    max_steps: int = 3000
    learning_rate: float = 3e-4
    warmup_steps: int = 100
    lr_scheduler_type: str = "cosine"
    weight_decay: float = 0.1
    adam_beta1: float = 0.9
    adam_beta2: float = 0.95
    adam_epsilon: float = 1e-8
    max_grad_norm: float = 1.0
    seed: int = 1
    eval_steps: int = 100
    save_steps: int = 200
    sample_steps: int = 100
    logging_steps: int = 1
    optim: str = "adamw"
    momentum: float = 0.95
    nesterov: bool = True
    gradient_checkpointing: bool = False
    activation_dtype: str = "float32"

    WHOLE: ClassVar[Mapping[str, tuple[int, int]]] = {
        "context_length": (1, 1 << 20), "per_device_train_batch_size": (1, 4096),
        "gradient_accumulation_steps": (1, 64), "max_steps": (1, 100_000_000),
        "warmup_steps": (0, 100_000_000), "seed": (0, 2**32 - 1), "eval_steps": (0, 100_000_000),
        "save_steps": (1, 100_000_000), "sample_steps": (0, 100_000_000),
        "logging_steps": (1, 100_000_000)}
    REAL: ClassVar[Mapping[str, Range]] = {
        "learning_rate": (0.0, 1.0), "weight_decay": (0.0, 10.0), "adam_beta1": (0.0, 0.999999),
        "adam_beta2": (0.0, 0.999999), "adam_epsilon": (1e-12, 1.0), "max_grad_norm": (0.0, 1e9),
        "momentum": (0.0, 0.999999)}
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "lr_scheduler_type": tuple(SCHEDULES), "optim": tuple(OPTIMIZERS),
        "activation_dtype": ("float32", "bfloat16", "float16")}
    FLAGS: ClassVar[tuple[str, ...]] = ("nesterov", "gradient_checkpointing")

    def __post_init__(self) -> None:
        for name, (low, high) in self.WHOLE.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise out_of_range(name, f"a whole number from {low:,} to {high:,}", value)
        for name, (least, most) in self.REAL.items():
            value = getattr(self, name)
            if type(value) not in (int, float) or not math.isfinite(value) \
                    or not least <= value <= most:
                raise out_of_range(name, f"a number from {least:g} to {most:g}", value)
        for name, known in self.CHOICES.items():
            if getattr(self, name) not in known:
                raise out_of_range(name, " or ".join(known), getattr(self, name))
        for name in self.FLAGS:
            if type(getattr(self, name)) is not bool:
                raise out_of_range(name, "true or false", getattr(self, name))
        if self.activation_dtype != "float32" and not self.gradient_checkpointing:
            raise SettingsError("activation_dtype: 16 bits need gradient_checkpointing.",
                                control="activation_dtype", expected="float32",
                                received=self.activation_dtype,
                                remedy="Have activations recomputed, or choose float32.")

    @property
    def tokens_per_step(self) -> int:
        """Tokens (or bytes) that one optimiser step reads."""
        return (self.context_length * self.per_device_train_batch_size
                * self.gradient_accumulation_steps)

    def rate(self, step: int) -> float:
        """Learning rate of optimiser step `step`, from 0."""
        schedule = SCHEDULES[self.lr_scheduler_type]
        return schedule(step, self.learning_rate, self.warmup_steps, self.max_steps, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The settings as protocol.json has them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Reads settings; missing fields take their defaults, unknown ones are an error.

        Raises:
            SettingsError: an unknown name, or a value out of its range.
        """
        return cls(**cls.typed(values))

    @classmethod
    def typed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the names, and takes a whole number where a real one is meant."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise SettingsError(f"There is no setting named {unknown[0]}.",
                                expected=", ".join(sorted(known)), received=", ".join(unknown))
        for name in cls.CHOICES:
            if not isinstance(values.get(name, ""), str):
                raise out_of_range(name, "a name", values[name])
        return {name: float(value) if name in cls.REAL and type(value) is int else value
                for name, value in values.items()}


def out_of_range(name: str, expected: str, value: object) -> SettingsError:
    """The error of a field whose value cannot be."""
    return SettingsError(f"{name} is out of range.", expected=expected, received=repr(value),
                         control=name)
