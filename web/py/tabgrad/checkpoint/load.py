"""From a folder's files to a decoder on the GPU, each weight in the precision it is stored in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tabgrad import platform
from tabgrad.checkpoint.models import StoredModel, StoredTensor
from tabgrad.errors import CheckpointError
from tabgrad.gpu.device import Device, use_device
from tabgrad.gpu.storage import Region
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.models.names import Placement, placements
from tabgrad.models.recipe import Recipe
from tabgrad.models.state import checked_names
from tabgrad.nn import Parameter
from tabgrad.reference.stored import byte_count
from tabgrad.tensor import ITEM_BYTES, item_bytes

Progress = Callable[[int, int], None]
"""(bytes on the GPU, all bytes)."""


async def load_decoder(device: Device, model: StoredModel,
                       progress: Progress | None = None) -> Decoder:
    """A decoder for reading and writing text, with the weights of a stored model.

    Matrices stay float32, bfloat16 or float16 as in the file; gains, biases and convolutions, which
    are small, become float32. Every tensor of the file is read, or skipped by a named rule.

    Args:
        device: where it shall be; one that only counts bytes reads no tensor.
        model: whose files are complete.
        progress: called after each tensor.

    Raises:
        CheckpointError: a model that tabgrad does not compute, or tensors that do not fit it.
        OutOfMemory: a tensor that this adapter cannot hold.
    """
    use_device(device)
    recipe = recipe_of(model)
    decoder = Decoder.unplaced(recipe)
    decoder.device = device
    parameters = dict(decoder.named_parameters())
    table = placements(recipe, {name: p.shape for name, p in parameters.items()})
    names = checked_names(recipe, table,
                          {name: tensor.shape for name, tensor in model.tensors.items()})
    tensors = {placement.file: model.tensors[names[placement.file]] for placement in table}
    _place(device, decoder, parameters, _dtypes(table, tensors, parameters))
    if not device.keeps_data:
        return decoder
    loader = _Loader(device, model, parameters)
    total = sum(tensor.size for tensor in tensors.values())
    done = 0
    for placement in table:
        tensor = tensors[placement.file]
        await loader.load(placement, tensor)
        done += tensor.size
        if progress is not None:
            progress(done, total)
        await platform.current().pause()
    await device.flush()
    device.trim()  # what the transposes read
    return decoder


def recipe_of(model: StoredModel) -> Recipe:
    """The recipe of a stored model; see `recipe_from_config`."""
    recipe = recipe_from_config(model.config)
    # The parts of a Qwen3.5 config.json can contradict each other about the head; the file cannot.
    if recipe.model_type == "qwen3_5_text" and "lm_head.weight" not in model.tensors:
        return replace(recipe, tie_word_embeddings=True)
    return recipe


def _is_small(name: str, parameter: Parameter) -> bool:
    """Whether a parameter is read by kernels that want float32: gains, biases, convolutions."""
    return parameter.ndim == 1 or "conv1d" in name


def _dtypes(table: list[Placement], tensors: Mapping[str, StoredTensor],
            parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """How each parameter will lie on the GPU."""
    dtypes: dict[str, str] = {}
    for placement in table:
        tensor = tensors[placement.file]
        tensor.check_format()
        for piece in placement.pieces:
            small = _is_small(piece.parameter, parameters[piece.parameter])
            dtype = "float32" if small else tensor.dtype
            if dtypes.setdefault(piece.parameter, dtype) != dtype:
                raise CheckpointError(f"The parts of {piece.parameter} differ in precision.",
                                      expected=dtypes[piece.parameter], received=dtype)
    return dtypes


def _place(device: Device, decoder: Decoder, parameters: Mapping[str, Parameter],
           dtypes: Mapping[str, str]) -> None:
    """Gives every parameter its memory; those that are joined are neighbours."""
    names = {id(parameter): name for name, parameter in parameters.items()}
    groups = [list(joined.parameters) for joined in decoder.joined()]
    grouped = {id(parameter) for group in groups for parameter in group}
    groups += [[parameter] for parameter in parameters.values() if id(parameter) not in grouped]
    for group in groups:
        dtype = dtypes[names[id(group[0])]]
        others = [names[id(one)] for one in group if dtypes[names[id(one)]] != dtype]
        if others:
            raise CheckpointError("Matrices that are multiplied together differ in precision.",
                                  expected=f"{dtype}, as {names[id(group[0])]}",
                                  received=f"{dtypes[others[0]]} for {others[0]}")
        sizes = [byte_count(parameter.size, dtype) for parameter in group]
        storage = device.allocate(sum(sizes), names[id(group[0])])
        start = 0
        for parameter, size in zip(group, sizes, strict=True):
            parameter.requires_grad = False
            parameter.place(Region(storage, start, size), None, dtype)
            start += size


class _Loader:
    """Fills placed parameters from a model's files."""

    def __init__(self, device: Device, model: StoredModel,
                 parameters: Mapping[str, Parameter]) -> None:
        self._device = device
        self._model = model
        self._parameters = parameters

    async def load(self, placement: Placement, tensor: StoredTensor) -> None:
        """One tensor of the file."""
        if all(_is_small(piece.parameter, self._parameters[piece.parameter])
               for piece in placement.pieces):
            await self._through_memory(placement, tensor)
        elif placement.transposed:
            await self._transposed(placement, tensor)
        else:
            for piece in placement.pieces:
                item = item_bytes(tensor.dtype)
                target = self._target(piece.parameter, piece.target, piece.count, tensor.dtype)
                await self._model.upload(tensor, target, offset=piece.source * item,
                                         size=piece.count * item)

    async def _through_memory(self, placement: Placement, tensor: StoredTensor) -> None:
        array = await self._model.read_tensor(tensor.name)
        flat = np.ascontiguousarray(array.T if placement.transposed else array).reshape(-1)
        for piece in placement.pieces:
            part = flat[piece.source:piece.source + piece.count]
            target = self._target(piece.parameter, piece.target, piece.count, "float32")
            self._device.write(target, part.tobytes())

    async def _transposed(self, placement: Placement, tensor: StoredTensor) -> None:
        """(in, out) in the file, (out, in) here: turned on the GPU."""
        # First of all, so that a refusal leaves no launch behind that nobody flushes.
        targets = [self._target(piece.parameter, piece.target, piece.count, tensor.dtype)
                   for piece in placement.pieces]
        size = byte_count(tensor.count, tensor.dtype)
        raw = self._device.allocate(size, f"{tensor.name} as stored").region
        await self._model.upload(tensor, raw)
        turned = self._device.temporary(size, f"{tensor.name} transposed")
        sizes = {"R": tensor.shape[0], "C": tensor.shape[1]}
        if tensor.dtype == "float32":
            self._device.launch("transpose", {**sizes, "ACCUMULATE": 0}, out=turned, x=raw)
        else:
            self._device.launch("transpose_halves", sizes, out=turned, x=raw)
        for piece, target in zip(placement.pieces, targets, strict=True):
            start = piece.source * item_bytes(tensor.dtype)
            self._device.copy(turned.part(start, target.size), target)
        await self._device.flush()

    def _target(self, name: str, start: int, count: int, dtype: str) -> Region:
        parameter, item = self._parameters[name], item_bytes(dtype)
        size = byte_count(count, dtype)
        if start * item % ITEM_BYTES or start * item + size > parameter.region.size:
            raise CheckpointError(f"{name}: a part begins between two words of memory.",
                                  expected="parts with an even number of 16-bit weights",
                                  received=f"weight {start}")
        return parameter.region.part(start * item, size)
