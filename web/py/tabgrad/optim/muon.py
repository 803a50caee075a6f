"""Muon: matrices move by orthogonal steps; AdamW moves everything else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import ClassVar

from tabgrad.errors import SettingsError
from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena
from tabgrad.ops.matmul import launch_product
from tabgrad.optim.adamw import AdamW
from tabgrad.optim.optimizer import check_range
from tabgrad.tensor import ITEM_BYTES

ITERATIONS = 5  # of Newton-Schulz
SMALLEST_NORM = 1e-7
RMS_OF_ADAMW = 0.2


class Muon(AdamW):
    """Momentum whose matrices are made orthogonal, for the hidden weights; AdamW for the rest.

    g = factor * gradient
    m = momentum m + (1 - momentum) g
    u = (1 - momentum) g + momentum m  if nesterov else  m
    w = w (1 - rate * decay) - rate * 0.2 sqrt(max(R, C)) * orthogonal(u)

    orthogonal(u) is five steps of a Newton-Schulz iteration in float32: the singular vectors of
    u with singular values near 1 (`reference.muon`). The factor 0.2 sqrt(max(R, C)) gives the
    step the size of one of AdamW's, so that both share a learning rate.

    Args:
        arena: the parameters.
        hidden: names of the matrices (R, C) that Muon moves. Embeddings and the head are not
            among them: their rows are looked up one by one, and AdamW suits them better.
        learning_rate: the rate of a step that gives none.
        momentum: memory of the first moment of the hidden matrices.
        nesterov: whether to step along the moment as it will be after the next gradient.
        betas, epsilon: AdamW's, for the rest.
        weight_decay: the part of a weight that decays in a step of rate 1.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.

    Raises:
        SettingsError: a setting out of its range, or a hidden parameter that is no matrix.

    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024; the
    factor is from Liu et al., "Muon is scalable for LLM training", 2025.
    """

    name: ClassVar[str] = "muon"

    def __init__(self, arena: ParameterArena, hidden: Collection[str], learning_rate: float = 1e-3,
                 momentum: float = 0.95, nesterov: bool = True,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.1, max_grad_norm: float = 0.0) -> None:
        super().__init__(arena, learning_rate, betas, epsilon, weight_decay, max_grad_norm)
        check_range("momentum", momentum, 1.0)
        for name in hidden:
            if name not in arena.parameters or arena.parameters[name].ndim != 2 \
                    or not arena.parameters[name].decay:
                raise SettingsError("Muon moves matrices only.", expected="names of matrices",
                                    received=name, control="optim")
        self.hidden = frozenset(hidden)
        self.momentum = momentum
        self.nesterov = nesterov

    def moments(self) -> dict[str, tuple[Region, frozenset[str]]]:
        """One moment of the hidden matrices, both of the rest."""
        names = frozenset(self.arena.parameters)
        return {"first_moment": (self._first, names),
                "second_moment": (self._second, names - self.hidden)}

    def _record_rule(self, scalars: Region) -> None:
        for hidden, start, count in self._runs():
            if hidden:
                self._record_momentum(scalars, start, count)
            else:
                self._record_adamw(scalars, start, count)

    def _runs(self) -> Iterator[tuple[bool, int, int]]:
        """Neighbours of one kind in the arena: (hidden, first element, elements)."""
        arena = self.arena
        names = sorted(arena.offsets, key=lambda name: arena.offsets[name])
        kinds = [name in self.hidden for name in names]
        starts = [i for i, kind in enumerate(kinds) if i == 0 or kind is not kinds[i - 1]]
        bounds = [arena.offsets[names[i]] for i in starts] + [arena.size]
        for number, i in enumerate(starts):
            yield kinds[i], bounds[number], bounds[number + 1] - bounds[number]

    def _record_momentum(self, scalars: Region, start: int, count: int) -> None:
        """Updates a run of hidden matrices: the moments of all at once, then one by one."""
        arena, device = self.arena, self.arena.device
        update = device.temporary(count * ITEM_BYTES, "update of the matrices")
        first, gradients = (region.part(start * ITEM_BYTES, count * ITEM_BYTES)
                            for region in (self._first, arena.gradients))
        device.launch("muon_momentum", {"COUNT": count, "MOMENTUM": self.momentum,
                                        "GAIN": 1.0 - self.momentum,
                                        "NESTEROV": int(self.nesterov)},
                      update=update, first=first, gradients=gradients, norm=self.norm,
                      halted=self.halted)
        for name in arena.parameters:
            if name in self.hidden and start <= arena.offsets[name] < start + count:
                self._record_matrix(name, update, arena.offsets[name] - start, scalars)

    def _record_matrix(self, name: str, update: Region, place: int, scalars: Region) -> None:
        parameter = self.arena.parameters[name]
        rows, columns = parameter.shape
        step = self._orthogonal(update.part(place * ITEM_BYTES, parameter.size * ITEM_BYTES),
                                rows, columns)                           # (R, C)
        self.arena.device.launch(
            "muon_update", {"COUNT": parameter.size, "WEIGHT_DECAY": self.weight_decay,
                            "RATIO": RMS_OF_ADAMW * math.sqrt(max(rows, columns))},
            weights=parameter.region, step=step, halted=self.halted, scalars=scalars)

    def _orthogonal(self, u: Region, rows: int, columns: int) -> Region:
        """Newton-Schulz: (R, C) -> (R, C), with the Gram matrix of the shorter side."""
        device = self.arena.device
        side = min(rows, columns)
        sums = self._sum_squares(u)
        x = device.temporary(u.size, "normalised update")
        device.launch("muon_normalise", {"COUNT": rows * columns, "SMALLEST": SMALLEST_NORM,
                                         "GROUPS": sums.size // ITEM_BYTES}, out=x, x=u, sums=sums)
        for _ in range(ITERATIONS):
            gram, out = (device.temporary(side * side * ITEM_BYTES, "Gram matrix") for _ in "ab")
            form, long = ("matmul_nt", columns) if rows <= columns else ("matmul_tn", rows)
            launch_product(form, gram, x, x, (side, side, long))         # (S, S)
            launch_product("matmul_nt", out, gram, gram, (side, side, side))
            device.launch("muon_polynomial", {"S": side}, out=out, gram=gram)
            moved = device.temporary(u.size, "orthogonal update")
            pair = (out, x) if rows <= columns else (x, out)
            launch_product("matmul_nn", moved, *pair, (rows, columns, side))
            x = moved
        return x
