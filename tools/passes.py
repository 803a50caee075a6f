"""The self-test's passes, carried from one headless browser to the next.

A visitor's browser keeps them in its profile, by adapter and by the very code of the kernels; a
headless one begins with an empty profile and would compile and run every kernel again at each job.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.shell import ROOT, exclusive

A_FILE_OF_THE_ORIGIN = "tabgrad.js"
"""As a document it has the storage of the site's origin, and runs nothing."""
PLACE = ("tabgrad", "selftest.json")  # in OPFS, as web/py/tabgrad/app/selftest.py has it

READ = """async ([folder, file]) => {
  const top = await navigator.storage.getDirectory();
  try {
    const handle = await (await top.getDirectoryHandle(folder)).getFileHandle(file);
    return await (await handle.getFile()).text();
  } catch (error) {
    if (error.name === "NotFoundError") return "{}";
    throw error;
  }
}"""
WRITE = """async ([folder, file, text]) => {
  const top = await navigator.storage.getDirectory();
  const inside = await top.getDirectoryHandle(folder, { create: true });
  const writer = await (await inside.getFileHandle(file, { create: true })).createWritable();
  await writer.write(text);
  await writer.close();
}"""


class Passes:
    """What has passed so far, in a file that processes share.

    Args:
        path: of the file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> str:
        """The table as JSON text, as a profile keeps it."""
        with exclusive("passes"):
            return json.dumps(self._table())

    def learn(self, found: str) -> None:
        """Adds the table that a profile has kept."""
        with exclusive("passes"):
            table = _joined(self._table(), json.loads(found))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(".part")
            unfinished.write_text(json.dumps(table))
            unfinished.replace(self._path)

    def _table(self) -> dict[str, Any]:
        table: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return table


def kept(version: str) -> Passes:
    """Those of this checkout for a browser of that version: of another one nothing is known."""
    return Passes(ROOT / ".cache" / f"selftest-{version}.json")


def _joined(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Two tables as one; where an adapter has lists in both, they are put together."""
    both = {adapter: sorted({*known[adapter], *codes}) for adapter, codes in found.items()
            if isinstance(codes, list) and isinstance(known.get(adapter), list)}
    return {**known, **found, **both}
