"""Commands of protocol.json into the built page and back, for whoever drives it with Playwright."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

# Bytes cross as base64, at the top level of fields and replies. `ms` is the time to the answer.
COMMAND = """async ([name, fields, blobs, files]) => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  for (const [key, text] of Object.entries(blobs)) fields[key] = bytes(text);
  for (const [key, list] of Object.entries(files)) {
    fields[key] = list.map(([title, text]) => new File([bytes(text)], title));
  }
  const plain = (key, value) => {
    if (!(value instanceof Uint8Array)) return value;
    let text = "";
    for (let i = 0; i < value.length; i += 32768) {
      text += String.fromCharCode(...value.subarray(i, i + 32768));
    }
    return { base64: btoa(text) };
  };
  const start = performance.now();
  try {
    const reply = await window.tabgrad.command(name, fields);
    return JSON.stringify({ reply, ms: performance.now() - start }, plain);
  } catch (error) {
    return JSON.stringify({ failure: error.problem ?? { message: error.message } });
  }
}"""


def argument(name: str, fields: dict[str, Any]) -> list[Any]:
    """What COMMAND is called with.

    Example:
        >>> argument("add_corpus", {"title": "a", "text": b"hi"})
        ['add_corpus', {'title': 'a'}, {'text': 'aGk='}, {}]
    """
    blobs = {key: _base64(value) for key, value in fields.items() if isinstance(value, bytes)}
    files = {key: [[path.name, _base64(path.read_bytes())] for path in value]
             for key, value in fields.items() if isinstance(value, list) and value
             and all(isinstance(path, Path) for path in value)}
    plain = {key: value for key, value in fields.items() if key not in blobs and key not in files}
    return [name, plain, blobs, files]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def reply(answer: dict[str, Any]) -> dict[str, Any]:
    """The reply in an answer of COMMAND that is no failure, with its bytes."""
    return {key: _bytes(value) for key, value in (answer["reply"] or {}).items()}


def _bytes(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"])
    return value
