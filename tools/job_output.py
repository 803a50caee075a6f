"""What headless jobs share: following a run, and what they print and write."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tabgrad.checkpoint.archive import unpack
from tabgrad.checkpoint.manifest import MANIFEST
from tools.session import Message, Session, check
from tools.shell import BuildError

FEW_STEPS = 50  # up to here every step is printed, beyond it every tenth
SILENCE_SECONDS = 60
MAX_SILENCES = 10


def logging_steps(steps: int) -> int:
    """Steps between the lines of a run."""
    return 1 if steps <= FEW_STEPS else 10


async def follow(session: Session, run: str,
                 every: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Prints the log steps of a run until it is done."""
    log: list[dict[str, Any]] = []
    while True:
        message = check(await _next(session))
        if message.get("run") != run:
            continue
        if message["name"] == "done":
            if not log:
                raise BuildError("The run ended without a single step.")
            return log, message
        if message["name"] == "progress":
            last = message["max_steps"]
            for point in message["points"]:
                if point["step"] % every and point["step"] not in (1, last):
                    continue
                log.append({"step": point["step"], "loss": point["loss"],
                            "tokens_per_s": round(message["tokens_per_second"], 1)})
                print_line(log[-1])


async def _next(session: Session) -> Message:
    """The next message. In a long silence the application is asked whether it is still there."""
    waiting = asyncio.ensure_future(session.next_message())
    for _ in range(MAX_SILENCES):
        arrived, _ = await asyncio.wait({waiting}, timeout=SILENCE_SECONDS)
        if arrived:
            return waiting.result()
        await session.command("runs", {})
    raise BuildError(f"The run has said nothing for {MAX_SILENCES * SILENCE_SECONDS} s.")


def adapter(device: dict[str, Any]) -> str:
    """One line that names the adapter."""
    parts = [device["runtime"], device["vendor"], device["architecture"], device["name"]]
    return " ".join(dict.fromkeys(part for part in parts if part))


def write_out(exported: bytes, folder: Path) -> str:
    """Writes an exported run as a folder; the manifest last, as in the store."""
    files = unpack(exported)
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda name: name == MANIFEST):
        (folder / name).write_bytes(files[name])
    return str(folder)


def print_line(line: dict[str, Any]) -> None:
    print(json.dumps(line, ensure_ascii=False), flush=True)
