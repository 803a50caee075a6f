"""Programs and drivers of the operating system: found, or installed by apt-get as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from tools.shell import BuildError, run, say

# Debian's names. Chromium draws WebGPU on its own software adapter; lavapipe (in the Mesa
# drivers) is the software adapter of native WebGPU and of Firefox.
CHROMIUM = ("chromium",)
VULKAN = ("libvulkan1", "mesa-vulkan-drivers")
TESTS = (*CHROMIUM, *VULKAN, "firefox-esr", "fonts-dejavu-core")


def ensure(packages: Sequence[str]) -> None:
    """Installs those of Debian's `packages` that are missing.

    Where there is no dpkg nothing is checked: the program that needs them says what it misses.

    Raises:
        BuildError: some are missing and this user may not install them.
    """
    if shutil.which("dpkg-query") is None:
        return
    missing = [name for name in packages if not _installed(name)]
    if missing:
        install(missing, "System packages")


def install(packages: Sequence[str], what: str) -> None:
    """Runs apt-get for `packages`; as another user than root, says which command would do it."""
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise BuildError(f"{what} missing: {names}. Install them with your system's packages.")
    if os.geteuid() != 0:
        raise BuildError(f"{what} missing. Run: sudo apt-get install -y {names}")
    say(f"Installing by apt-get: {names}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "-qq", "update"], "apt-get update", env=quiet)
    run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages],
        "apt-get install", env=quiet)


def chromium() -> str:
    """The path of Chromium: TABGRAD_CHROMIUM, else the one installed here.

    Raises:
        BuildError: there is no browser.
    """
    named = os.environ.get("TABGRAD_CHROMIUM")
    if named:
        if shutil.which(named) is None:
            raise BuildError(f"No browser: TABGRAD_CHROMIUM names {named}, which does not run.")
        return named
    if _chromium() is None:
        ensure(CHROMIUM)
    found = _chromium()
    if found is None:
        raise BuildError("No browser: install Chromium, or name one in TABGRAD_CHROMIUM.")
    return found


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


def _installed(package: str) -> bool:
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout == "installed"
