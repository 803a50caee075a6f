"""Python code in the real browser stack: Pyodide in a module worker, with the package."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from textwrap import dedent
from typing import Any

from playwright.sync_api import BrowserContext

from tools import node, site, vendor, wheels
from tools.shell import WEB

HERE = Path(__file__).parent
NOT_SEAM = ("app", "corpus", "py", "style", "tasks", "wgsl")
READY = "async () => { await window.ready; }"
RUN = "(code) => window.runPython(code)"


def make_site(target: Path, python: Path) -> str:
    """Puts the harness, Pyodide, the package and the seam into a folder; the page's address.

    Args:
        target: an empty folder.
        python: an interpreter with pip, to fetch Pyodide's wheels with.
    """
    source = node.modules() / "pyodide"
    lock = json.loads((source / "pyodide-lock.json").read_text())
    (target / "pyodide").mkdir()
    for name in site.PYODIDE_FILES:
        shutil.copy(source / name, target / "pyodide" / name)
    fetched = wheels.fetch_all(lock, node.version("pyodide"), python)
    (target / "pyodide" / "pyodide-lock.json").write_bytes(
        wheels.trimmed(lock, wheels.needed(lock)))
    for name, content in fetched.items():
        (target / "pyodide" / name).write_bytes(content)
    with zipfile.ZipFile(target / "tabgrad.zip", "w") as archive:
        for folder, name in ((WEB / "py" / "tabgrad", "tabgrad"), (WEB / "wgsl", "tabgrad/wgsl"),
                             (WEB / "tasks", "tabgrad/tasks")):
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".py", ".wgsl", ".jsonl"):
                    archive.write(path, f"{name}/{path.relative_to(folder).as_posix()}")
        archive.write(WEB / "protocol.json", "tabgrad/protocol.json")
    for folder in WEB.iterdir():  # the seam's modules, not the page
        if folder.is_dir() and folder.name not in NOT_SEAM:
            shutil.copytree(folder, target / folder.name)
    for name, content in vendor.for_workers().items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
    for path in WEB.glob("*.js"):
        shutil.copy(path, target / path.name)
    for name in ("index.html", "page.js", "worker.js"):
        shutil.copy(HERE / name, target / name)
    return "index.html?pyodide=pyodide/&package=tabgrad.zip&seam=seam.js"


class PythonPage:
    """A page whose worker runs Python.

    Args:
        context: of a browser.
        url: of the page that `make_site` made.

    Attributes:
        problems: console messages and page errors, as they came.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.problems: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.problems.append(
            f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.goto(url)
        self.page.evaluate(READY)

    def __call__(self, code: str) -> Any:
        """Runs code in a fresh namespace (`await` works); its last expression, through JSON."""
        return json.loads(self.page.evaluate(RUN, dedent(code)))

    def close(self) -> None:
        """Closes the tab."""
        self.page.close()
