"""A page of the site's origin in which scripts use the engine, as a web developer's page would."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import BrowserContext

SECONDS = 120

# Every message between the engine and its worker is kept, for tests that look behind the engine.
_WATCH = """() => {
window.wire = [];
window.Worker = class extends Worker {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({ data }) => window.wire.push(data));
  }
  postMessage(message, ...more) {
    window.wire.push({ sent: true, ...message });
    super.postMessage(message, ...more);
  }
};
}"""
# Errors cross as plain objects, because tests look at their fields.
_RUN = """async ([code, argument]) => {
  const AsyncFunction = (async () => {}).constructor;
  const { createEngine, EngineError, Stream } = await import(window.engineUrl);
  const names = ["createEngine", "EngineError", "Stream", "argument"];
  try {
    const run = new AsyncFunction(...names, code);
    const value = await run(createEngine, EngineError, Stream, argument);
    return JSON.stringify({ value: value ?? null });
  } catch (error) {
    return JSON.stringify({ error: { name: error?.name, message: error?.message, ...error,
      ours: error instanceof EngineError } });
  }
}"""


class Refused(Exception):
    """The script threw.

    Attributes:
        error: name, message and fields of what it threw.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.error = error


class EnginePage:
    """A page in which scripts run with `createEngine` and `EngineError` at hand.

    Args:
        context: of a browser.
        site: address of the built site.

    Attributes:
        problems: console messages and page errors, as they came.
    """

    def __init__(self, context: BrowserContext, site: str) -> None:
        self.problems: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * SECONDS)
        self.page.on("console", lambda line: self.problems.append(f"{line.type}: {line.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.goto(site + "examples/engine.html")
        self.page.evaluate(_WATCH)
        self.page.evaluate("(url) => { window.engineUrl = url; }", site + "tabgrad.js")

    def __call__(self, code: str, argument: Any = None) -> Any:
        """What the body of an async function returns.

        Raises:
            Refused: it threw.
        """
        answer = json.loads(self.page.evaluate(_RUN, [code, argument]))
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["value"]

    def wire(self) -> list[dict[str, Any]]:
        """Messages to and from workers since the last call; what was sent has `sent`."""
        found: list[dict[str, Any]] = self.page.evaluate("() => window.wire.splice(0)")
        return found

    def close(self) -> None:
        """Closes the tab."""
        self.page.close()
