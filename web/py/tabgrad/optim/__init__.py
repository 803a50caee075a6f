"""Optimisers and schedules."""

from tabgrad.optim.adamw import AdamW
from tabgrad.optim.lion import Lion
from tabgrad.optim.muon import Muon
from tabgrad.optim.optimizer import Optimizer
from tabgrad.optim.schedule import (
    SCHEDULES,
    constant,
    cosine_with_warmup,
    linear_with_warmup,
    warmup_stable_decay,
)
from tabgrad.optim.sgd import SGD

OPTIMIZERS: dict[str, type[Optimizer]] = {
    kind.name: kind for kind in (AdamW, SGD, Lion, Muon)}

__all__ = ["OPTIMIZERS", "SCHEDULES", "SGD", "AdamW", "Lion", "Muon", "Optimizer", "constant",
           "cosine_with_warmup", "linear_with_warmup", "warmup_stable_decay"]
