"""When training becomes unstable: numbers that are no numbers any more."""

from __future__ import annotations

from tabgrad.errors import TabgradError


class TrainingDiverged(TabgradError):
    """The loss, its gradient or the weights are no number any more.

    Args:
        step: where it was noticed.
        what: what was measured there, in words.
        saved_step: the last good checkpoint; -1 when there is none yet.

    Example:
        >>> print(TrainingDiverged(7, "the loss is nan", 5).message)
        Training became unstable at step 7: the loss is nan.
    """

    code = "diverged"

    def __init__(self, step: int, what: str, saved_step: int) -> None:
        kept = f"The checkpoint of step {saved_step} is kept. " if saved_step >= 0 else ""
        super().__init__(f"Training became unstable at step {step}: {what}.",
                         remedy=f"{kept}Lower the learning rate and train again.",
                         control="learning_rate")
