"""The settings of an adapter, with PEFT's names and its way to match modules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.lora.config_fields import CONFIG, read_fields

ALL_LINEAR = "all-linear"
LARGEST_RANK = 4096
Value = TypeVar("Value")


@dataclass(frozen=True)
class LoraConfig:
    """What an adapter is made of.

    Args:
        r: rank: the numbers between A and B.
        lora_alpha: what A and B are scaled by is alpha / r, see `scaling_of`.
        lora_dropout: the part of an adapter's input that is set to 0 while it is trained.
        use_rslora: whether the scale is alpha / sqrt(r), which does not shrink as r grows.
        target_modules: ends of module names; or a regular expression that a whole name matches;
            or "all-linear", every matrix but the head (and, other than in PEFT, but the experts of
            a mixture and their router, which have no adapters here).
        exclude_modules: ends of module names, or a regular expression, that get none all the same.
        layers_to_transform: numbers of the only layers that get one; None for all. As in PEFT it
            holds for ends of names, not for whole names and expressions.
        rank_pattern: expression for the end of a module's name -> its rank, where it is not r.
        alpha_pattern: likewise for alpha.
        fan_in_fan_out: whether the base keeps its matrices as (in, out), as GPT-2's files do. PEFT
            wants to read it; here it changes nothing.

    Raises:
        SettingsError: a setting out of its range; names the field.

    Source: Hu et al., "LoRA", 2021; Kalajdzievski, "Rank-stabilized LoRA", 2023.

    Example:
        >>> LoraConfig(r=16, lora_alpha=32).scaling, LoraConfig(r=16, use_rslora=True).scaling
        (2.0, 4.0)
    """

    r: int = 8
    lora_alpha: float = 16.0
    lora_dropout: float = 0.0
    use_rslora: bool = False
    target_modules: tuple[str, ...] | str = ("q_proj", "v_proj")
    exclude_modules: tuple[str, ...] | str = ()
    layers_to_transform: tuple[int, ...] | None = None
    rank_pattern: Mapping[str, int] = field(default_factory=dict)
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    fan_in_fan_out: bool = False

    def __post_init__(self) -> None:
        for rank in (self.r, *self.rank_pattern.values()):
            if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= LARGEST_RANK:
                raise SettingsError("The rank of an adapter is out of range.", control="r",
                                    expected=f"a whole number from 1 to {LARGEST_RANK}",
                                    received=repr(rank)[:80])
        for alpha in (self.lora_alpha, *self.alpha_pattern.values()):
            if not _is_number(alpha) or not 0 < alpha < math.inf:
                raise SettingsError("lora_alpha is out of range.", control="lora_alpha",
                                    expected="a number above 0", received=repr(alpha)[:80])
        if not _is_number(self.lora_dropout) or not 0 <= self.lora_dropout < 1:
            raise SettingsError("lora_dropout is out of range.", control="lora_dropout",
                                expected="from 0 up to, but not, 1",
                                received=repr(self.lora_dropout)[:80])
        if not self.target_modules:
            raise SettingsError("An adapter needs at least one module.", control="target_modules",
                                expected=f"names, an expression, or {ALL_LINEAR}")
        for name in ("target_modules", "exclude_modules", "rank_pattern", "alpha_pattern"):
            value = getattr(self, name)
            for expression in [value] if isinstance(value, str) else value:
                if isinstance(value, str | Mapping):
                    _check_expression(name, expression)

    @classmethod
    def from_json(cls, data: bytes) -> LoraConfig:
        """The settings in an adapter_config.json, which anybody may have written.

        Raises:
            CheckpointError: it is no such file, or asks for something that is not built in.
        """
        try:
            return cls(**read_fields(data))
        except SettingsError as error:
            raise CheckpointError(f"{CONFIG}: {error.message}", expected=error.expected,
                                  received=error.received) from error

    def to_json(self, base: str) -> bytes:
        """adapter_config.json as PEFT reads it.

        Args:
            base: name or address of the model under the adapter.
        """
        def listed(modules: tuple[str, ...] | str) -> list[str] | str:
            return modules if isinstance(modules, str) else list(modules)

        layers = self.layers_to_transform
        return json.dumps({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base,
            "r": self.r, "lora_alpha": self.lora_alpha, "lora_dropout": self.lora_dropout,
            "use_rslora": self.use_rslora, "target_modules": listed(self.target_modules),
            "exclude_modules": listed(self.exclude_modules) or None,
            "layers_to_transform": None if layers is None else list(layers),
            "rank_pattern": dict(self.rank_pattern), "alpha_pattern": dict(self.alpha_pattern),
            "fan_in_fan_out": self.fan_in_fan_out, "bias": "none", "init_lora_weights": True,
            "modules_to_save": None, "inference_mode": True}, indent=1).encode()

    @property
    def scaling(self) -> float:
        """alpha / r, or alpha / sqrt(r) with rsLoRA."""
        return self._scaling(self.r, self.lora_alpha)

    def rank_of(self, module: str) -> int:
        """The rank of the adapter of a module.

        Example:
            >>> LoraConfig(rank_pattern={"layers.0.mlp.up_proj": 2}).rank_of(
            ...     "model.layers.0.mlp.up_proj")
            2
        """
        return _by_pattern(self.rank_pattern, module, self.r)

    def scaling_of(self, module: str) -> float:
        """What the product of a module's A and B is multiplied by."""
        return self._scaling(self.rank_of(module),
                             _by_pattern(self.alpha_pattern, module, self.lora_alpha))

    def matches(self, module: str) -> bool:
        r"""Whether a module gets an adapter; "all-linear" matches every one.

        Example:
            >>> config = LoraConfig(target_modules=("q_proj",), layers_to_transform=(1,))
            >>> [config.matches(f"model.layers.{i}.self_attn.q_proj") for i in range(3)]
            [False, True, False]
            >>> LoraConfig(target_modules=r".*mlp\.(up|down)_proj").matches("layers.0.mlp.up_proj")
            True
        """
        if self.exclude_modules and _matches(self.exclude_modules, module):
            return False
        if self.is_all_linear:
            return True
        if isinstance(self.target_modules, str) or module in self.target_modules:
            return _matches(self.target_modules, module)
        return _matches(self.target_modules, module) and self._is_in_layers(module)

    @property
    def is_all_linear(self) -> bool:
        """Whether every matrix but the head gets an adapter."""
        return (isinstance(self.target_modules, str)
                and self.target_modules.lower() == ALL_LINEAR)

    def _is_in_layers(self, module: str) -> bool:
        if self.layers_to_transform is None:
            return True
        number = re.match(r".*?\.[^.]*\.(\d+)\.", module)  # the first number in the name
        return number is not None and int(number[1]) in self.layers_to_transform

    def _scaling(self, rank: int, alpha: float) -> float:
        return alpha / (math.sqrt(rank) if self.use_rslora else rank)


def _matches(pattern: Collection[str] | str, module: str) -> bool:
    if isinstance(pattern, str):
        return re.fullmatch(pattern, module) is not None
    return any(module == end or module.endswith(f".{end}") for end in pattern)


def _by_pattern(patterns: Mapping[str, Value], module: str, default: Value) -> Value:
    for expression, value in patterns.items():
        if re.match(rf"(.*\.)?({expression})$", module):
            return value
    return default


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_expression(name: str, text: str) -> None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingsError(f"{name} is not a regular expression.", received=repr(text)[:80],
                            remedy=f"It says: {error}.", control=name) from error
