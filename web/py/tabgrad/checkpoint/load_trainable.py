"""From a folder's files to a decoder that is trained whole: every weight becomes float32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tabgrad import platform
from tabgrad.checkpoint.load import Progress, recipe_of
from tabgrad.checkpoint.models import StoredModel, StoredTensor
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.names import Piece, Placement, placements
from tabgrad.models.state import checked_names
from tabgrad.nn import ParameterArena
from tabgrad.tensor import ITEM_BYTES

CHUNK = 1 << 22
"""Numbers that are in memory at once, where a matrix lies in the file as it lies here."""


def trainable_decoder(device: Device, model: StoredModel) -> Decoder:
    """A decoder in a trainable arena that has the model's shapes and no values yet.

    Args:
        device: where it shall be.
        model: whose config.json says what it is.

    Raises:
        CheckpointError: a model that tabgrad does not compute.
        OutOfMemory: the weights are one buffer, and this adapter has none as large.
    """
    use_device(device)
    decoder = Decoder.unplaced(recipe_of(model))
    decoder.device = device
    decoder.arena = ParameterArena(decoder, device, drawn=False)
    return decoder


async def load_trainable(decoder: Decoder, model: StoredModel,
                         progress: Progress | None = None) -> None:
    """Fills a trainable decoder from a stored model, piece by piece.

    Args:
        decoder: of `trainable_decoder`.
        model: whose files are complete.
        progress: called after each tensor with (bytes read, all bytes).

    Raises:
        CheckpointError: tensors that do not fit.
        StorageError: a file cannot be read.
    """
    parameters = decoder.arena.parameters
    table = placements(decoder.recipe, {name: p.shape for name, p in parameters.items()})
    names = checked_names(decoder.recipe, table,
                          {name: tensor.shape for name, tensor in model.tensors.items()})
    tensors = {placement.file: model.tensors[names[placement.file]] for placement in table}
    total, done = sum(tensor.size for tensor in tensors.values()), 0
    for placement in table:
        tensor = tensors[placement.file]
        await _fill(decoder, model, placement, tensor)
        done += tensor.size
        if progress is not None:
            progress(done, total)
        await platform.current().pause()


async def _fill(decoder: Decoder, model: StoredModel, placement: Placement,
                tensor: StoredTensor) -> None:
    if placement.transposed:
        array = (await model.read_numbers(tensor, 0, tensor.count)).reshape(tensor.shape)
        turned = np.ascontiguousarray(array.T).reshape(-1)
        for piece in placement.pieces:
            _write(decoder, piece.parameter, piece.target,
                   turned[piece.source:piece.source + piece.count])
        return
    for piece in placement.pieces:
        for start, count in _chunks(piece):
            numbers = await model.read_numbers(tensor, piece.source + start, count)
            _write(decoder, piece.parameter, piece.target + start, numbers)


def _chunks(piece: Piece) -> Iterator[tuple[int, int]]:
    for start in range(0, piece.count, CHUNK):
        yield start, min(CHUNK, piece.count - start)


def _write(decoder: Decoder, name: str, start: int, numbers: np.ndarray) -> None:
    region = decoder.arena.parameters[name].region
    target = region.part(start * ITEM_BYTES, numbers.size * ITEM_BYTES)
    decoder.device.write(target, numbers.tobytes())
