# What tabgrad uses of Pyodide's `pyodide.code`, which exists only in the browser.

from typing import Any

def run_js(code: str) -> Any: ...
