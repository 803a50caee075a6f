"""Where models come from: the Hugging Face hub, or any folder that a host serves.

Nothing is fetched until somebody asks: `resolve` only reads the text that a person typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from tabgrad.checkpoint.facts import Facts, gather_facts
from tabgrad.checkpoint.listing import Listing, fetch_listing
from tabgrad.errors import DownloadError
from tabgrad.platform.transfer import check_address

HUB = "https://huggingface.co"
_ALIASES = ("hf.co", "www.huggingface.co")
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_OWNER_NAME = re.compile(rf"({_PART})/({_PART})")
_NOT_MODELS = ("datasets", "spaces", "api", "docs", "collections", "papers")


@dataclass(frozen=True)
class Source:
    """A folder of a host that should hold a model.

    Args:
        title: what a person calls it: "owner/name", or host and path.
        address: of the folder; ends in "/".
        repository: address of the model on a hub; None for a plain folder.
        api: where the hub describes that model.
        folder: inside the model's repository, "" or with "/" at its end.
    """

    title: str
    address: str
    repository: str | None = None
    api: str | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """A plain name for the model's folder on disk.

        Example:
            >>> resolve("HuggingFaceTB/SmolLM2-135M").name
            'HuggingFaceTB--SmolLM2-135M'
        """
        return plain_name(self.title)

    async def facts(self, headers: Mapping[str, str] | None = None) -> Facts:
        """What there is to know before a download: some small files and ranges are fetched.

        Args:
            headers: sent along: an access token.

        Raises:
            DownloadError: the host does not give config.json or the headers of the weights.
            CheckpointError: they are not what they should be.
        """
        listing = None
        if self.api is not None:
            listing = await fetch_listing(self.api, f"{self.repository}/resolve", self.folder,
                                          headers)
        return await gather_facts(listing or Listing(self.address), headers)


def resolve(text: str, hub: str = HUB) -> Source:
    """Understands what a person typed.

    Args:
        text: "owner/name", a page or folder of the hub, or the address of a folder (or of a file
            in it) on any host.
        hub: address of the hub, or of a mirror.

    Raises:
        DownloadError: it is none of these.

    Example:
        >>> resolve("HuggingFaceTB/SmolLM2-135M").address
        'https://huggingface.co/HuggingFaceTB/SmolLM2-135M/resolve/main/'
        >>> resolve("https://huggingface.co/Qwen/Qwen3-0.6B/tree/refs%2Fpr%2F1").address
        'https://huggingface.co/Qwen/Qwen3-0.6B/resolve/refs%2Fpr%2F1/'
        >>> resolve("https://a.example/models/tiny/config.json").address
        'https://a.example/models/tiny/'
    """
    text = text.strip()
    found = _OWNER_NAME.fullmatch(text)
    if found:
        return _of_hub(hub, found[1], found[2], "main", "")
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http"):
        raise _unknown(text)
    check_address(text)
    base = f"{parts.scheme}://{parts.netloc}"
    if parts.netloc in _ALIASES:
        base = HUB
    if base in (hub, HUB):
        return _hub_page(base, parts.path, text)
    if parts.query:
        raise DownloadError("An address with a question mark cannot be the address of a folder.",
                            kind="Address", received=text[:200],
                            expected="https://host/path/, with the model's files directly below")
    path = parts.path if parts.path.endswith("/") else _folder_of(parts.path)
    return Source((parts.netloc + path).strip("/"), base + path)


def _hub_page(hub: str, path: str, text: str) -> Source:
    steps = [step for step in path.split("/") if step]
    if len(steps) < 2 or steps[0] in _NOT_MODELS or not _OWNER_NAME.fullmatch("/".join(steps[:2])):
        raise _unknown(text)
    owner, name, *rest = steps
    if not rest:
        return _of_hub(hub, owner, name, "main", "")
    if rest[0] not in ("tree", "resolve", "blob", "raw") or len(rest) < 2:
        raise _unknown(text)
    inside = [unquote(step) for step in rest[2:]]
    if inside and rest[0] != "tree":
        inside.pop()  # the address of a file
    if any(step in (".", "..") for step in inside):
        raise _unknown(text)
    folder = "".join(f"{quote(step, safe='')}/" for step in inside)
    return _of_hub(hub, owner, name, unquote(rest[1]), folder)


def _of_hub(hub: str, owner: str, name: str, revision: str, folder: str) -> Source:
    model, escaped = f"{owner}/{name}", quote(revision, safe="")
    where = "/".join(part for part in ("" if revision == "main" else revision, folder.strip("/"))
                     if part)
    return Source(f"{model} ({where})" if where else model,
                  f"{hub}/{model}/resolve/{escaped}/{folder}", f"{hub}/{model}",
                  f"{hub}/api/models/{model}/revision/{escaped}?blobs=true", folder)


def _folder_of(path: str) -> str:
    """The folder of a path without "/" at its end: of a file, when its name has an ending."""
    above, _, last = path.rpartition("/")
    return f"{above}/" if last.endswith((".json", ".safetensors", ".md", ".jinja")) else f"{path}/"


def plain_name(title: str) -> str:
    """Letters, digits, dots and hyphens: the name of a folder on disk.

    Example:
        >>> plain_name("a.example/models/Tiny Model")
        'a.example--models--Tiny-Model'
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title.replace("/", "--")).strip("-.")
    return name[:96].strip("-.") or "model"


def _unknown(text: str) -> DownloadError:
    return DownloadError("This is no address of a model.", kind="Address", received=text[:200],
                         expected="owner/name as on the Hugging Face hub, or https://host/path/")
