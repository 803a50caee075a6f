"""The project's own Python environment, .venv/, made by group and only when a list changed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import system
from tools.shell import ROOT, BuildError, digest, exclusive, run, say

VENV = ROOT / ".venv"
LISTS = ROOT / "requirements"
CONSTRAINTS = LISTS / "constraints.txt"

# Each group installs its lists in order. Torch goes first and alone: it picks the build of itself
# that fits the machine, and nothing later may move it.
GROUPS = {
    "build": ("build.txt",),
    "run": ("build.txt", "run.txt"),
    "test": ("torch.txt", "build.txt", "run.txt", "test.txt"),
}


def python(group: str) -> Path:
    """The environment's interpreter, after installing what `group` needs.

    Args:
        group: `build` (the wheel and the site), `run` (headless jobs) or `test` (everything).

    Raises:
        BuildError: the environment cannot be made, or a package cannot be installed.
    """
    interpreter = VENV / "bin" / "python"
    with exclusive("environment"):
        stamp = VENV / f"stamp-{group}"
        wanted = _fingerprint(group)
        if interpreter.exists() and stamp.exists() and stamp.read_text() == wanted:
            return interpreter
        if not _works(interpreter):
            _create()
        for name in GROUPS[group]:
            say(f"Installing requirements/{name} into .venv")
            run([interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 "-r", LISTS / name, "-c", CONSTRAINTS], f"Installing requirements/{name}")
        stamp.write_text(wanted)
    return interpreter


def _fingerprint(group: str) -> str:
    lists = [(LISTS / name).read_bytes() for name in GROUPS[group]]
    return digest(sys.version.encode(), CONSTRAINTS.read_bytes(), *lists)


def _works(interpreter: Path) -> bool:
    if not interpreter.exists():
        return False
    probe = [str(interpreter), "-c", "import sys, pip; print(sys.version)"]
    found = subprocess.run(probe, capture_output=True, text=True, check=False)
    return found.returncode == 0 and found.stdout.strip() == sys.version.strip()


def _create() -> None:
    say("Making the Python environment .venv")
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    maker = base if base.exists() else Path(sys.executable)
    command: list[str | Path] = [maker, "-m", "venv", "--clear", VENV]
    try:
        run(command, "Making .venv")
    except BuildError:
        # Debian's Python leaves `ensurepip` out; its package brings it.
        system.install([f"python3.{sys.version_info.minor}-venv"], "Python's venv module")
        run(command, "Making .venv")


def inherited() -> dict[str, str]:
    """The variables of this process, with the package and tools on Python's path."""
    paths = [str(ROOT / "web" / "py"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    # Vulkan's loader complains on standard error where no session has set XDG_RUNTIME_DIR.
    return {"XDG_RUNTIME_DIR": tempfile.gettempdir(), **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
