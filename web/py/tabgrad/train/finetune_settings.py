"""FineTuneSettings: how a model is trained further: all of it, or an adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from tabgrad.errors import SettingsError
from tabgrad.lora.config import ALL_LINEAR, LoraConfig
from tabgrad.train.step_settings import Range, StepSettings, out_of_range

LORA, FULL = "lora", "full"
MAX_PROMPTS = 16
PROMPT_CHARACTERS = 20_000
_LORA_FIELDS = ("r", "lora_alpha", "lora_dropout", "use_rslora", "target_modules")


@dataclass(frozen=True)
class FineTuneSettings(StepSettings):
    """The settings of a fine-tune; see `StepSettings` for the other fields.

    Args:
        method: "lora" (an adapter beside frozen weights) or "full" (every weight, in float32).
        lora: rank, scale and modules of the adapter.
        packing: whether rows hold several documents; else one document a row.
        prompts: asked at every validation, before the first step too.
        max_new_tokens: most tokens of an answer.
        held_out: share of the documents that are not trained on, for validation.

    Raises:
        SettingsError: a value out of its range; names the field.

    Example:
        >>> settings = FineTuneSettings.from_dict({"lora": {"r": 4}, "prompts": ["Hello"]})
        >>> settings.lora.r, settings.learning_rate, settings.prompts
        (4, 0.0002, ('Hello',))
        >>> FineTuneSettings.from_dict(settings.to_dict()) == settings
        True
    """

    context_length: int = 256
    per_device_train_batch_size: int = 4
    max_steps: int = 200
    learning_rate: float = 2e-4
    warmup_steps: int = 10
    weight_decay: float = 0.0
    adam_beta2: float = 0.999
    eval_steps: int = 25
    save_steps: int = 50
    sample_steps: int = 0
    method: str = LORA
    lora: LoraConfig = field(default_factory=LoraConfig)
    packing: bool = True
    prompts: tuple[str, ...] = ()
    max_new_tokens: int = 64
    held_out: float = 0.1

    WHOLE: ClassVar[Mapping[str, tuple[int, int]]] = {
        **StepSettings.WHOLE, "max_new_tokens": (1, 4096), "sample_steps": (0, 0)}
    REAL: ClassVar[Mapping[str, Range]] = {**StepSettings.REAL, "held_out": (0.0, 0.5)}
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **StepSettings.CHOICES, "method": (LORA, FULL)}
    FLAGS: ClassVar[tuple[str, ...]] = (*StepSettings.FLAGS, "packing")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.lora, LoraConfig):
            raise out_of_range("lora", "rank, scale and modules of an adapter", self.lora)
        if not isinstance(self.prompts, tuple) or len(self.prompts) > MAX_PROMPTS:
            raise out_of_range("prompts", f"at most {MAX_PROMPTS} texts", self.prompts)
        for prompt in self.prompts:
            if not isinstance(prompt, str) or not 0 < len(prompt) <= PROMPT_CHARACTERS:
                raise out_of_range("prompts", f"texts of 1 to {PROMPT_CHARACTERS} characters",
                                   prompt)

    @property
    def is_lora(self) -> bool:
        """Whether only an adapter is trained."""
        return self.method == LORA

    def to_dict(self) -> dict[str, Any]:
        """The `FineTuneSettings` of protocol.json: target modules are a list, always."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        lora = {name: getattr(self.lora, name) for name in _LORA_FIELDS}
        modules = lora["target_modules"]
        lora["target_modules"] = [modules] if isinstance(modules, str) else list(modules)
        return {**values, "lora": lora, "prompts": list(self.prompts)}

    @classmethod
    def typed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the names and the kinds."""
        kept = super().typed(values)
        if "lora" in kept:
            kept["lora"] = lora_config(kept["lora"])
        if isinstance(kept.get("prompts"), list):
            kept["prompts"] = tuple(kept["prompts"])
        return kept


def lora_config(values: object) -> LoraConfig:
    """The `LoraSettings` of protocol.json.

    A single entry that is "all-linear", or that no module can be called, is what PEFT writes as a
    string: every linear, or a regular expression.

    Raises:
        SettingsError: an unknown field, or a value out of its range.

    Example:
        >>> lora_config({"target_modules": ["q_proj"]}).target_modules
        ('q_proj',)
        >>> lora_config({"target_modules": ["all-linear"]}).target_modules
        'all-linear'
    """
    if isinstance(values, LoraConfig):
        return values
    if not isinstance(values, Mapping):
        raise out_of_range("lora", "rank, scale and modules of an adapter", values)
    unknown = sorted(set(values) - set(_LORA_FIELDS))
    if unknown:
        raise SettingsError(f"There is no setting of LoRA named {unknown[0]}.", control="lora",
                            expected=", ".join(_LORA_FIELDS), received=", ".join(unknown))
    return LoraConfig(**{**values, **({"target_modules": _modules(values["target_modules"])}
                                      if "target_modules" in values else {})})


def _modules(given: object) -> tuple[str, ...] | str:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise out_of_range("target_modules", "a list of module names", given)
    if len(given) == 1 and (given[0] == ALL_LINEAR or not re.fullmatch(r"[\w.-]+", given[0])):
        return str(given[0])
    return tuple(given)
