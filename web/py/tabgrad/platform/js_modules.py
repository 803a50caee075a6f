"""JavaScript modules without a server: each is published under an address of its own."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_IMPORT = re.compile(
    r"""^(?P<before>import\s*|(?:import|export)\b[^;"'()=]*?\bfrom\s*)"""
    r"""(?P<quote>["'])(?P<name>\.{1,2}/[^"']+)(?P=quote)""", re.MULTILINE)
_ADDRESS = re.compile(
    r"""(?P<before>new URL\(\s*)(?P<quote>["'])(?P<name>\.{1,2}/[^"']+)(?P=quote)"""
    r""",\s*import\.meta\.url\s*\)""")


def link(sources: Mapping[str, str], entry: str, publish: Callable[[str], str]) -> str:
    """Publishes a module, and before it all that it needs.

    An address of the kind `blob:` has no folder, so that relative imports, and addresses relative
    to `import.meta.url`, lead nowhere: they are replaced by the addresses of what they mean.

    Args:
        sources: path -> text of every module; paths are relative to one folder.
        entry: path of the module that is wanted.
        publish: makes a text available and gives its address.

    Returns:
        the address of the entry.

    Raises:
        ValueError: a module needs one that is not there, or itself.

    Example:
        >>> sources = {"a.js": 'import { b } from "./lib/b.js";', "lib/b.js": "export const b = 1;"}
        >>> print(link(sources, "a.js", lambda text: f"blob:{len(text)}"))
        blob:28
    """
    published: dict[str, str] = {}
    _publish(sources, entry, publish, published, ())
    return published[entry]


def _publish(sources: Mapping[str, str], path: str, publish: Callable[[str], str],
             published: dict[str, str], above: tuple[str, ...]) -> None:
    if path in above:
        raise ValueError(f"{path} imports itself, through {' and '.join(above)}")
    if path not in sources:
        raise ValueError(f"{above[-1] if above else 'nothing'} needs {path}, which is not there")

    def address(name: str) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if target not in published:
            _publish(sources, target, publish, published, (*above, path))
        return published[target]

    def imported(found: re.Match[str]) -> str:
        return f"{found['before']}{found['quote']}{address(found['name'])}{found['quote']}"

    def located(found: re.Match[str]) -> str:
        return f"{found['before']}{found['quote']}{address(found['name'])}{found['quote']})"

    text = _ADDRESS.sub(located, _IMPORT.sub(imported, sources[path]))
    published[path] = publish(text)
