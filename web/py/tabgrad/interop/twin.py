"""A run's model and optimiser in PyTorch: the same numbers under Transformers' names.

The files of a checkpoint are what Transformers loads, so Transformers itself puts every tensor in
its place, also where its modules are laid out in another way than the files. A moment has the
shape of its weight: it goes the same way, as if it were a model.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import nn
from transformers import AutoModelForCausalLM

from tabgrad.checkpoint.folder import CONFIG, MODEL, Checkpoint, State
from tabgrad.checkpoint.safetensors import encode
from tabgrad.models.config_json import config_json
from tabgrad.models.recipe import Recipe
from tabgrad.models.state import from_files, to_files
from tabgrad.train.settings import TrainSettings

MOMENTS = {"first_moment": "exp_avg", "second_moment": "exp_avg_sq"}


def to_model(recipe: Recipe, state: Mapping[str, NDArray[np.float32]]) -> Any:
    """A Transformers model in float32 whose parameters are these tensors of ours."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / CONFIG).write_text(json.dumps(config_json(recipe)))
        (folder / MODEL).write_bytes(b"".join(encode(to_files(recipe, state), {"format": "pt"})))
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def from_model(recipe: Recipe, model: Any) -> State:
    """The parameters of a Transformers model under our names, as `to_model` took them."""
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        tensors: dict[str, NDArray[Any]] = {}
        for path in sorted(Path(place).glob("*.safetensors")):
            tensors |= load_file(path)
        return from_files(recipe, tensors)


def make_optimizer(model: nn.Module, checkpoint: Checkpoint,
                   settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW with the moments of a checkpoint.

    Weight decay is that of the run: of matrices and embeddings, not of biases and gains.

    Args:
        model: what `to_model` gave for the checkpoint's weights.
        checkpoint: whose moments.
        settings: of the run.
    """
    named = dict(model.named_parameters())
    groups = [{"params": [one for one in named.values() if (one.ndim >= 2) is decayed],
               "weight_decay": settings.weight_decay if decayed else 0.0}
              for decayed in (True, False)]
    optimizer = torch.optim.AdamW(
        groups, lr=settings.learning_rate, betas=(settings.adam_beta1, settings.adam_beta2),
        eps=settings.adam_epsilon)
    step = float(checkpoint.state["step"])
    moments = {theirs: dict(to_model(checkpoint.recipe, getattr(checkpoint, ours))
                            .named_parameters()) for ours, theirs in MOMENTS.items()}
    for name, parameter in named.items():
        optimizer.state[parameter] = {
            "step": torch.tensor(step),
            **{theirs: tensors[name].detach().to(parameter.device, copy=True)
               for theirs, tensors in moments.items()}}
    return optimizer


def read_tensors(recipe: Recipe, model: Any, optimizer: torch.optim.AdamW) -> dict[str, State]:
    """Weights and both moments under our names. The model's own weights stay as they are."""
    result = {"weights": from_model(recipe, model)}
    named = dict(model.named_parameters())
    weights = {name: parameter.detach().clone() for name, parameter in named.items()}
    try:
        for ours, theirs in MOMENTS.items():
            for parameter in named.values():
                parameter.data.copy_(optimizer.state[parameter][theirs])
            result[ours] = from_model(recipe, model)
    finally:
        for name, parameter in named.items():
            parameter.data.copy_(weights[name])
    return result
