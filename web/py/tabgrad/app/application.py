"""The application: takes messages, runs commands, and answers each exactly once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tabgrad.app.library import Host
from tabgrad.app.protocol import load_protocol
from tabgrad.app.reader import Evaluating, Loading, Reader, Writing
from tabgrad.app.selftest import SelfTest
from tabgrad.checkpoint.conversations import ConversationStore
from tabgrad.checkpoint.corpora import CorpusStore
from tabgrad.checkpoint.facts import Facts
from tabgrad.checkpoint.models import ModelStore
from tabgrad.checkpoint.store import RunStore
from tabgrad.errors import ProtocolError, TabgradError
from tabgrad.evaluate.store import EvaluationStore
from tabgrad.generate.language_model import LanguageModel
from tabgrad.gpu.device import Device, open_device
from tabgrad.lora.store import AdapterStore
from tabgrad.platform import Files
from tabgrad.platform.transfer import Cancel
from tabgrad.train.trainer import Trainer

_log = logging.getLogger("tabgrad")

Post = Callable[[str, bytes | None], None]


@dataclass(frozen=True)
class Request:
    """A checked command: `fields` are as protocol.json says.

    `files` has what a field of the type `files` describes: name -> what `Platform.adopt` takes.
    """

    id: int
    fields: dict[str, Any]
    files: Mapping[str, Any] = field(default_factory=dict)


Command = Callable[["Application", Request], Awaitable[dict[str, Any]]]


class Application:
    """One worker's state.

    Args:
        files: the folder that holds runs and texts.
        host: built-in texts, and whether files stay.
        post: sends a message to the page: JSON text, and bytes or None. With bytes, the message's
            extra key "bytes" names the field of its result that they belong to.
        commands: the functions behind the names of protocol.json.

    Attributes:
        device: the open device; None before `boot`.
        trainer: the run in training, or the last one; None before the first.
        writing: the generation under way, or None.
        evaluating: the evaluation under way, or None.
        reader: the stored model that was last generated from.
        language_model: the checkpoint that is loaded, or None.
        transfer: cancels the download under way, or None.
        loading: the checkpoint on its way to the GPU, or the last one; None before the first.
        facts: what was found out last about a model: (address, facts), or None.
        matmul_gflops: measured speed of this adapter; None before the first estimate.
        self_test: tests the kernels of every plan before it exists.
    """

    def __init__(self, files: Files, host: Host, post: Post,
                 commands: Mapping[str, Command]) -> None:
        self.files = files
        self.host = host
        self.store = RunStore(files, self.notice)
        self.corpora = CorpusStore(files)
        self.models = ModelStore(files)
        self.adapters = AdapterStore(files)
        self.conversations = ConversationStore(files, self.notice)
        self.evaluations = EvaluationStore(files, self.notice)
        self.device: Device | None = None
        self.trainer: Trainer | None = None
        self.training: asyncio.Task[None] | None = None
        self.writing: Writing | None = None
        self.evaluating: Evaluating | None = None
        self.reader: Reader | None = None
        self.language_model: LanguageModel | None = None
        self.transfer: Cancel | None = None
        self.loading: Loading | None = None
        self.facts: tuple[str, Facts] | None = None
        self.matmul_gflops: float | None = None
        self._commands = commands
        self._post = post
        self._protocol = load_protocol()
        self._opening = asyncio.Lock()
        self._prefer = "auto"
        self.self_test = SelfTest(
            files, lambda done, total: self.stage("self-test", done, total, "kernels"))

    # --- messages in ------------------------------------------------------------------------

    async def handle(self, message: str, data: bytes | None = None,
                     files: Mapping[str, Any] | None = None) -> None:
        """Runs one command and sends its reply or failure.

        Args:
            message: JSON of {"name", "id", fields...} without the bytes field.
            data: the command's bytes field, if it has one.
            files: the files that its field of the type `files` describes, by name.
        """
        identity: int | None = None
        try:
            table = self._parse(message)
            identity = self._identity(table)
            name = table.pop("name", None)
            result = await self._run(name, Request(identity, table, files or {}), data)
        except TabgradError as error:
            self._fail(identity, error.problem())
        except Exception as error:
            _log.exception("a command failed")
            self._fail(identity, {"code": "fault", "message": "A fault in tabgrad stopped this.",
                                  "detail": f"{type(error).__name__}: {error}",
                                  "remedy": "Reload the page; everything saved is safe."})
        else:
            self._reply(identity, result)

    def _parse(self, message: str) -> dict[str, Any]:
        try:
            table = json.loads(message)
        except ValueError as error:
            raise ProtocolError("A message is not JSON.", received=message[:80]) from error
        if not isinstance(table, dict):
            raise ProtocolError("A message is not an object.", received=message[:80])
        return table

    def _identity(self, table: dict[str, Any]) -> int:
        identity = table.pop("id", None)
        if type(identity) is not int:
            raise ProtocolError("A command has no id.", expected="a whole number",
                                received=repr(identity)[:80])
        return identity

    async def _run(self, name: Any, request: Request, data: bytes | None) -> dict[str, Any]:
        if not isinstance(name, str):
            raise ProtocolError("A command has no name.", received=repr(name)[:80])
        field = self._protocol.bytes_field(name)
        if field is not None and data is not None:
            request.fields[field] = data
        self._protocol.check_command(name, request.fields)
        if self.device is None and name != "boot":
            raise ProtocolError("The worker is not ready.", expected="boot first", received=name)
        result = await self._commands[name](self, request)
        self._protocol.check_reply(name, result)
        return result

    # --- messages out -----------------------------------------------------------------------

    def emit(self, name: str, fields: dict[str, Any]) -> None:
        """Sends an event of protocol.json."""
        self._protocol.check_event(name, fields)
        self._post(json.dumps({"name": name, **fields}), None)

    def notice(self, code: str, message: str) -> None:
        """Tells the person at the page what was found and mended."""
        self.emit("notice", {"code": code, "message": message})

    def stage(self, name: str, done: int, total: int, unit: str) -> None:
        """Tells the page how far a named stage is."""
        self.emit("stage", {"stage": name, "done": done, "total": total, "unit": unit})

    def _reply(self, identity: int | None, result: dict[str, Any]) -> None:
        plain = {key: value for key, value in result.items() if not isinstance(value, bytes)}
        message = {"name": "reply", "id": identity, "result": plain}
        field = next((key for key, value in result.items() if isinstance(value, bytes)), None)
        if field is None:
            self._post(json.dumps(message), None)
        else:
            self._post(json.dumps({**message, "bytes": field}), result[field])

    def _fail(self, identity: int | None, problem: dict[str, Any]) -> None:
        if identity is None:
            self.emit("error", {"problem": problem})
        else:
            self.emit("failure", {"id": identity, "problem": problem})

    async def end_evaluation(self) -> None:
        """Ends the evaluation under way, and waits until it has let go of the model."""
        while self.evaluating is not None:
            self.evaluating.stopped = True
            await self.evaluating.ended.wait()

    # --- the device -------------------------------------------------------------------------

    def ready_device(self) -> Device:
        """The open device.

        Raises:
            ProtocolError: `boot` has not come yet.
        """
        if self.device is None:
            raise ProtocolError("The worker is not ready.", expected="boot first")
        return self.device

    async def open_device(self, prefer: str) -> Device:
        """Opens the device for the first time; `prefer` as for `gpu.device.open_device`."""
        self.device = await open_device(prefer)
        self.self_test.guard(self.device)
        # A device that is lost is opened again as what it was: training never moves to the CPU
        # without being asked.
        self._prefer = "numpy" if self.device.info.runtime == "numpy" else "webgpu"
        return self.device

    async def working_device(self) -> Device:
        """The device, opened again if it was lost. Several may ask at once; one is opened."""
        async with self._opening:
            device = self.ready_device()
            if device.lost:
                self.reader = self.language_model = None
                device = self.device = await open_device(self._prefer)
                self.self_test.guard(device)
            return device
