"""What a run has shown so far: points of the curve, validation losses, samples, answers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from tabgrad.errors import CheckpointError

_COLUMNS = ("step", "loss", "learning_rate", "grad_norm")
_BITS = "bits_per_byte"


class History:
    """Grows with a run and is kept in each of its checkpoints.

    The curve lies in arrays of doubles, 32 bytes a point, so that a long run stays small. JSON
    writes a double with all its digits: losses come back with the same bits.

    Example:
        >>> history = History()
        >>> history.add(1, 5.5, 3e-4, 0.9)
        >>> history.last_loss, History.from_dict(history.to_dict()).last_loss
        (5.5, 5.5)
    """

    def __init__(self) -> None:
        self._columns = {name: array("d") for name in _COLUMNS}
        self.validation: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._columns["step"])

    def add(self, step: int, loss: float, learning_rate: float, grad_norm: float) -> None:
        """One point of the curve."""
        for name, value in zip(_COLUMNS, (step, loss, learning_rate, grad_norm), strict=True):
            self._columns[name].append(value)

    def points(self, start: int = 0) -> Iterator[dict[str, Any]]:
        """Points as the `Point` of protocol.json, from number `start`."""
        for row in range(start, len(self)):
            point: dict[str, Any] = {name: self._columns[name][row] for name in _COLUMNS}
            point["step"] = int(point["step"])
            yield point

    @property
    def last_loss(self) -> float | None:
        """The newest training loss."""
        losses = self._columns["loss"]
        return losses[-1] if losses else None

    @property
    def first_loss(self) -> float | None:
        """The first training loss."""
        losses = self._columns["loss"]
        return losses[0] if losses else None

    @property
    def last_validation(self) -> float | None:
        """The newest validation loss."""
        return float(self.validation[-1]["loss"]) if self.validation else None

    def to_dict(self) -> dict[str, Any]:
        """For state.json: the curve by columns."""
        curve = {name: list(column) for name, column in self._columns.items()}
        return {"curve": curve, "validation": self.validation, "samples": self.samples,
                "answers": self.answers}

    def to_message(self) -> dict[str, Any]:
        """The `History` of protocol.json."""
        return {"points": list(self.points()), "validation": self.validation,
                "samples": self.samples, "answers": self.answers}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> History:
        """Reads what `to_dict` gave.

        Raises:
            CheckpointError: fields are missing or of another kind.
        """
        history = cls()
        try:
            columns = {name: array("d", table["curve"][name]) for name in _COLUMNS}
            history.validation = [
                {"step": int(point["step"]), "loss": float(point["loss"]),
                 **({_BITS: float(point[_BITS])} if _BITS in point else {})}
                for point in table["validation"]]
            history.samples = [{"step": int(sample["step"]), "text": str(sample["text"])}
                               for sample in table["samples"]]
            history.answers = [{"step": int(one["step"]), "answers": [
                {"prompt": str(each["prompt"]), "text": str(each["text"])}
                for each in one["answers"]]} for one in table.get("answers", [])]
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError("The loss history of this checkpoint cannot be read.",
                                  received=str(error)[:200]) from error
        if len({len(column) for column in columns.values()}) != 1:
            raise CheckpointError("The loss history of this checkpoint has uneven columns.")
        history._columns = columns
        return history
