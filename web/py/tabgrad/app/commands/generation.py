"""Text from a stored model: `generate`, `abort`."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from tabgrad import platform
from tabgrad.app.application import Application, Request
from tabgrad.app.reader import Reader, Writing


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
    tokens, pieces = 0, []
    started = platform.current().now_ms()
    stream = reader.generator.text(
        fields["prompt"], max_new_tokens=fields["max_new_tokens"],
        temperature=fields["temperature"], top_k=fields["top_k"], seed=fields["seed"],
        go_on=lambda: not writing.stopped)
    async with aclosing(stream):
        async for piece in stream:
            tokens += piece.tokens
            if piece.text:
                pieces.append(piece.text)
                app.emit("token", {"id": request.id, "text": piece.text})
    return {"text": "".join(pieces), "tokens": tokens, "stopped": writing.stopped,
            "milliseconds": platform.current().now_ms() - started}


async def abort(app: Application, request: Request) -> dict[str, Any]:
    """Ends the generation or evaluation under way, after the work that is on the GPU."""
    if app.writing is not None:
        app.writing.stopped = True
    if app.evaluating is not None:
        app.evaluating.stopped = True
    return {}
