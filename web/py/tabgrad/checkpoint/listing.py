"""What a host says of a model's files, before any of them is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabgrad import platform
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError, DownloadError

LISTING_LIMIT = 16 * 2**20
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a host.

    Args:
        name: of the file.
        size: in bytes; None where the host does not tell.
        sha256: of its bytes, where the host tells.
    """

    name: str
    size: int | None
    sha256: str | None = None


@dataclass(frozen=True)
class Listing:
    """A folder of a host.

    Args:
        address: of the folder; ends in "/".
        files: name -> file; None where the host lists none: then one has to ask for each.
        revision: the commit that `address` names, if it does.
        licence: as the host says.
    """

    address: str
    files: dict[str, RemoteFile] | None = None
    revision: str | None = None
    licence: str | None = field(default=None)


async def fetch_listing(api: str, resolve: str, folder: str,
                        headers: Mapping[str, str] | None) -> Listing | None:
    """What the hub's API says of a model; None where it cannot be asked.

    The addresses are those of the commit, so that all files are of one version.

    Args:
        api: address of the description.
        resolve: address that files lie below, without the revision.
        folder: inside the repository, "" or with "/" at its end.
        headers: sent along.
    """
    try:
        data = await platform.current().fetch_small(api, LISTING_LIMIT, headers)
        table = parse_object(data, "the hub's description", LISTING_LIMIT)
    except (DownloadError, CheckpointError):
        # Mirrors have no API, and pages may not be let in: the files themselves will tell.
        return None
    commit, siblings = table.get("sha"), table.get("siblings")
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit) or not isinstance(
            siblings, list):
        return None
    files = {}
    for row in siblings:
        path = row.get("rfilename") if isinstance(row, dict) else None
        if isinstance(path, str) and path.startswith(folder) and "/" not in path[len(folder):]:
            name = path[len(folder):]
            files[name] = _remote_file(name, row)
    return Listing(f"{resolve}/{commit}/{folder}", files, commit, _licence(table))


def _remote_file(name: str, row: dict[str, Any]) -> RemoteFile:
    size, large = row.get("size"), row.get("lfs")
    sha256 = large.get("sha256") if isinstance(large, dict) else None
    return RemoteFile(name, size if type(size) is int and size >= 0 else None,
                      sha256 if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else None)


def _licence(table: dict[str, Any]) -> str | None:
    card = table.get("cardData")
    card = card if isinstance(card, dict) else {}
    for key in ("license_name", "license"):
        value = card.get(key)
        if isinstance(value, str) and 0 < len(value) <= 100:
            return value
    tags = table.get("tags")
    named = [tag.removeprefix("license:") for tag in tags if isinstance(tag, str)
             and tag.startswith("license:")] if isinstance(tags, list) else []
    return named[0][:100] if named else None


def licence_of_readme(text: str) -> str | None:
    r"""The licence in the front matter of a model card.

    Example:
        >>> licence_of_readme("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model")
        'apache-2.0'
    """
    front = re.match(r"---\s*\n(.*?)\n---", text, re.DOTALL)
    if front is None:
        return None
    lines = dict(re.findall(r"^(license(?:_name)?):\s*[\"']?([^\"'\n]{1,100})", front[1],
                            re.MULTILINE))
    found = lines.get("license_name") or lines.get("license")
    return None if found is None else found.strip()
