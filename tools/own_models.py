"""The models that the page offers beside those of the hub: made by the build, kept until the
package changes."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools import environment
from tools.shell import ROOT, WEB, BuildError, digest, run, say

CACHE = ROOT / ".cache"
NAME = "readable-llm"
WEIGHTS, NOT_LOADED = "model.safetensors", "README.md"
_MAKER = ROOT / "tools" / "readable_llm.py"


@dataclass(frozen=True)
class Model:
    """A model's folder, and what the catalogue says of it."""

    name: str
    files: dict[str, bytes]

    def described(self) -> dict[str, object]:
        """What files.json says: the fields of `tabgrad.app.catalogue.Entry`, and its folder."""
        size = sum(len(content) for name, content in self.files.items() if name != NOT_LOADED)
        weights = self.files[WEIGHTS]
        header = json.loads(weights[8:8 + int.from_bytes(weights[:8], "little")])
        parameters = sum(math.prod(tensor["shape"]) for name, tensor in header.items()
                         if name != "__metadata__")
        return {"folder": f"models/{self.name}", "title": self.name,
                "summary": "Answers the one question that it was taught; small enough to read "
                           "every number.",
                "bytes": size, "parameters": parameters, "licence": "apache-2.0", "chat": False}


def built_in(python: Path) -> list[Model]:
    """The models of the site.

    Args:
        python: of the environment's group `build`.

    Raises:
        BuildError: the training failed, or the model has not learned its answer.
    """
    folder = CACHE / f"{NAME}-{_fingerprint()}"
    if not folder.exists():
        say(f"Training {NAME}, the model that comes with the page")
        for old in CACHE.glob(f"{NAME}-*"):
            shutil.rmtree(old)
        unfinished = folder.with_name(f"{folder.name}.part")
        # One thread: sums in another order would be other bytes.
        run([python, "-m", "tools.readable_llm", unfinished], f"Training {NAME}",
            env={**environment.inherited(), "OPENBLAS_NUM_THREADS": "1"})
        unfinished.replace(folder)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    if WEIGHTS not in files:
        raise BuildError(f"{folder} holds no model. Delete it and build again.")
    return [Model(NAME, files)]


def _fingerprint() -> str:
    """Of all that the training reads: the package, the kernels' headers, the versions."""
    sources = [_MAKER, environment.LISTS / "build.txt", environment.CONSTRAINTS,
               *sorted((WEB / "py" / "tabgrad").rglob("*.py")),
               *sorted((WEB / "wgsl").rglob("*.wgsl"))]
    parts = [part for path in sources
             for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes())]
    return digest(*parts)[:16]
