"""A session on CPython: the application of the page on wgpu, in a folder that goes away."""

from __future__ import annotations

import asyncio
import json
import tempfile
from typing import Any

from tabgrad import platform
from tabgrad.app.application import Application
from tabgrad.app.commands import COMMANDS
from tabgrad.app.library import FolderHost
from tools.session import Message, plain_fields, told
from tools.shell import BuildError

Reply = dict[str, Any]


class NativeSession:
    """The same commands as in the browser, without a page and without a worker."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tabgrad-")
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        files = platform.current().files(self._folder.name)
        self._application = Application(files, FolderHost(), self._receive, COMMANDS)

    async def start(self) -> Reply:
        """Opens the GPU; a machine without WebGPU is told so."""
        return await self.command("boot", {"device": "webgpu", "base": ""})

    async def command(self, name: str, fields: dict[str, Any]) -> Reply:
        """Hands a command to the application and waits for its answer."""
        identity = len(self._waiting)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[identity] = answer
        data = next((value for value in fields.values() if isinstance(value, bytes)), None)
        plain, files = plain_fields(fields)
        await self._application.handle(json.dumps({"name": name, "id": identity, **plain}), data,
                                       files)
        return await answer

    async def next_message(self) -> Message:
        """The next event of the application."""
        return await self._events.get()

    async def close(self) -> None:
        """Removes the folder."""
        self._folder.cleanup()

    def _receive(self, text: str, data: bytes | None) -> None:
        message = json.loads(text)
        if message["name"] == "reply":
            if data is not None:
                message["result"][message["bytes"]] = data
            self._waiting[message["id"]].set_result(message["result"])
        elif message["name"] == "failure":
            failure = BuildError(told(message["problem"]))
            self._waiting[message["id"]].set_exception(failure)
        else:
            self._events.put_nowait(message)
