"""The optimiser that a run's settings ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tabgrad.models.decoder import Decoder
from tabgrad.nn.arena import ParameterArena
from tabgrad.optim import SGD, AdamW, Lion, Muon, Optimizer
from tabgrad.train.step_settings import StepSettings


def make_optimizer(arena: ParameterArena, settings: StepSettings,
                   matrices: Sequence[str]) -> Optimizer:
    """The optimiser named `settings.optim`, over an arena.

    Args:
        arena: what is trained.
        settings: the rate, and what the optimiser needs beside it.
        matrices: names of the parameters that Muon moves.
    """
    return _MAKERS[settings.optim](arena, settings, matrices)


def hidden_matrices(decoder: Decoder) -> list[str]:
    """Names of the matrices inside the layers, which Muon moves.

    Not the embeddings and the head; nor DeltaNet's short convolutions (a filter for each channel)
    and the stacks of a mixture's experts, which have three axes.
    """
    return [name for name, parameter in decoder.named_parameters()
            if name.startswith("model.layers.") and parameter.ndim == 2
            and not name.endswith("conv1d.weight")]


def _adamw(arena: ParameterArena, settings: StepSettings, _: Sequence[str]) -> Optimizer:
    return AdamW(arena, settings.learning_rate, _betas(settings), settings.adam_epsilon,
                 settings.weight_decay, settings.max_grad_norm)


def _sgd(arena: ParameterArena, settings: StepSettings, _: Sequence[str]) -> Optimizer:
    return SGD(arena, settings.learning_rate, settings.momentum, settings.nesterov,
               settings.weight_decay, settings.max_grad_norm)


def _lion(arena: ParameterArena, settings: StepSettings, _: Sequence[str]) -> Optimizer:
    return Lion(arena, settings.learning_rate, _betas(settings), settings.weight_decay,
                settings.max_grad_norm)


def _muon(arena: ParameterArena, settings: StepSettings, matrices: Sequence[str]) -> Optimizer:
    return Muon(arena, list(matrices), settings.learning_rate, settings.momentum,
                settings.nesterov, _betas(settings), settings.adam_epsilon, settings.weight_decay,
                settings.max_grad_norm)


def _betas(settings: StepSettings) -> tuple[float, float]:
    return settings.adam_beta1, settings.adam_beta2


_MAKERS: dict[str, Callable[[ParameterArena, StepSettings, Sequence[str]], Optimizer]] = {
    AdamW.name: _adamw, SGD.name: _sgd, Lion.name: _lion, Muon.name: _muon}
