"""Text from a stored model: `generate`, `abort`."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from tabgrad import platform
from tabgrad.app.application import Application, Request
from tabgrad.app.reader import Reader, Writing
from tabgrad.text.stream import TextStream


async def generate(app: Application, request: Request) -> dict[str, Any]:
    """Streams `token` events; one generation at a time, a new one ends the one before.

    Works while a run trains: a few tokens go to the GPU between two pieces of training.
    """
    fields = request.fields
    if app.writing is not None:
        app.writing.stopped = True
    writing = app.writing = Writing()
    device = await app.working_device()
    reader = app.reader = await Reader.open(device, app.store, fields["run"], app.reader)
    text, tokens, pieces = TextStream(), 0, []
    started = platform.current().now_ms()

    def tell(piece: str) -> None:
        if piece:
            pieces.append(piece)
            app.emit("token", {"id": request.id, "text": piece})

    stream = reader.generator.generate(
        fields["prompt"].encode(), max_new_tokens=fields["max_new_tokens"],
        temperature=fields["temperature"], top_k=fields["top_k"], seed=fields["seed"])
    async with aclosing(stream):
        async for data in stream:
            tokens += len(data)
            tell(text.feed(data))
            if writing.stopped:
                break
    tell(text.finish())
    return {"text": "".join(pieces), "tokens": tokens, "stopped": writing.stopped,
            "milliseconds": platform.current().now_ms() - started}


async def abort(app: Application, request: Request) -> dict[str, Any]:
    """Ends the generation under way, after the tokens that are on the GPU."""
    if app.writing is not None:
        app.writing.stopped = True
    return {}
