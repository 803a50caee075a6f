"""Takes a run home: its model or its adapter as files that Transformers and PEFT open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.checkpoint.folder import CONFIG, read_folder, read_state
from tabgrad.checkpoint.stored_model import StoredModel
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.export.card import Card
from tabgrad.export.model_folder import README, model_folder
from tabgrad.lora import files as adapter_files
from tabgrad.lora.config_fields import CONFIG as ADAPTER_CONFIG
from tabgrad.lora.names import known_names, tensor_names
from tabgrad.models.config_json import config_json
from tabgrad.models.decoder import parameter_shapes
from tabgrad.models.names import canonical, placements
from tabgrad.models.state import to_files
from tabgrad.reference.stored import FORMATS, byte_count
from tabgrad.text.json_object import parse_json
from tabgrad.train.base import TEXT_FILES, Base, BaseName, text_config
from tabgrad.train.history import History

FORMS = ("model", "adapter")
LARGEST = 1 << 30  # bytes of a folder that is made in memory

Files = dict[str, Iterable[bytes]]


@dataclass(frozen=True)
class Taken:
    """A run whose checkpoint is taken home.

    Args:
        name: of the run.
        record: run.json.
        files: of the checkpoint.
        evaluations: what was measured of it, each as Markdown.
    """

    name: str
    record: Mapping[str, Any]
    files: Mapping[str, bytes]
    evaluations: Sequence[str] = ()

    @property
    def is_adapter(self) -> bool:
        """Whether the checkpoint holds an adapter, and its base lies elsewhere."""
        return ADAPTER_CONFIG in self.files


async def take_home(run: Taken, form: str, dtype: str, base: Base | None) -> Files:
    """The files of a run: flat name -> pieces.

    Args:
        run: whose.
        form: "adapter", or "model": the whole model, an adapter merged into its base.
        dtype: of a model: "float32", "bfloat16" or "float16". An adapter is float32, as trained.
        base: what an adapter belongs to; None for a run that holds its whole model.

    Raises:
        SettingsError: a form that the run does not have, or an unknown or too narrow dtype.
        CheckpointError: the base is not the one that the adapter was trained on, or the model is
            too large to be made here.
    """
    if form not in FORMS or (form == "adapter" and not run.is_adapter):
        raise SettingsError("This run cannot be taken home that way.", control="form",
                            expected=" or ".join(FORMS if run.is_adapter else FORMS[:1]),
                            received=form)
    if dtype not in FORMATS:
        raise SettingsError("The precision is not known.", control="dtype",
                            expected=" or ".join(FORMATS), received=dtype)
    if form == "adapter":
        adapter = {name: [run.files[name]] for name in (ADAPTER_CONFIG, adapter_files.WEIGHTS)}
        return {**adapter, README: [_card(run, adapter=True, dtype="float32").encode()]}
    card = _card(run, adapter=False, dtype=dtype)
    if not run.is_adapter:
        return _whole(run, dtype, card)
    if base is None:
        raise CheckpointError("The model under this adapter is not here.",
                              remedy="Take the adapter home, or get its base again.")
    return await _merged(run, dtype, card, base)


def _whole(run: Taken, dtype: str, card: str) -> Files:
    """A run that trained all of its model."""
    checkpoint = read_folder(run.files)
    config = parse_json(run.files[CONFIG], CONFIG) if "base" in checkpoint.state \
        else config_json(checkpoint.recipe)
    texts = {name: run.files[name] for name in TEXT_FILES if name in run.files}
    return model_folder(config, to_files(checkpoint.recipe, checkpoint.weights), dtype, texts, card)


async def _merged(run: Taken, dtype: str, card: str, base: Base) -> Files:
    """An adapter's base with W + scaling B A in place of every W that it adapts."""
    base.name.check(BaseName.from_dict(read_state(run.files).get("base")))
    _check_size(base.model, dtype)
    recipe = base.recipe
    config, found = adapter_files.read(run.files)
    adapter = known_names(recipe, found)
    turned = {one.file for one in placements(recipe, parameter_shapes(recipe)) if one.transposed}
    merged: dict[str, NDArray[np.float32]] = {}
    for name, stored in canonical(recipe, base.model.tensors).items():
        tensor = base.model.tensor(stored)
        weight = (await base.model.read_numbers(tensor, 0, tensor.count)).reshape(tensor.shape)
        module = name.removesuffix(".weight")
        a, b = (adapter.pop(one, None) for one in tensor_names(module))
        if a is not None and b is not None:
            delta = config.scaling_of(module) * (b @ a)                      # (out, in)
            weight += delta.T if name in turned else delta
        merged[name] = weight
    if adapter:
        raise CheckpointError("The adapter has tensors that its base has no place for.",
                              received=", ".join(sorted(adapter))[:200])
    return model_folder(text_config(base.model.config, recipe), merged, dtype, base.text_files,
                        card)


def _check_size(model: StoredModel, dtype: str) -> None:
    size = sum(byte_count(tensor.count, dtype) for tensor in model.tensors.values())
    if size > LARGEST:
        raise CheckpointError("This model is too large to be merged in a tab.",
                              expected=f"at most {LARGEST:,} bytes in {dtype}",
                              received=f"{size:,} bytes",
                              remedy="Take the adapter home, and merge it with peft.")


def _card(run: Taken, *, adapter: bool, dtype: str) -> str:
    state, record = read_state(run.files), run.record
    base = BaseName.from_dict(state["base"]) if "base" in state else None
    parameters = record["trained_parameters"] if adapter else record["parameters"]
    return Card(
        title=run.name, base=base.title if base else None, base_source=base.source if base
        else None, adapter=adapter, parameters=int(parameters), dtype=dtype,
        corpus=record["corpus"], settings=record["settings"],
        history=History.from_dict(state.get("history", {})),
        evaluations=run.evaluations).markdown()
