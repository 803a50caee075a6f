"""TrainSettings: what a run from nothing is made of: a preset, and the numbers of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tabgrad.models.preset_text import PresetText, preset_text, preset_vocabulary
from tabgrad.models.recipe import Recipe, preset
from tabgrad.text.bpe_trainer import BpeSettings
from tabgrad.train.step_settings import StepSettings, out_of_range

# Where a preset's usual settings are not those below. The small learn faster at a higher rate;
# readable-llm repeats its one sentence: it is its whole text, and nothing is held back.
_USUAL: dict[str, dict[str, Any]] = {
    "tiny": {"learning_rate": 1e-3},
    **{name: {"learning_rate": 1e-3} for name in ("byte-gpt-5m", "bpe-gpt-5m", "llama-5m",
                                                  "moe-5m")},
    **{name: {"learning_rate": 6e-4} for name in ("byte-gpt-15m", "bpe-gpt-15m")},
    "readable-llm": {
        "context_length": 9, "per_device_train_batch_size": 1, "max_steps": 101,
        "learning_rate": 0.01, "warmup_steps": 0, "lr_scheduler_type": "constant",
        "weight_decay": 0.01, "adam_beta2": 0.999, "max_grad_norm": 0.0, "eval_steps": 0,
        "save_steps": 101, "sample_steps": 20}}


@dataclass(frozen=True)
class TrainSettings(StepSettings):
    """The settings of a run from nothing; see `StepSettings` for the other fields.

    Args:
        preset: name of the recipe; a context_length is at most its positions.

    Raises:
        SettingsError: a value out of its range; names the field.

    Example:
        >>> TrainSettings.for_preset("tiny").context_length
        64
    """

    preset: str = "byte-tinygpt"

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = self.recipe.max_position_embeddings
        if self.context_length > limit:
            raise out_of_range("context_length", f"at most {limit} for {self.preset}",
                               self.context_length)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the preset."""
        return preset(self.preset)

    @property
    def text(self) -> PresetText | None:
        """The words that the preset reads; None where it reads something else."""
        return preset_text(self.preset)

    @property
    def vocabulary(self) -> BpeSettings | None:
        """How the run's tokens are learned from its text; None where they are known before."""
        return preset_vocabulary(self.preset)

    @classmethod
    def typed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the names and the kinds."""
        if not isinstance(values.get("preset", ""), str):
            raise out_of_range("preset", "a name", values["preset"])
        return super().typed(values)

    @classmethod
    def for_preset(cls, name: str, **changes: Any) -> TrainSettings:
        """The usual settings of a preset, changed; its whole context unless they say otherwise."""
        return replace(cls(), **{
            "preset": name, "context_length": preset(name).max_position_embeddings,
            **_USUAL.get(name, {}), **changes})
