"""Optimisers and schedules."""

from tabgrad.optim.adamw import AdamW
from tabgrad.optim.schedule import SCHEDULES, constant, cosine_with_warmup, linear_with_warmup

__all__ = ["SCHEDULES", "AdamW", "constant", "cosine_with_warmup", "linear_with_warmup"]
