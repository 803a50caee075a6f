# What tabgrad uses of Pyodide's `pyodide.ffi`, which exists only in the browser.

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

class JsException(Exception):
    name: str
    message: str

def can_run_sync() -> bool: ...
def create_proxy(obj: Callable[..., Any]) -> Any: ...
def run_sync(awaitable: Coroutine[Any, Any, Result]) -> Result: ...
def to_js(obj: object, *, create_pyproxies: bool = ...) -> Any: ...
