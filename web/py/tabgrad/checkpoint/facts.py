"""What is known of a model before its weights are fetched: sizes, memory, licence, hindrances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabgrad import platform
from tabgrad.checkpoint.listing import Listing, RemoteFile, licence_of_readme
from tabgrad.checkpoint.safetensors import Header, decode_header
from tabgrad.checkpoint.shards import (
    INDEX,
    INDEX_LIMIT,
    WEIGHTS,
    StoredTensor,
    gather,
    header_bytes,
    named,
    parse_index,
)
from tabgrad.checkpoint.stored_model import CONFIG, CONFIG_LIMIT, GENERATION_CONFIG
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError, DownloadError, TabgradError
from tabgrad.models.configs import recipe_from_config
from tabgrad.reference.stored import FORMATS

TOKENIZER = "tokenizer.json"
README = "README.md"
README_LIMIT = 2**20
EXTRAS = (TOKENIZER, "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
          "chat_template.json", GENERATION_CONFIG, "LICENSE")
"""Files that are fetched where they are there."""
_FIRST_BYTES = 2**16
_MISSING = ("NotFound", "WebPage", "Forbidden")
# Some hosts answer for a file that they lack with a web page, others with "forbidden".


@dataclass(frozen=True)
class Facts:
    """What a person should know before saying yes.

    Args:
        address: of the folder that the files are fetched from; ends in "/".
        files: all that would be fetched; the weights last.
        bytes: of all of them.
        licence: as the model card says; None where it does not.
        config: config.json.
        parameters: how many numbers the weights have.
        dtypes: how many of them are stored in each dtype.
        memory: bytes of GPU memory that the weights take as they are stored.
        revision: the commit, where the host is a hub.
        problem: why it cannot run here; None if nothing speaks against it.
    """

    address: str
    files: tuple[RemoteFile, ...]
    bytes: int
    licence: str | None
    config: dict[str, Any]
    parameters: int
    dtypes: dict[str, int]
    memory: int
    revision: str | None
    problem: str | None


async def gather_facts(listing: Listing, headers: Mapping[str, str] | None) -> Facts:
    """Fetches config.json, the index, the headers of the weights, and the sizes of the rest.

    Raises:
        DownloadError: the host does not give them.
        CheckpointError: they are not what they should be.
    """
    host = _Host(listing, headers)
    config_data = await host.small(CONFIG, CONFIG_LIMIT)
    config = parse_object(config_data, CONFIG, CONFIG_LIMIT)
    index_data = await host.optional(INDEX, INDEX_LIMIT)
    index = None if index_data is None else parse_index(index_data)
    weights, shards = [], {}
    for name in sorted(set(index.values())) if index is not None else [WEIGHTS]:
        file, shards[name] = await host.header(name)
        weights.append(file)
    tensors = gather(shards, index)
    small = [RemoteFile(CONFIG, len(config_data))]
    if index_data is not None:
        small.append(RemoteFile(INDEX, len(index_data)))
    small += [found for name in EXTRAS if (found := await host.probe(name)) is not None]
    files = (*small, *weights)
    dtypes: dict[str, int] = {}
    for tensor in tensors.values():
        dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + tensor.count
    return Facts(listing.address, files, sum(file.size or 0 for file in files),
                 listing.licence or await host.licence(), config,
                 sum(tensor.count for tensor in tensors.values()), dtypes,
                 sum(-(-tensor.size // 4) * 4 for tensor in tensors.values()), listing.revision,
                 problem_of(config, tensors, {file.name for file in files}))


def problem_of(config: dict[str, Any], tensors: Mapping[str, StoredTensor],
               names: set[str]) -> str | None:
    """Why a model cannot run here, in a sentence; None if nothing speaks against it."""
    try:
        recipe_from_config(config)
    except TabgradError as error:
        return str(error)
    # Masks and the like are stored as whole numbers or booleans; nobody computes with them.
    odd = sorted({tensor.dtype for tensor in tensors.values() if len(tensor.shape) > 1
                  and tensor.dtype not in (*FORMATS, "bool", "int64", "int32", "uint8")})
    if odd:
        return f"Its weights are stored as {', '.join(odd)}; read here: {', '.join(FORMATS)}."
    if TOKENIZER not in names:
        return f"It has no {TOKENIZER}, so text cannot be turned into its tokens."
    return None


class _Host:
    """Asks for the files of one folder."""

    def __init__(self, listing: Listing, headers: Mapping[str, str] | None) -> None:
        self._listing = listing
        self._headers = headers
        self._here = platform.current()

    def _lacks(self, name: str) -> bool:
        return self._listing.files is not None and name not in self._listing.files

    async def small(self, name: str, limit: int) -> bytes:
        if self._lacks(name):
            raise CheckpointError(f"This is no model that can be read here: it has no {name}.",
                                  remedy="Choose a model in the format of Transformers.")
        return await self._here.fetch_small(self._listing.address + name, limit, self._headers)

    async def optional(self, name: str, limit: int) -> bytes | None:
        if self._lacks(name):
            return None
        try:
            return await self._here.fetch_small(self._listing.address + name, limit, self._headers)
        except DownloadError as error:
            if error.kind in _MISSING:
                return None
            raise

    async def probe(self, name: str) -> RemoteFile | None:
        """A file with its size; None where there is none."""
        if self._listing.files is not None:
            return self._listing.files.get(name)
        try:
            start = await self._here.fetch_start(self._listing.address + name, 1, self._headers)
        except DownloadError as error:
            if error.kind in _MISSING:
                return None
            raise
        return RemoteFile(name, start.size)

    async def header(self, name: str) -> tuple[RemoteFile, Header]:
        """A file of weights and its checked header, from the file's first bytes."""
        listed = (self._listing.files or {}).get(name)
        if self._lacks(name):
            raise _no_weights(name)
        url = self._listing.address + name
        try:
            start = await self._here.fetch_start(url, _FIRST_BYTES, self._headers)
        except DownloadError as error:
            if error.kind == "NotFound":
                raise _no_weights(name) from error
            raise
        size = start.size if start.size is not None or listed is None else listed.size
        try:
            length = header_bytes(start.data)
            if length > len(start.data) and size is not None and length <= size:
                start = await self._here.fetch_start(url, length, self._headers)
            header = decode_header(start.data, self._size(name, size))
        except CheckpointError as error:
            raise named(error, name) from error
        if listed is not None and listed.size not in (None, header.file_size):
            raise CheckpointError(f"{name} does not have the length that the hub says.",
                                  expected=f"{listed.size} bytes", received=f"{size} bytes")
        return RemoteFile(name, header.file_size, None if listed is None else listed.sha256), header

    def _size(self, name: str, size: int | None) -> int:
        if size is None:
            raise CheckpointError("the host does not tell how long the file is.",
                                  remedy="Download the files and drop them on the page.")
        return size

    async def licence(self) -> str | None:
        data = await self.optional(README, README_LIMIT)
        return None if data is None else licence_of_readme(data.decode("utf-8", "replace"))


def _no_weights(name: str) -> CheckpointError:
    return CheckpointError(f"This model has no {name}.", expected="weights as safetensors",
                           remedy="Only safetensors are read here, no .bin and no .gguf.")
