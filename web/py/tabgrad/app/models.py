"""Models as the page sees them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tabgrad.checkpoint.facts import Facts
from tabgrad.checkpoint.hub import Source
from tabgrad.checkpoint.load import recipe_of
from tabgrad.checkpoint.models import ModelRecord, ModelStore, StoredModel, Unfinished
from tabgrad.errors import DeviceLost, TabgradError
from tabgrad.text.tokenizer import has_chat_template


async def list_models(store: ModelStore) -> list[dict[str, Any]]:
    """The `Model`s of protocol.json: whole ones, the newest first, then downloads cut off."""
    whole = [await describe_model(store, record) for record in await store.list()]
    return whole + [_describe_unfinished(one) for one in await store.unfinished()]


async def describe_model(store: ModelStore, record: ModelRecord) -> dict[str, Any]:
    """The `Model` of protocol.json; what is wrong with it, if something is."""
    described: dict[str, Any] = {
        "model": record.name, "title": record.title, "source": record.source,
        "bytes": record.bytes, "licence": record.licence, "keep": record.kept, "complete": True,
        "done_bytes": record.bytes, "added_at": record.added, "chat": False}
    try:
        described |= await contents(await store.open(record.name))
    except TabgradError as error:
        described["problem"] = error.problem()
    return described


async def contents(model: StoredModel) -> dict[str, Any]:
    """What a `Model` says of the files themselves."""
    recipe = recipe_of(model)
    sizes: dict[str, int] = {}
    for tensor in model.tensors.values():
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + math.prod(tensor.shape)
    return {"model_type": recipe.model_type, "parameters": sum(sizes.values()),
            "precision": max(sizes, key=lambda dtype: sizes[dtype]),
            "context_length": recipe.max_position_embeddings,
            "chat": await has_chat_template(model.read)}


def _describe_unfinished(one: Unfinished) -> dict[str, Any]:
    return {"model": one.name, "title": one.title, "source": one.source,
            "bytes": one.bytes if one.total is None else one.total, "chat": False,
            "keep": False, "complete": False, "done_bytes": one.bytes, "added_at": 0.0}


@contextmanager
def loads_again() -> Iterator[None]:
    """Says what a person can do when the GPU goes while a model is used: its weights are gone."""
    try:
        yield
    except DeviceLost as error:
        raise DeviceLost("The GPU was lost, and the model with it.", received=error.received,
                         remedy="Load the model again: your conversations are kept.",
                         control="chat-model") from error


def describe_facts(source: Source, facts: Facts, free: int | None) -> dict[str, Any]:
    """The `ModelFacts` of protocol.json."""
    text = facts.config.get("text_config")
    config = text if isinstance(text, dict) else facts.config
    length = config.get("max_position_embeddings", config.get("n_positions"))
    kind = facts.config.get("model_type")
    problem = None if facts.problem is None else {"code": "checkpoint", "message": facts.problem}
    return {"source": source.address, "model": source.name, "title": source.title,
            "files": [{"name": file.name, "bytes": file.size} for file in facts.files],
            "bytes": facts.bytes, "licence": facts.licence,
            "model_type": kind if isinstance(kind, str) else None, "parameters": facts.parameters,
            "precision": max(facts.dtypes, key=lambda dtype: facts.dtypes[dtype], default=None),
            "context_length": length if type(length) is int else None,
            "gpu_bytes": facts.memory, "free_bytes": free, "problem": problem}
