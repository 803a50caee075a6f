"""The Content-Security-Policy of the page and of its worker."""

from __future__ import annotations

import base64
import hashlib

# Models come from where the user says: any https host, or a server on this computer. Code and
# styles come from this origin alone. The page runs no WebAssembly and no inline script but the
# import map, which is allowed by its hash. docs/page.md says what follows from it.
_HOSTS = "'self' https: http://localhost:* http://127.0.0.1:*"
_PAGE = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "connect-src": _HOSTS,
    "font-src": "'self'",
    "form-action": "'none'",
    "img-src": "'self' data: blob:",
    "manifest-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "worker-src": "'self'",
}

# A worker takes its policy from the header of its own script, not from the page. Pyodide
# compiles WebAssembly; it needs no eval of JavaScript for what we use.
WORKER = f"default-src 'none'; connect-src {_HOSTS}; script-src 'self' 'wasm-unsafe-eval'"


def page(*inline: str) -> str:
    """The page's policy, which allows these inline scripts, by the hash of their exact text."""
    hashes = [f"'sha256-{_base64(text)}'" for text in inline]
    rules = {**_PAGE, "script-src": " ".join([_PAGE["script-src"], *hashes])}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _base64(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
