"""The tables of cosines and sines that a decoder's layers turn by."""

from __future__ import annotations

from tabgrad.gpu.device import current_device
from tabgrad.models.recipe import Recipe
from tabgrad.models.rotary import rotary_table
from tabgrad.tensor import Tensor


class RotaryTables:
    """Cosines and sines by which queries and keys turn, one table for each kind of layer.

    Args:
        recipe: whose frequencies.

    A table has as many rows as were asked for; `reserve` makes room for a cache's positions.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.parameters = dict(recipe.rotary)
        self.rows = 0
        self._length: int | None = None
        self._tables: dict[str, Tensor] = {}

    def reserve(self, rows: int, sequence_length: int | None = None) -> None:
        """Makes tables of so many rows; see `rotary_table` for the length.

        A table that is large enough is written over, so that plans which read it stay good.
        """
        if rows > self.rows:
            self.rows = rows
            self._tables = {}
        self._length = sequence_length
        for kind, parameters in self.parameters.items():
            values = rotary_table(parameters, self.rows, sequence_length)
            if kind in self._tables:
                current_device().write(self._tables[kind].region, values.tobytes())
            else:
                self._tables[kind] = Tensor.from_numpy(values)

    @property
    def depend_on_length(self) -> bool:
        """Whether the frequencies change with the length of a long text."""
        return any(one.rope_type == "dynamic" for one in self.parameters.values())

    def fit(self, length: int) -> bool:
        """Makes the tables those of a text of `length`; whether that changed them."""
        known = max((one.max_position_embeddings for one in self.parameters.values()), default=0)
        wanted = max(length, known)
        if not self.depend_on_length or wanted == self._length:
            return False
        self.reserve(max(self.rows, length), wanted)
        return True

    def of(self, kind: str, rows: int, span: Tensor | None) -> Tensor | None:
        """The table (R, r) of a kind of layer; None where nothing turns."""
        if kind not in self.parameters:
            return None
        if span is None:
            if rows > self.rows:
                self.reserve(rows)
            self.fit(rows)
        return self._tables[kind]
