"""The launches of `moe` over its experts: row by row, or the rows of one expert together.

Every launch takes the experts in ranges that the adapter can bind: one range, nearly always. What
lies in another range counts as zero, so the results of the ranges are added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import SMALL, default_variant
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.reference.stored import FORMATS, byte_count
from tabgrad.tensor import ITEM_BYTES, Tensor

FEW_ROWS = 6  # of an expert on average: then the smallest tiles waste least


@dataclass(frozen=True)
class Routing:
    """Which experts each row goes to.

    Attributes:
        rows: N.
        top_k: experts of a row.
        count: experts there are, E.
        experts: (N, top_k) u32.
        weights: (N, top_k).
        log_sum: (N), log-sum-exp of the router's logits.
    """

    rows: int
    top_k: int
    count: int
    experts: Region
    weights: Region
    log_sum: Region

    @property
    def pairs(self) -> int:
        """Of a row and one of its experts."""
        return self.rows * self.top_k


@dataclass(frozen=True)
class Groups:
    """The pairs sorted by expert, in tiles of positions; see `reference/moe_groups.py`.

    Attributes:
        tiles: how many there can be.
        height: positions of a tile, T.
        consts: blocks of the matrix products; a tile is as high as a block.
        row: (P) u32, each position's row.
        weight: (P), its weight.
        place: (N, top_k) u32, each pair's position.
        tile_expert: (tiles) u32.
        first_tile: (E + 1) u32.
    """

    tiles: int
    height: int
    consts: dict[str, int]
    row: Region
    weight: Region
    place: Region
    tile_expert: Region
    first_tile: Region

    @property
    def positions(self) -> int:
        """P."""
        return self.tiles * self.height


@dataclass(frozen=True)
class ExpertRange:
    """Neighbouring experts: the first, how many, and their bytes."""

    first: int
    count: int
    region: Region


def expert_ranges(shape: tuple[int, ...], dtype: str, region: Region) -> list[ExpertRange]:
    """The experts' matrices in as few ranges as the current adapter can bind.

    Args:
        shape: (E, ..., ...).
        dtype: "float32", "bfloat16" or "float16".
        region: all of them.

    Raises:
        ShapeError: an expert is larger than this adapter can bind.
    """
    limit = current_device().info.limits["maxStorageBufferBindingSize"]
    if region.size <= limit:
        return [ExpertRange(0, shape[0], region)]
    width = byte_count(shape[1] * shape[2], dtype)
    step = ALIGNMENT // math.gcd(ALIGNMENT, width)  # a range starts at a multiple of 256 bytes
    most = limit // (width * step) * step
    if most == 0:
        raise ShapeError("moe: one expert is larger than this adapter can bind at once.",
                         expected=f"at most {limit // step} bytes", received=f"{width} bytes",
                         remedy="Use weights in 16 bits, or a model with smaller experts.")
    starts = range(0, shape[0], most)
    counts = [min(most, shape[0] - first) for first in starts]
    return [ExpertRange(first, count, region.part(first * width, count * width))
            for first, count in zip(starts, counts, strict=True)]


def _over_ranges(weight: Tensor, accumulate: bool = False,
                 region: Region | None = None) -> Iterator[tuple[dict[str, int], Region]]:
    """FIRST, COUNT and ACCUMULATE of each range of a weight (or of its gradient), and its bytes."""
    for each in expert_ranges(weight.shape, weight.dtype, region or weight.region):
        adds = accumulate or (region is None and each.first > 0)
        yield {"FIRST": each.first, "COUNT": each.count, "ACCUMULATE": int(adds)}, each.region


def _stored(weight: Tensor) -> dict[str, int]:
    return {"STORED": FORMATS.index(weight.dtype)}


def temporary(count: int, label: str) -> Region:
    """Room for `count` numbers."""
    return current_device().temporary(count * ITEM_BYTES, label)


def launch_rows(out: Region, x: Region, gate_up: Tensor, down: Tensor, routing: Routing) -> None:
    """All experts of a few rows, row by row: each reads the experts that it needs.

    Args:
        out: (N, C), written.
        x: (N, C).
        gate_up: (E, 2F, C).
        down: (E, C, F).
        routing: of these rows.
    """
    device = current_device()
    _, c, f = down.shape
    sizes = {"N": routing.rows, "TOP": routing.top_k, "E": routing.count, "C": c, "F": f}
    h = temporary(routing.pairs * f, "experts' activations")
    for ranged, region in _over_ranges(gate_up):
        device.launch("moe_row_gate_up", sizes | ranged,
                      {"LANES": lanes_of_a_row(device.info, c)} | _stored(gate_up),
                      flops=4 * routing.pairs * f * c, out=h, x=x, gate_up=region,
                      experts=routing.experts, weights=routing.weights)
    for ranged, region in _over_ranges(down):
        device.launch("moe_row_down", sizes | ranged,
                      {"LANES": lanes_of_a_row(device.info, f)} | _stored(down),
                      flops=2 * routing.pairs * f * c, out=out, h=h, down=region,
                      experts=routing.experts)


def launch_route(logits: Tensor, top_k: int, normalize: bool) -> Routing:
    """Chooses the experts of each row of router logits (..., E)."""
    device = current_device()
    count = logits.shape[-1]
    rows = logits.size // count
    routing = Routing(rows, top_k, count, temporary(rows * top_k, "chosen experts"),
                      temporary(rows * top_k, "experts' weights"), temporary(rows, "log sums"))
    device.launch("moe_route_forward",
                  {"N": rows, "E": count, "TOP": top_k, "NORMALIZE": int(normalize)},
                  {"LANES": lanes_of_a_row(device.info, count)}, flops=3 * rows * count,
                  experts=routing.experts, weights=routing.weights, log_sum=routing.log_sum,
                  logits=logits.region)
    return routing


def launch_group(routing: Routing) -> Groups:
    """Sorts the pairs by expert into tiles whose height fits the rows that an expert gets."""
    device = current_device()
    pairs, count = routing.pairs, routing.count
    consts = default_variant("matmul_nt", max(pairs, 2), 4, 4, device.info).consts
    if pairs < FEW_ROWS * count:
        consts = SMALL.consts
    height = consts["BLOCK_M"]
    tiles = (pairs + min(pairs, count) * (height - 1)) // height
    groups = Groups(tiles, height, dict(consts), temporary(tiles * height, "rows of positions"),
                    temporary(tiles * height, "weights of positions"),
                    temporary(pairs, "positions of pairs"), temporary(tiles, "experts of tiles"),
                    temporary(count + 1, "first tiles"))
    sizes = {"A": pairs, "TOP": routing.top_k, "T": height, "TILES": tiles, "E": count}
    device.launch("moe_group", sizes, rows=groups.row, weight=groups.weight, place=groups.place,
                  tile_expert=groups.tile_expert, first_tile=groups.first_tile,
                  experts=routing.experts, weights=routing.weights)
    return groups


def launch_product(form: str, x: Region, weight: Tensor, routing: Routing, groups: Groups,
                   gather: bool) -> Region:
    """Each position's row times its expert's matrix, for `form` "nn", or its transpose ("nt").

    Args:
        form: which.
        x: (N, K) where `gather`, a row for each row; else (P, K), a row for each position.
        weight: (E, N, K) for "nt", (E, K, N) for "nn".
        routing: which experts.
        groups: the positions.
        gather: as said.

    Returns:
        (P, N).
    """
    device = current_device()
    n, k = weight.shape[1:] if form == "nt" else reversed(weight.shape[1:])
    out = temporary(groups.positions * n, f"experts' {form}")
    sizes = {"M": groups.positions, "N": n, "K": k, "R": routing.rows, "E": routing.count}
    for ranged, region in _over_ranges(weight):
        device.launch(f"moe_matmul_{form}", sizes | ranged,
                      groups.consts | _stored(weight) | {"GATHER": int(gather)},
                      flops=2 * routing.pairs * n * k, out=out, a=x, b=region, rows=groups.row,
                      tile_expert=groups.tile_expert)
    return out


def launch_gradient(target: Region, accumulate: bool, weight: Tensor, a: Region, b: Region,
                    routing: Routing, groups: Groups, gather_a: bool) -> None:
    """Gradient of the experts' matrices (E, M, N): each expert's sum of aᵀ b.

    Args:
        target: where the gradient goes.
        accumulate: whether it is added there.
        weight: whose gradient.
        a: (N, M) where `gather_a`, a row for each row; else (P, M), a row for each position.
        b: (P, N) where `gather_a`; else (N, N).
        routing: which experts.
        groups: the positions.
        gather_a: as said.
    """
    device = current_device()
    m, n = weight.shape[1:]
    consts = default_variant("matmul_tn", m, n, 4, device.info).consts
    sizes = {"TILES": groups.tiles, "T": groups.height, "M": m, "N": n, "R": routing.rows,
             "E": routing.count}
    for ranged, region in _over_ranges(weight, accumulate, target):
        device.launch("moe_matmul_tn", sizes | ranged, {**consts, "GATHER_A": int(gather_a)},
                      flops=2 * routing.pairs * m * n, out=region, a=a, b=b, rows=groups.row,
                      first_tile=groups.first_tile)
