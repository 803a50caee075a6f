"""`tabgrad.load`: from the address of a model to something that writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tabgrad import platform
from tabgrad.checkpoint.hub import resolve
from tabgrad.checkpoint.models import ModelProgress, ModelStore, StoredModel, open_folder
from tabgrad.errors import KernelError
from tabgrad.generate.language_model import LanguageModel
from tabgrad.gpu.device import current_device, open_device

HOME = "~/.cache/tabgrad"
"""Where downloaded models lie on CPython."""
TAB_FOLDER = "tabgrad"
"""Where they lie in the origin's private file system: the page's own folder."""


async def load(source: str, *, context_length: int | None = None,
               progress: Callable[[ModelProgress], object] | None = None,
               headers: Mapping[str, str] | None = None) -> LanguageModel:
    """Opens a model in the Hugging Face layout and puts it on the GPU.

    What was downloaded before is not downloaded again.

    Args:
        source: a folder of the disk (natively); "owner/name" of the hub; the address of a hub page,
            or of a folder that any web server offers.
        context_length: tokens of the longest text; the model's own, at most 4096, if None.
        progress: called while files come.
        headers: sent to the host, and never stored: {"Authorization": "Bearer ..."} for a model
            that asks for consent.

    Raises:
        DownloadError: what the host did.
        StorageError: no room for it.
        CheckpointError: a model that tabgrad does not compute, or no model at all.

    Example:
        lm = await tabgrad.load("HuggingFaceTB/SmolLM2-135M-Instruct")
        async for piece in lm.generate([{"role": "user", "content": "Hello"}]):
            print(piece, end="")
    """
    try:
        device = current_device()
    except KernelError:
        device = await open_device()
    stored = await _stored(source, progress, headers)
    return await LanguageModel.open(device, stored, context_length)


async def _stored(source: str, progress: Callable[[ModelProgress], object] | None,
                  headers: Mapping[str, str] | None) -> StoredModel:
    here = platform.current()
    if here.name == "native":
        folder = Path(source).expanduser()
        if folder.is_dir():
            return await open_folder(here.files(str(folder)), "", folder.name)
        store = ModelStore(here.files(str(Path(HOME).expanduser())))
    else:
        store = ModelStore(here.files(TAB_FOLDER))
    found = resolve(source)
    # What is here is used as it is: a second load asks no host.
    record = await store.find(found) or await store.download(found, progress, headers=headers)
    return await store.open(record.name)
