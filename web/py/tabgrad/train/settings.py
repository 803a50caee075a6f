"""TrainSettings: every number a run is made of, under Hugging Face's TrainingArguments names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tabgrad.errors import SettingsError
from tabgrad.models.preset_text import PresetText, preset_text
from tabgrad.models.recipe import Recipe, preset
from tabgrad.optim import OPTIMIZERS, SCHEDULES

_WHOLE = {
    "context_length": (1, 1 << 20), "per_device_train_batch_size": (1, 4096),
    "gradient_accumulation_steps": (1, 64), "max_steps": (1, 100_000_000),
    "warmup_steps": (0, 100_000_000), "seed": (0, 2**32 - 1), "eval_steps": (0, 100_000_000),
    "save_steps": (1, 100_000_000), "sample_steps": (0, 100_000_000),
    "logging_steps": (1, 100_000_000)}
_REAL = {"learning_rate": (0.0, 1.0), "weight_decay": (0.0, 10.0), "adam_beta1": (0.0, 0.999999),
         "adam_beta2": (0.0, 0.999999), "adam_epsilon": (1e-12, 1.0),
         "max_grad_norm": (0.0, 1e9), "momentum": (0.0, 0.999999)}
_WORDS = ("preset", "lr_scheduler_type", "optim")
# Where a preset's usual settings are not those below. The small learn faster at a higher rate;
# readable-llm repeats its one sentence: it is its whole text, and nothing is held back.
_USUAL: dict[str, dict[str, Any]] = {
    "tiny": {"learning_rate": 1e-3},
    "readable-llm": {
        "context_length": 9, "per_device_train_batch_size": 1, "max_steps": 101,
        "learning_rate": 0.01, "warmup_steps": 0, "lr_scheduler_type": "constant",
        "weight_decay": 0.01, "adam_beta2": 0.999, "max_grad_norm": 0.0, "eval_steps": 0,
        "save_steps": 101, "sample_steps": 20}}


@dataclass(frozen=True)
class TrainSettings:
    """The settings of a run. Every field is checked; an error names the field.

    Args:
        preset: name of the recipe.
        context_length: T, bytes (or tokens) of one window; at most the recipe's positions.
        per_device_train_batch_size: B, windows of one micro-batch.
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
        seed: of the initial weights, the windows and the samples.
        eval_steps: steps between validations; 0 never validates.
        save_steps: steps between checkpoints (saved by time as well).
        sample_steps: steps between samples; 0 never samples.
        logging_steps: steps between points of the curve.
        optim: "adamw", "sgd", "lion" or "muon". Lion reads its betas from adam_beta1, adam_beta2.
        momentum: memory of SGD's and of Muon's moment.
        nesterov: whether these two look ahead along it.
    Raises:
        SettingsError: a value out of its range.

    Example:
        >>> TrainSettings.for_preset("tiny").context_length
        64
        >>> TrainSettings(max_steps=10).rate(0)
        0.0
    """

    preset: str = "byte-tinygpt"
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

    def __post_init__(self) -> None:
        for name, (low, high) in _WHOLE.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise _out_of_range(name, f"a whole number from {low:,} to {high:,}", value)
        for name, (least, most) in _REAL.items():
            value = getattr(self, name)
            if type(value) not in (int, float) or not math.isfinite(value) \
                    or not least <= value <= most:
                raise _out_of_range(name, f"a number from {least:g} to {most:g}", value)
        for name, known in (("lr_scheduler_type", SCHEDULES), ("optim", OPTIMIZERS)):
            if getattr(self, name) not in known:
                raise _out_of_range(name, " or ".join(known), getattr(self, name))
        if type(self.nesterov) is not bool:
            raise _out_of_range("nesterov", "true or false", self.nesterov)
        limit = self.recipe.max_position_embeddings
        if self.context_length > limit:
            raise _out_of_range("context_length", f"at most {limit} for {self.preset}",
                                self.context_length)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the preset."""
        return preset(self.preset)

    @property
    def text(self) -> PresetText | None:
        """What the preset reads; None where that is bytes."""
        return preset_text(self.preset)

    @property
    def tokens_per_step(self) -> int:
        """Bytes (or tokens) that one optimiser step reads."""
        return (self.context_length * self.per_device_train_batch_size
                * self.gradient_accumulation_steps)

    def rate(self, step: int) -> float:
        """Learning rate of optimiser step `step`, from 0."""
        schedule = SCHEDULES[self.lr_scheduler_type]
        return schedule(step, self.learning_rate, self.warmup_steps, self.max_steps, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The `Settings` of protocol.json."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainSettings:
        """Reads settings; missing fields take their defaults, unknown ones are an error."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise SettingsError(f"There is no setting named {unknown[0]}.",
                                expected=", ".join(sorted(known)), received=", ".join(unknown))
        for name in _WORDS:
            if not isinstance(values.get(name, ""), str):
                raise _out_of_range(name, "a name", values[name])
        typed: dict[str, Any] = {
            name: float(value) if name in _REAL and type(value) is int else value
            for name, value in values.items()}
        return cls(**typed)

    @classmethod
    def for_preset(cls, name: str, **changes: Any) -> TrainSettings:
        """The usual settings of a preset, changed; its whole context unless they say otherwise."""
        return replace(cls(), **{
            "preset": name, "context_length": preset(name).max_position_embeddings,
            **_USUAL.get(name, {}), **changes})


def _out_of_range(name: str, expected: str, value: object) -> SettingsError:
    return SettingsError(f"{name} is out of range.", expected=expected, received=repr(value),
                         control=name)
