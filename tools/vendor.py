"""Packages of npm that workers import.

An import map does not reach a worker. So these packages lie inside the site's own bundle, at
`vendor/<name>/`, and our modules load them by an address relative to themselves, when they are
first needed:

    const { sha256 } = /** @type {typeof import("@noble/hashes/sha2.js")} */ (
      await import(new URL("../vendor/noble-hashes/sha2.js", import.meta.url).href));
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools import node


@dataclass(frozen=True)
class Package:
    """What is published of a package: `files` maps our path in vendor/<name>/ to the package's."""

    package: str
    files: dict[str, str]


FOR_WORKERS = {
    "huggingface-jinja": Package("@huggingface/jinja", {
        "jinja.js": "dist/index.js", "LICENSE": "LICENSE"}),
    "huggingface-tokenizers": Package("@huggingface/tokenizers", {
        "tokenizers.js": "dist/tokenizers.mjs", "LICENSE": "LICENSE"}),
    "noble-hashes": Package("@noble/hashes", {
        name: name for name in ("sha2.js", "_md.js", "_u64.js", "utils.js", "LICENSE")}),
}
_SOURCE_MAP = re.compile(rb"^//# sourceMappingURL=.*\n?", re.MULTILINE)


def for_workers() -> dict[str, bytes]:
    """Path in the site's own bundle -> content; `node.modules()` has installed the packages."""
    return {
        f"vendor/{name}/{path}": _content(package, origin)
        for name, package in FOR_WORKERS.items() for path, origin in package.files.items()}


def _content(package: Package, origin: str) -> bytes:
    content = (node.MODULES / package.package / origin).read_bytes()
    # A map that is not served would only make the developer tools ask for it.
    return _SOURCE_MAP.sub(b"", content) if origin.endswith((".js", ".mjs")) else content
