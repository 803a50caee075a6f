"""The built page in one tab: its messages as they come, its commands, and what it did wrong."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Worker

from tools import page_bridge

BOOT_SECONDS = 300
EVENT_SECONDS = 180
POLL_MS = 20
LONGER_THAN_A_CONTEXT = 1_000  # bytes

Message = dict[str, Any]
Found = TypeVar("Found")

# The page's policy forbids eval in the page, so nothing here uses Playwright's own polling.
# Every message is kept with the page's clock, for the tests to read when they like.
_LISTEN = """async () => {
  const late = performance.now() + 30000;
  while (window.tabgrad === undefined) {
    if (performance.now() > late) throw new Error("The page offers no window.tabgrad.");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  window.testSeen = [];
  window.tabgrad.onMessage((message) => {
    window.testSeen.push([performance.now(), message]);
  });
}"""
_READY = "async () => await window.tabgrad.ready()"
_TAKE = "(first) => JSON.stringify(window.testSeen.slice(first))"
_FORGET = "(count) => { window.testSeen.splice(0, count); }"


class Failed(Exception):
    """A command was answered with a problem.

    Attributes:
        problem: as in protocol.json.
    """

    def __init__(self, name: str, problem: dict[str, Any]) -> None:
        super().__init__(f"{name}: {json.dumps(problem)}")
        self.problem = problem


class Tab:
    """A tab with the built page.

    Args:
        context: of a browser.
        url: the page's address; only its origin may be asked for anything.

    Attributes:
        problems: console messages, page errors, failed and foreign requests, as they came.
        seen: (milliseconds on the page's clock, message) of every message to the page.
        boot: the reply to `boot`.
        reply_ms: how long the last command took to be answered, on the page's clock.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.origin = "/".join(url.split("/")[:3])
        self.problems: list[str] = []
        self.seen: list[tuple[float, Message]] = []
        self.boot: dict[str, Any] = {}
        self.reply_ms = 0.0
        self.context = context
        context.on("request", self._on_request)
        self.page: Page = context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("crash", lambda _: self.problems.append("the page crashed"))

    # --- opening ------------------------------------------------------------------------------

    def open(self, query: str = "") -> Tab:
        """Loads the page and waits until its worker has booted.

        Args:
            query: what follows the address: "?preset=tiny".
        """
        self.page.goto(self.url + query)
        return self.listen().booted()

    def reload(self) -> Tab:
        """Loads the page again, as a visitor does, and waits for the boot."""
        self.page.reload()
        return self.listen().booted()

    def listen(self) -> Tab:
        """Keeps every message from now on."""
        self.seen.clear()
        self.page.evaluate(_LISTEN)
        return self

    def booted(self) -> Tab:
        """Waits for the reply to `boot`."""
        self.page.set_default_timeout(BOOT_SECONDS * 1000)
        self.boot = self.page.evaluate(_READY)
        return self

    @property
    def worker(self) -> Worker:
        """The worker that trains: scripts can be run in it, to count and to measure."""
        (found,) = [worker for worker in self.page.workers if "/worker.js" in worker.url]
        return found

    # --- talking ------------------------------------------------------------------------------

    def command(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """Sends a command of protocol.json from the page and gives its reply.

        Raises:
            Failed: the answer is a failure.
        """
        argument = page_bridge.argument(name, fields)
        answer = json.loads(self.page.evaluate(page_bridge.COMMAND, argument))
        if "failure" in answer:
            raise Failed(name, answer["failure"])
        self.reply_ms = answer["ms"]
        return page_bridge.reply(answer)

    def settings(self, **changes: Any) -> dict[str, Any]:
        """The page's defaults for `tiny`, changed: nothing is validated or sampled,
        and only the end is saved."""
        quiet = {"preset": "tiny", "context_length": 64, "per_device_train_batch_size": 4,
                 "eval_steps": 0, "sample_steps": 0, "save_steps": 1_000_000, "logging_steps": 1}
        unknown = changes.keys() - self.boot["defaults"].keys()
        assert not unknown, f"no such settings: {unknown}"
        return {**self.boot["defaults"], **quiet, **changes}

    def add_text(self, text: str | bytes, name: str = "a test's text") -> str:
        """Gives a text to the page; its sha256 is the answer."""
        data = text.encode() if isinstance(text, str) else text
        return str(self.command("add_corpus", title=name, text=data)["corpus"]["sha256"])

    def shortest_text(self) -> str:
        """Checksum of the shortest built-in text that is longer than any context of a preset."""
        texts = [one for one in self.boot["corpora"] if one["bytes"] > LONGER_THAN_A_CONTEXT]
        return str(min(texts, key=lambda one: one["bytes"])["sha256"])

    def train(self, corpus: str, run: str | None = None, **changes: Any) -> str:
        """Starts a run and gives its name."""
        reply = self.command("train", settings=self.settings(**changes), corpus=corpus, run=run)
        return str(reply["run"]["run"])

    # --- listening ----------------------------------------------------------------------------

    def messages(self, *names: str) -> list[Message]:
        """All messages of these names so far."""
        return [message for _, message in self._all() if message["name"] in names]

    def _all(self) -> Iterator[tuple[float, Message]]:
        for ms, message in json.loads(self.page.evaluate(_TAKE, len(self.seen))):
            self.seen.append((ms, message))
        return iter(self.seen)

    def mark(self) -> int:
        """How many messages there are so far: what comes later is `after` this."""
        return len(list(self._all()))

    def forget(self) -> None:
        """Drops the messages of `seen`, here and in the page."""
        self.page.evaluate(_FORGET, len(self.seen))
        self.seen.clear()

    def wait(self, find: Callable[[Message], Found | None], what: str, *, after: int = 0,
             seconds: float = EVENT_SECONDS) -> Found:
        """The first answer of `find`, which is asked about each message in turn.

        Args:
            find: gives None for a message that is not the one.
            what: is waited for, in words.
            after: how many messages of `seen` to leave out.
            seconds: when to give up.
        """
        late = time.monotonic() + seconds
        at = after
        while True:
            list(self._all())
            for _, message in itertools.islice(self.seen, at, None):
                found = find(message)
                if found is not None:
                    return found
            at = len(self.seen)
            self.check_failure()
            assert time.monotonic() < late, f"{what}: not within {seconds} s; {self.tail()}"
            self.page.wait_for_timeout(POLL_MS)

    def wait_for(self, name: str, *, after: int = 0, seconds: float = EVENT_SECONDS,
                 **fields: Any) -> Message:
        """The first message of that name with these fields."""
        def find(message: Message) -> Message | None:
            same = message["name"] == name and all(message.get(k) == v for k, v in fields.items())
            return message if same else None
        return self.wait(find, f"{name} {fields or ''}", after=after, seconds=seconds)

    def wait_for_step(self, step: int, *, after: int = 0, seconds: float = EVENT_SECONDS) -> int:
        """Waits until training has reported this step or a later one; gives the one it was."""
        return self.wait(
            lambda m: m["step"] if m["name"] == "progress" and m["step"] >= step else None,
            f"step {step}", after=after, seconds=seconds)

    def losses(self, after: int = 0) -> dict[int, float]:
        """Training loss by step, of the progress messages; the last report of a step counts."""
        list(self._all())
        return {point["step"]: point["loss"] for _, message in self.seen[after:]
                if message["name"] == "progress" for point in message["points"]}

    def tail(self) -> str:
        """The last messages and problems, for the words of a failed test."""
        return f"last messages {[m for _, m in self.seen[-3:]]}, problems {self.problems}"

    # --- what went wrong ----------------------------------------------------------------------

    def check_failure(self) -> None:
        """Fails when the page has reported a problem or a failed run."""
        for _, message in self.seen:
            failed = message["name"] == "error" or message.get("state") == "failed"
            assert not failed, f"the page says: {message}"

    def check_clean(self) -> None:
        """Fails when there was a console message, a page error or a request elsewhere."""
        self.page.wait_for_timeout(50)
        assert self.problems == []

    def close(self) -> None:
        """Closes the tab as its cross does: nothing can hold it back."""
        self.page.close(run_before_unload=False)
        self.context.remove_listener("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        self.problems.append(f"console {message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(("blob:", "data:")):
            return
        if not request.url.startswith(self.origin + "/"):
            self.problems.append(f"asked {request.url}")
