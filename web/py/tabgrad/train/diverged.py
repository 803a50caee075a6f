"""When training becomes unstable: numbers that are no numbers any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tabgrad.errors import DeviceLost, TabgradError

if TYPE_CHECKING:
    from tabgrad.train.engine import Engine
    from tabgrad.train.step import Measured


class TrainingDiverged(TabgradError):
    """The loss, its gradient or the weights are no number any more.

    Args:
        step: where it was noticed.
        what: what was measured there, in words.
        saved_step: the last good checkpoint; -1 when there is none yet.
        measured: numbers of a training step, where one of them was no number.

    Example:
        >>> print(TrainingDiverged(7, "the loss is nan", 5).message)
        Training became unstable at step 7: the loss is nan.
    """

    code = "diverged"

    def __init__(self, step: int, what: str, saved_step: int,
                 measured: Measured | None = None) -> None:
        kept = f"The checkpoint of step {saved_step} is kept. " if saved_step >= 0 else ""
        super().__init__(f"Training became unstable at step {step}: {what}.",
                         remedy=f"{kept}Lower the learning rate and train again.",
                         control="learning_rate")
        self.step, self.what, self.saved_step, self.measured = step, what, saved_step, measured


def diverged_in(measured: Measured, saved_step: int) -> TrainingDiverged:
    """The error of a training step whose loss or gradient is no number."""
    what = f"the loss is {measured.loss}, its gradient {measured.grad_norm}"
    return TrainingDiverged(measured.step, what, saved_step, measured)


async def explain(error: TabgradError, engine: Engine | None) -> None:
    """Raises the error of a training step that diverged again, naming tensors; passes others by.

    On the GPU no update has happened since (`Optimizer.halted`), so the step is taken once more on
    the weights that it had, and its gradients are read.

    Args:
        error: any; only a TrainingDiverged of a step is raised.
        engine: the run's, with no step in flight; None raises nothing.

    Raises:
        TrainingDiverged: with the first tensor that is not finite.
    """
    if engine is None or not isinstance(error, TrainingDiverged) or error.measured is None:
        return
    arena = engine.arena
    try:
        await engine.step.submit(error.step - 1, 1)
        weights = name_not_finite(await arena.read(arena.weights))
        gradients = name_not_finite(await arena.read(arena.gradients))
    except DeviceLost:  # what was measured stays true, and is what matters
        return
    if weights is not None:
        where = f"before the step, {weights} held numbers that are not finite"
    elif gradients is not None:
        where = f"the weights are finite, the gradient of {gradients} is not"
    else:
        where = "every weight and every single gradient is finite"
    raise TrainingDiverged(error.step, f"{error.what}; {where}", error.saved_step) from error


def name_not_finite(state: Mapping[str, np.ndarray[Any, Any]]) -> str | None:
    """The first tensor that holds NaN or infinity, and how many others; None if there is none.

    Example:
        >>> name_not_finite({"a": np.ones(2), "b": np.array([1.0, np.nan]), "c": np.ones(1)})
        'b'
    """
    names = [name for name, array in state.items() if not np.isfinite(array).all()]
    if len(names) > 1:
        return f"{names[0]} (and {len(names) - 1} more of {len(state)})"
    return names[0] if names else None
