"""One function for each command of protocol.json; a test checks that none is missing."""

from __future__ import annotations

from tabgrad.app.application import Command
from tabgrad.app.commands.boot import boot
from tabgrad.app.commands.device import benchmark, profile, storage
from tabgrad.app.commands.generation import abort, generate
from tabgrad.app.commands.runs import delete, export_, import_, runs
from tabgrad.app.commands.texts import add_corpus, estimate
from tabgrad.app.commands.training import pause, restore, resume, save, step, stop, train

COMMANDS: dict[str, Command] = {
    "boot": boot, "add_corpus": add_corpus, "estimate": estimate, "train": train, "pause": pause,
    "resume": resume, "step": step, "stop": stop, "save": save, "restore": restore, "runs": runs,
    "delete": delete, "export": export_, "import": import_, "generate": generate, "abort": abort,
    "benchmark": benchmark, "profile": profile, "storage": storage}
