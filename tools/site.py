"""The static site dist/: it works from any host, under any path, with no server logic.

Its layout and files.json are described in docs/architecture.md, "The built site".
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Set
from pathlib import Path

from tools import (
    corpora,
    environment,
    kernel_headers,
    node,
    own_models,
    package,
    page,
    vendor,
    wheels,
)
from tools.bundles import Bundle, content_hash
from tools.shell import DIST, WEB, BuildError, exclusive, say

PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
VENDOR = {
    "uplot": {"uPlot.esm.js": "dist/uPlot.esm.js", "uPlot.min.css": "dist/uPlot.min.css",
              "LICENSE": "LICENSE"},
}
IMPORTS = {"uplot": "uplot/uPlot.esm.js"}
AT_THE_ROOT = ("index.html", "service-worker.js")
ENGINE = "tabgrad.js"  # what other pages import; its address stays the same in every build
NOT_SERVED = ("py", "corpus", "examples")
OLD_BUILD_SECONDS = 3600


def build(site: Path = DIST) -> Path:
    """Builds the site and returns its folder. What did not change is not written again.

    Raises:
        BuildError: something cannot be fetched, or the page does not fit together.
    """
    kernel_headers.check()
    python = environment.python("build")
    node.modules()
    with exclusive("site"):
        bundles, facts = _collect(python)
        own = _own_bundle(bundles, facts)
        _write(site, [own, *bundles])
    size = sum(len(content) for bundle in [own, *bundles] for content in bundle.files.values())
    say(f"Built {_shown(site)}: {size / 1e6:.1f} MB, build {own.hash}")
    return site


def _collect(python: Path) -> tuple[list[Bundle], dict[str, object]]:
    """Every bundle but the site's own, and the facts that files.json states."""
    pyodide, version, packages = _pyodide(python)
    wheel_name, wheel = package.build_wheel(python)
    texts = corpora.built_in(python)
    models = own_models.built_in(python)
    bundles = [
        pyodide,
        Bundle.of("package", "package", {wheel_name: wheel}),
        Bundle.of("corpus", "corpus", {text.file_name: text.content for text in texts}),
        Bundle.of("models", "models", {f"{model.name}/{name}": content for model in models
                                       for name, content in model.files.items()}),
        *(_vendored(name) for name in VENDOR),
    ]
    facts: dict[str, object] = {
        "version": package.version(),
        "pyodide": version,
        "wheel": f"package/{wheel_name}",
        "packages": packages,
        "corpora": [text.described() for text in texts],
        "models": [model.described() for model in models],
    }
    return bundles, facts


def _pyodide(python: Path) -> tuple[Bundle, str, list[str]]:
    source = node.MODULES / "pyodide"
    version = node.version("pyodide")
    lock = json.loads((source / "pyodide-lock.json").read_text())
    files = {name: (source / name).read_bytes() for name in PYODIDE_FILES}
    # A map that is not served would only make the developer tools ask for it.
    for name in ("pyodide.mjs", "pyodide.asm.mjs"):
        files[name] = files[name].replace(b"//# sourceMappingURL=" + name.encode() + b".map", b"")
    files.update(wheels.fetch_all(lock, version, python))
    needed = wheels.needed(lock)
    files["pyodide-lock.json"] = wheels.trimmed(lock, needed)
    return (Bundle.of("pyodide", f"pyodide-{version}", files), version,
            [wheel.package for wheel in needed])


def _vendored(name: str) -> Bundle:
    source = node.MODULES / name
    files = {path: (source / origin).read_bytes() for path, origin in VENDOR[name].items()}
    return Bundle.of(name, f"{name}-{node.version(name)}", files)


def _own_bundle(bundles: list[Bundle], facts: dict[str, object]) -> Bundle:
    """web/ as it is, with what its workers import, and files.json; its hash stands for the whole
    build."""
    files = vendor.for_workers()
    for path in sorted(WEB.rglob("*")):
        name = path.relative_to(WEB).as_posix()
        if path.is_file() and name not in AT_THE_ROOT and name.split("/")[0] not in NOT_SERVED:
            files[name] = path.read_bytes()
    # The hash is made before files.json, which names it.
    salt = json.dumps([facts, [bundle.folder for bundle in bundles], *map(_source, AT_THE_ROOT)])
    build = content_hash(files, salt)
    entries = Bundle("", "site", build, files).entries()
    for bundle in bundles:
        entries |= bundle.entries()
    manifest = json.dumps({"build": build, **facts, "files": entries}, indent=1)
    return Bundle("", "site", build, {**files, "files.json": manifest.encode()})


def _source(name: str) -> str:
    path = WEB / name
    if not path.exists():
        raise BuildError(f"web/{name} is missing.")
    return path.read_text()


def _write(site: Path, bundles: list[Bundle]) -> None:
    addresses = {logical: str(entry["url"])
                 for bundle in bundles for logical, entry in bundle.entries().items()}
    published = {
        ".nojekyll": "",
        "service-worker.js": _source("service-worker.js"),
        ENGINE: f'export * from "./{addresses["engine/tabgrad.js"]}";\n',
        **{f"examples/{path.name}": path.read_text()
           for path in sorted((WEB / "examples").iterdir())},
        "index.html": page.publish(_source("index.html"), addresses, IMPORTS),
    }
    site.mkdir(parents=True, exist_ok=True)
    for bundle in bundles:
        bundle.write(site)
    for name, text in published.items():  # index.html last: it makes the new build the current one
        unfinished = site / f"{name}.part"
        unfinished.parent.mkdir(exist_ok=True)
        unfinished.write_text(text)
        unfinished.replace(site / name)
    _sweep(site, {bundle.folder for bundle in bundles}, published.keys())


def _sweep(site: Path, folders: set[str], files: Set[str]) -> None:
    """Removes what is not of this build; a page opened a little earlier still finds its files."""
    now = time.time()
    for path in site.iterdir():
        if path.name in folders:
            os.utime(path)
        elif path.name in {Path(name).parts[0] for name in files}:
            continue
        elif path.is_dir() and now - path.stat().st_mtime > OLD_BUILD_SECONDS:
            shutil.rmtree(path)
        elif path.is_file() and path.name not in files:
            path.unlink()


def _shown(path: Path) -> str:
    return path.name + "/" if path == DIST else str(path)
