"""A session in the built page, in headless Chromium, through `window.tabgrad`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

from playwright.async_api import Error, Page, async_playwright

from tools import chromium, page_bridge, passes
from tools.server import Server
from tools.session import Message, told
from tools.shell import BuildError, say

START_SECONDS = 180

# The page's policy forbids eval in the page, so Playwright's own polling is not used.
_READY = """async () => {
  const late = performance.now() + 30000;
  while (window.tabgrad === undefined) {
    if (performance.now() > late) throw new Error("The page offers no window.tabgrad.");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const plain = (key, value) => (value instanceof Uint8Array ? undefined : value);
  window.tabgrad.onMessage((message) => window.tabgradMessage(JSON.stringify(message, plain)));
  return JSON.stringify(await window.tabgrad.ready());
}"""


class BrowserSession:
    """The page of `site`, served on the loopback address.

    Args:
        site: the built site.
        executable: path of Chromium.
    """

    def __init__(self, site: Path, executable: str) -> None:
        self.site = site
        self.executable = executable
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self._page: Page | None = None
        self._passes: passes.Passes | None = None
        self._ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._stack = contextlib.AsyncExitStack()

    async def start(self) -> dict[str, Any]:
        """Opens the page and waits until its worker has booted."""
        server = self._stack.enter_context(Server(self.site))
        playwright = await self._stack.enter_async_context(async_playwright())
        try:
            browser = await chromium.launch(playwright, self.executable)
        except Error as error:
            raise BuildError(f"No browser: {self.executable} does not start "
                             f"({error.message.splitlines()[0]}).") from error
        self._stack.push_async_callback(browser.close)
        page = await browser.new_page()
        self._passes = passes.kept(browser.version)
        await page.goto(server.url + passes.A_FILE_OF_THE_ORIGIN)
        await page.evaluate(passes.WRITE, [*passes.PLACE, self._passes.known()])
        page.on("console", lambda line: say(f"page: {line.text}"))
        page.on("pageerror", lambda error: self._end(f"The page failed: {error}"))
        page.on("crash", lambda _: self._end("The page crashed."))
        await page.expose_function("tabgradMessage",
                                   lambda text: self.messages.put_nowait(json.loads(text)))
        await page.goto(server.url)
        self._page = page
        boot = await asyncio.wait_for(self._evaluate(_READY), START_SECONDS)
        return dict(json.loads(boot))

    async def command(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Sends a command of protocol.json from the page."""
        script, argument = page_bridge.COMMAND, page_bridge.argument(name, fields)
        answer = json.loads(await self._evaluate(script, argument))
        if "failure" in answer:
            raise BuildError(told(answer["failure"]))
        return page_bridge.reply(answer)

    async def next_message(self) -> Message:
        """The next message to the page; raises when the page has died."""
        message: Message = await self._unless_ended(self.messages.get())
        return message

    async def close(self) -> None:
        """Closes the browser and the server; what passed the self-test is kept."""
        try:
            if self._passes is not None and self._page is not None and not self._ended.done():
                self._passes.learn(await self._evaluate(passes.READ, [*passes.PLACE]))
        finally:
            await self._stack.aclose()

    async def _evaluate(self, script: str, argument: Any = None) -> str:
        assert self._page is not None, "start() comes first"
        return str(await self._unless_ended(self._page.evaluate(script, argument)))

    async def _unless_ended(self, work: Any) -> Any:
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if self._ended.done():
            task.cancel()
            raise BuildError(self._ended.result())
        try:
            return task.result()
        except Error as error:
            raise BuildError(error.message.splitlines()[0]) from error

    def _end(self, reason: str) -> None:
        if not self._ended.done():
            self._ended.set_result(reason)
