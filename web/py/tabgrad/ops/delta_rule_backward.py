"""The backward of the gated delta rule."""

from __future__ import annotations

from tabgrad.autograd import OpRecord
from tabgrad.gpu.storage import Region


def delta_rule_backward(record: OpRecord, gradient: Region) -> None:
    """Not here yet."""
    raise NotImplementedError("The backward of delta_rule comes with the next commit.")
