"""Browser-side packages from npm, exactly as package-lock.json pins them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.shell import ROOT, BuildError, digest, exclusive, run, say

MODULES = ROOT / "node_modules"


def modules() -> Path:
    """The folder node_modules/, after `npm ci` where the lock file changed.

    Raises:
        BuildError: Node.js is missing, or the packages cannot be installed.
    """
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise BuildError("Node.js with npm is missing. Install Node.js 20 or newer.")
    lists = [(ROOT / name).read_bytes() for name in ("package.json", "package-lock.json")]
    wanted = digest(*lists)
    with exclusive("node"):
        stamp = MODULES / ".tabgrad-stamp"
        if stamp.exists() and stamp.read_text() == wanted:
            return MODULES
        say("Installing the Node packages of package-lock.json")
        # Errors only: puppeteer-core asks for a newer Node than it needs for what we use.
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            "npm ci")
        stamp.write_text(wanted)
    return MODULES


def version(package: str) -> str:
    """The installed version of a Node package."""
    return str(json.loads((MODULES / package / "package.json").read_text())["version"])
