"""The optimiser that a run's settings ask for."""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.models.decoder import Decoder
from tabgrad.optim import SGD, AdamW, Lion, Muon, Optimizer
from tabgrad.train.settings import TrainSettings


def make_optimizer(decoder: Decoder, settings: TrainSettings) -> Optimizer:
    """The optimiser named `settings.optim`, over the decoder's arena."""
    return _MAKERS[settings.optim](decoder, settings)


def hidden_matrices(decoder: Decoder) -> list[str]:
    """Names of the matrices inside the layers, which Muon moves.

    Not the embeddings and the head; nor DeltaNet's short convolutions (a filter for each channel)
    and the stacks of a mixture's experts, which have three axes.
    """
    return [name for name, parameter in decoder.arena.parameters.items()
            if name.startswith("model.layers.") and parameter.ndim == 2
            and not name.endswith("conv1d.weight")]


def _adamw(decoder: Decoder, settings: TrainSettings) -> Optimizer:
    return AdamW(decoder.arena, settings.learning_rate, _betas(settings), settings.adam_epsilon,
                 settings.weight_decay, settings.max_grad_norm)


def _sgd(decoder: Decoder, settings: TrainSettings) -> Optimizer:
    return SGD(decoder.arena, settings.learning_rate, settings.momentum, settings.nesterov,
               settings.weight_decay, settings.max_grad_norm)


def _lion(decoder: Decoder, settings: TrainSettings) -> Optimizer:
    return Lion(decoder.arena, settings.learning_rate, _betas(settings), settings.weight_decay,
                settings.max_grad_norm)


def _muon(decoder: Decoder, settings: TrainSettings) -> Optimizer:
    return Muon(decoder.arena, hidden_matrices(decoder), settings.learning_rate, settings.momentum,
                settings.nesterov, _betas(settings), settings.adam_epsilon, settings.weight_decay,
                settings.max_grad_norm)


def _betas(settings: TrainSettings) -> tuple[float, float]:
    return settings.adam_beta1, settings.adam_beta2


_MAKERS: dict[str, Callable[[Decoder, TrainSettings], Optimizer]] = {
    AdamW.name: _adamw, SGD.name: _sgd, Lion.name: _lion, Muon.name: _muon}
