"""`build.py generate` with a folder in the Hugging Face layout, in the tab or on CPython."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tools.folder_server import FolderServer
from tools.session import Session

CONFIG, TOKENIZER = "config.json", "tokenizer.json"


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model with its tokenizer, as the hub has them."""
    return (folder / CONFIG).is_file() and (folder / TOKENIZER).is_file()


async def generate_model(options: argparse.Namespace, session: Session) -> dict[str, Any]:
    """Loads the folder as a visitor would: through the downloads of the page.

    Returns:
        text, tokens, and what they cost.
    """
    with FolderServer(Path(options.model)) as server:
        model = (await session.command("download_model", {"source": server.url}))["model"]
    loaded = await session.command("load_model", {"model": model["model"],
                                                  "context_length": options.context})
    settings = {"max_new_tokens": options.max_new_tokens, "temperature": options.temperature,
                "top_k": options.top_k, "top_p": options.top_p, "seed": options.seed}
    if options.chat:
        messages = [{"role": "user", "content": options.prompt}]
        reply = await session.command("chat", {"messages": messages, "settings": settings})
        print(reply["text"], flush=True)
    else:
        reply = await session.command("complete", {"prompt": options.prompt,
                                                   "settings": settings})
        print(options.prompt + reply["text"], flush=True)
    return {"prompt": options.prompt, "text": reply["text"],
            "tokens": reply["usage"]["completion_tokens"],
            "finish_reason": reply["finish_reason"], "usage": reply["usage"],
            "model": {key: loaded[key] for key in ("context_length", "gpu_bytes", "dispatches")}}
