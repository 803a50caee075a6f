"""The JavaScript side: the module that the page registered, else the copy in the wheel.

tabgrad's own worker registers `tabgrad_seam` before Python imports anything. Elsewhere, in
JupyterLite, marimo, PyScript or a page of one's own, there is only the wheel: it carries the same
modules.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

import pyodide_js
from pyodide.code import run_js

from tabgrad.errors import TabgradError
from tabgrad.platform.js_modules import link

NAME, ENTRY = "tabgrad_seam", "seam.js"
FOLDER = Path(__file__).parents[1] / "js"

_one_at_a_time = asyncio.Lock()


async def seam() -> Any:
    """`web/seam.js`, as a module.

    Raises:
        TabgradError: nobody registered it, and this page lets no module be made here.
    """
    if NAME not in sys.modules:
        async with _one_at_a_time:
            try:
                return importlib.import_module(NAME)
            except ModuleNotFoundError:
                pyodide_js.registerJsModule(NAME, await _load())
    return importlib.import_module(NAME)


async def _load() -> Any:
    """Makes the wheel's modules available as `blob:` addresses, and imports the topmost."""
    if not FOLDER.is_dir():
        raise TabgradError("This copy of tabgrad has no JavaScript with it.",
                           expected="the wheel that `build.py build` makes")
    sources = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8")
               for path in FOLDER.rglob("*.js")}
    publish = run_js(
        "(text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))")
    try:
        return await run_js("(address) => import(address)")(link(sources, ENTRY, publish))
    except Exception as error:
        raise TabgradError(
            "tabgrad's JavaScript cannot be loaded.", received=str(error),
            remedy="A Content-Security-Policy must allow blob: in script-src.") from error
