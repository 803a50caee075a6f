"""adapter_config.json field by field: anybody may have written it.

What an option that is not built in would change is never left out in silence: the option is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError

CONFIG = "adapter_config.json"
LIMIT = 1 << 20
PATTERNS = 2048  # in a file; each is held against each module
REPEATS = 2      # in an expression of a file: more can take for ever
# What says nothing about the numbers, or is only read where another option, refused below, is set.
_IGNORED = frozenset({
    "auto_mapping", "base_model_name_or_path", "corda_config", "ensure_weight_tying", "eva_config",
    "inference_mode", "loftq_config", "lora_ga_config", "megatron_core", "peft_version",
    "qalora_group_size", "revision", "runtime_config"})
_TASKS = (None, "CAUSAL_LM")
# How A and B began. Others begin by changing the base, which is not the model that is here then.
_BEGINNINGS = (None, True, False, "gaussian", "eva", "orthogonal")
_READ = frozenset({
    "r", "lora_alpha", "lora_dropout", "use_rslora", "target_modules", "exclude_modules",
    "layers_to_transform", "rank_pattern", "alpha_pattern", "fan_in_fan_out"})


def read_fields(data: bytes) -> dict[str, Any]:
    """The arguments of a `LoraConfig`, from the bytes of an adapter_config.json.

    Raises:
        CheckpointError: it is no such file, a field cannot be read, or it asks for something that
            is not built in; names the field.

    Example:
        >>> read_fields(b'{"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"]}')
        {'r': 4, 'target_modules': ('q_proj',)}
    """
    table = parse_object(data, CONFIG, LIMIT)
    _check_options(table)
    found = {name: table[name] for name in _READ if table.get(name) is not None}
    fields: dict[str, Any] = {name: found[name] for name in ("r", "lora_alpha", "lora_dropout")
                              if name in found}
    for name in ("use_rslora", "fan_in_fan_out"):
        if name in found:
            fields[name] = _typed(name, found[name], bool)
    for name in ("target_modules", "exclude_modules"):
        if name in found:
            fields[name] = _names(name, found[name])
    if "layers_to_transform" in found:
        fields["layers_to_transform"] = _layers(found["layers_to_transform"])
    for name in ("rank_pattern", "alpha_pattern"):
        if found.get(name):
            fields[name] = _patterns(name, found[name])
    if not fields.get("target_modules"):
        raise _refused("target_modules", table.get("target_modules"), "names of modules")
    return fields


def _check_options(table: Mapping[str, Any]) -> None:
    """Refuses what would make the adapter compute something else than LoRA does here."""
    if table.get("peft_type") != "LORA":
        raise _refused("peft_type", table.get("peft_type"), "LORA")
    if table.get("task_type") not in _TASKS:
        raise _refused("task_type", table["task_type"], "CAUSAL_LM")
    if table.get("bias", "none") != "none":
        raise _refused("bias", table["bias"], "none")
    beginning = table.get("init_lora_weights")
    if not isinstance(beginning, bool | str | None) or beginning not in _BEGINNINGS:
        raise _refused("init_lora_weights", beginning, "an adapter that leaves its base as it is")
    known = _IGNORED | _READ | {"peft_type", "task_type", "bias", "init_lora_weights"}
    for name, value in table.items():
        if name not in known and value:  # null, false and empty ask for nothing
            raise _refused(name, value, "null")


def _names(name: str, value: Any) -> tuple[str, ...] | str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise _refused(name, value, "names of modules, or an expression")
    return tuple(value)


def _layers(value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else [value]
    if not all(type(one) is int for one in numbers):
        raise _refused("layers_to_transform", value, "numbers of layers")
    return tuple(numbers)


def _patterns(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > PATTERNS:
        raise _refused(name, value, f"at most {PATTERNS} names and numbers")
    for expression in value:
        if "(" in expression or sum(expression.count(one) for one in "*+?{") > REPEATS:
            raise _refused(name, expression,
                           f"expressions without groups and with at most {REPEATS} repetitions")
    return value


def _typed(name: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise _refused(name, value, kind.__name__)
    return value


def _refused(name: str, value: Any, expected: str) -> CheckpointError:
    return CheckpointError(f"{CONFIG}: {name} is not one that is built in here.",
                           expected=expected, received=repr(value)[:80])
