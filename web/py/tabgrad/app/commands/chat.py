"""Writing with the loaded model: `chat`, `complete`, `count_tokens`, and kept conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.models import loads_again
from tabgrad.app.reader import Writing
from tabgrad.errors import SettingsError
from tabgrad.generate.language_model import LanguageModel, TokenLogprob
from tabgrad.generate.session import Usage

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "frequency_penalty",
            "presence_penalty", "seed", "top_logprobs")


async def chat(app: Application, request: Request) -> dict[str, Any]:
    """Streams the answer to a conversation as `token` events."""
    return await _write(app, request, request.fields["messages"], request.fields.get("tools"))


async def complete(app: Application, request: Request) -> dict[str, Any]:
    """Streams what follows a text as `token` events."""
    return await _write(app, request, request.fields["prompt"], None)


async def count_tokens(app: Application, request: Request) -> dict[str, Any]:
    """How many tokens a conversation, or a text, is, and how many there may be."""
    model = _loaded(app)
    prompt = request.fields.get("prompt")
    return {"tokens": len(model.encode(request.fields["messages"] if prompt is None else prompt)),
            "context_length": model.context_length}


async def conversations(app: Application, request: Request) -> dict[str, Any]:
    """All that are kept, the newest first."""
    return {"conversations": await app.conversations.list()}


async def save_conversation(app: Application, request: Request) -> dict[str, Any]:
    """Keeps a conversation, over what was kept of it before."""
    await app.conversations.save(request.fields["conversation"])
    return {}


async def delete_conversation(app: Application, request: Request) -> dict[str, Any]:
    """Forgets one."""
    await app.conversations.delete(request.fields["conversation"])
    return {"conversations": await app.conversations.list()}


async def _write(app: Application, request: Request, prompt: str | Sequence[Mapping[str, Any]],
                 tools: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """One text at a time: a new one ends the one before, and an evaluation."""
    await app.end_evaluation()
    model, settings = _loaded(app), request.fields["settings"]
    if app.writing is not None:
        app.writing.stopped = True
    writing = app.writing = Writing()
    wants_logprobs = bool(settings.get("logprobs"))
    pieces: list[str] = []
    logprobs: list[dict[str, Any]] = []
    stream = model.generate(
        prompt, max_new_tokens=settings.get("max_new_tokens"), stop=settings.get("stop"),
        tools=tools, go_on=lambda: not writing.stopped,
        **{name: settings.get(name) for name in SAMPLING})
    with loads_again():
        async with aclosing(stream):
            async for piece in stream:
                told = [_described(one) for one in piece.logprobs] if wants_logprobs else []
                pieces.append(piece)
                logprobs += told
                if piece or told:
                    app.emit("token", {"id": request.id, "text": str(piece), "logprobs": told})
    text = "".join(pieces)
    return {"text": text, "finish_reason": model.finish_reason,
            "usage": _usage(model.usage, text), "logprobs": logprobs}


def _loaded(app: Application) -> LanguageModel:
    if app.language_model is None:
        raise SettingsError("No model is loaded.", control="chat-model",
                            remedy="Choose one under Models.")
    return app.language_model


def _described(one: TokenLogprob) -> dict[str, Any]:
    return {"token": one.token, "id": one.id, "logprob": one.logprob,
            "top_logprobs": [{"token": token, "id": identity, "logprob": logprob}
                             for token, identity, logprob in one.top_logprobs]}


def _usage(usage: Usage, text: str) -> dict[str, Any]:
    """The `Usage` of protocol.json; its bandwidth is bytes of text over the time of writing."""
    spent = usage.first_token_ms + usage.decode_ms
    return {**asdict(usage), "prefill_tokens_per_second": usage.prefill_tokens_per_second,
            "decode_tokens_per_second": usage.decode_tokens_per_second,
            # Bytes in a millisecond are kilobytes in a second.
            "kilobytes_per_second": len(text.encode()) / spent if spent else 0.0}
