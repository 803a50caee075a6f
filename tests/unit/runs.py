"""What the tests of training share: a small run in a folder, and what it said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tabgrad.app.protocol import load_protocol
from tabgrad.app.runs import new_record
from tabgrad.checkpoint.store import RunStore
from tabgrad.gpu.device import Device, open_device
from tabgrad.platform.native_files import NativeFiles
from tabgrad.text.corpus import Corpus
from tabgrad.train.pretrain import pretraining
from tabgrad.train.settings import TrainSettings
from tabgrad.train.trainer import Trainer

TEXT = Corpus.from_bytes("verse", (
    b"The lamp was lit at dusk, as it had been lit every day since the harbour was built.\n"
    b"Nobody asked who lit it; the boats came home, and that was answer enough.\n") * 12)
WAIT_S = 240.0


def small(**changes: Any) -> TrainSettings:
    """A run of `tiny` that takes a second."""
    base = {"per_device_train_batch_size": 4, "context_length": 32, "max_steps": 20,
            "warmup_steps": 4, "eval_steps": 5, "sample_steps": 0, "save_steps": 10}
    return TrainSettings.for_preset("tiny", **{**base, **changes})


class Run:
    """A trainer on a run of `folder`, with every event that it emitted."""

    def __init__(self, trainer: Trainer, store: RunStore, events: list[tuple[str, dict]]) -> None:
        self.trainer, self.store, self.events = trainer, store, events
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Trains in the background."""
        self.task = asyncio.create_task(self.trainer.run())

    async def finish(self) -> None:
        """Waits for the end; raises what the trainer raised."""
        assert self.task is not None
        await asyncio.wait_for(self.task, WAIT_S)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Lets it train until the condition holds."""
        assert self.task is not None

        async def wait() -> None:
            while not condition() and not self.task.done():
                await asyncio.sleep(0)
        await asyncio.wait_for(wait(), WAIT_S)
        assert condition(), self.task

    def named(self, name: str) -> list[dict]:
        """Fields of all events of that name."""
        return [fields for event, fields in self.events if event == name]

    @property
    def losses(self) -> dict[int, float]:
        """Step -> training loss, from the progress events."""
        return {point["step"]: point["loss"] for fields in self.named("progress")
                for point in fields["points"]}


async def make_run(folder: Path, settings: TrainSettings, name: str | None = None, *,
                   device: Device | None = None, corpus: Corpus = TEXT,
                   reopen: Callable[[], Awaitable[Device]] | None = None) -> Run:
    """A new run, or the stored one of that name, on a device of its own."""
    events: list[tuple[str, dict]] = []

    def emit(event: str, fields: dict[str, Any]) -> None:
        load_protocol().check_event(event, fields)
        events.append((event, fields))

    def notice(code: str, message: str) -> None:
        emit("notice", {"code": code, "message": message})

    store = RunStore(NativeFiles(folder), notice)
    if name is None or name not in await store.names():
        name = await store.create(new_record(settings, corpus.describe()), name)
    device = device or await open_device("webgpu")
    build = pretraining(settings, corpus, store.files)
    return Run(Trainer(device, settings, build, store, name, emit, reopen), store, events)


async def trained(folder: Path, settings: TrainSettings, name: str, **more: Any) -> Run:
    """Trains to the last step."""
    run = await make_run(folder, settings, name, **more)
    run.start()
    await run.finish()
    return run
