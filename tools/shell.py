"""Places in the checkout, running commands, and the one way in which a build fails."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
DIST = ROOT / "dist"


class BuildError(Exception):
    """One line for a person: what is wrong and what to do. Shown without a traceback."""


def cache_folder() -> Path:
    """Where downloads are kept between builds: TABGRAD_CACHE, else ~/.cache/tabgrad."""
    named = os.environ.get("TABGRAD_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "tabgrad"


def say(text: str) -> None:
    """Tells the person at the terminal. Standard output is kept for results."""
    print(text, file=sys.stderr, flush=True)


def run(command: Sequence[str | Path], what: str, *, cwd: Path = ROOT,
        env: Mapping[str, str] | None = None) -> None:
    """Runs a command; its output is shown, on standard error, only when it fails.

    Raises:
        BuildError: the command is missing or failed; the message starts with `what`.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, check=False, env={**os.environ, **(env or {})},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
    except FileNotFoundError as error:
        raise BuildError(f"{what}: there is no command '{words[0]}' here.") from error
    if done.returncode != 0:
        say(done.stdout.rstrip())
        raise BuildError(f"{what} failed (exit code {done.returncode}): {' '.join(words)}")


def digest(*parts: bytes) -> str:
    """Hex SHA-256 of byte strings, each preceded by its length so that borders count."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


@contextlib.contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Holds a lock file in .cache/, so that two builds do not install into one place at once."""
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
