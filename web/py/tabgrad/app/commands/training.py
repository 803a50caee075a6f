"""Training: `train`, `pause`, `resume`, `step`, `stop`, `save`, `restore`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.commands.texts import find_corpus
from tabgrad.app.runs import new_record, run_message, settings_of
from tabgrad.checkpoint.folder import STATE
from tabgrad.checkpoint.manifest import parse_json
from tabgrad.checkpoint.stored import StoredRun
from tabgrad.errors import SettingsError, TabgradError
from tabgrad.text.corpus import Corpus
from tabgrad.train.history import History
from tabgrad.train.pretrain import pretraining, training_parts
from tabgrad.train.settings import TrainSettings
from tabgrad.train.trainer import Trainer

ACTIVE = ("running", "paused", "stopping")

_log = logging.getLogger("tabgrad")


async def train(app: Application, request: Request) -> dict[str, Any]:
    """Starts a new run, or goes on with a stored one under new settings.

    A run that is training is stopped and saved first: one trains at a time.
    """
    settings = TrainSettings.from_dict(request.fields["settings"])
    corpus = await find_corpus(app, request.fields["corpus"])
    training_parts(settings, corpus)
    await stop_training(app)
    run = request.fields.get("run")
    if run is None:
        run = await app.store.create(new_record(settings, corpus.describe()))
    else:
        found = await app.store.open(run)
        try:
            _check_continuation(found, settings)
            record = new_record(settings, corpus.describe())
            await app.store.update(run, {**record, "created_at": found.record["created_at"]})
        except BaseException:
            app.store.close(run)
            raise
    await _start(app, run, settings, corpus)
    return {"run": run_message(await app.store.find(run))}


async def restore(app: Application, request: Request) -> dict[str, Any]:
    """A stored run with its history; with `train` it goes on from its last checkpoint."""
    run: str = request.fields["run"]
    trainer = app.trainer
    if trainer is not None and trainer.run_name == run and trainer.state in ACTIVE:
        if request.fields["train"]:
            await trainer.resume()
        return {"run": run_message(await app.store.find(run)),
                "history": trainer.history.to_message()}
    found = await app.store.find(run)
    loaded = await app.store.load(run)
    history = History()
    if loaded is not None:
        state = parse_json(loaded.files[STATE], STATE)
        history = History.from_dict(state.get("history", {}))
    if request.fields["train"]:
        settings = settings_of(found.record)
        _check_continuation(found, settings)
        corpus = await find_corpus(app, found.record["corpus"]["sha256"])
        await stop_training(app)
        await app.store.open(run)
        await _start(app, run, settings, corpus)
    return {"run": run_message(await app.store.find(run)), "history": history.to_message()}


async def pause(app: Application, request: Request) -> dict[str, Any]:
    """Lets no further step begin."""
    return _answer(await app.trainer.pause() if app.trainer else ("idle", 0))


async def resume(app: Application, request: Request) -> dict[str, Any]:
    """Goes on after a pause."""
    return _answer(await app.trainer.resume() if app.trainer else ("idle", 0))


async def step(app: Application, request: Request) -> dict[str, Any]:
    """Takes one step and is paused again."""
    return _answer(await app.trainer.step_once() if app.trainer else ("idle", 0))


async def stop(app: Application, request: Request) -> dict[str, Any]:
    """Saves and ends."""
    return _answer(await app.trainer.stop() if app.trainer else ("idle", 0))


async def save(app: Application, request: Request) -> dict[str, Any]:
    """Saves between two steps; the page asks when it is hidden."""
    return {"step": await app.trainer.save_now() if app.trainer else 0}


async def stop_training(app: Application) -> None:
    """Stops and saves the run in training, if there is one, and waits until it has ended."""
    if app.trainer is not None and app.trainer.state in ACTIVE:
        await app.trainer.stop()
    if app.training is not None:
        await app.training


async def _start(app: Application, run: str, settings: TrainSettings, corpus: Corpus) -> None:
    try:
        device = await app.working_device()
    except BaseException:
        app.store.close(run)
        raise
    build = pretraining(settings, corpus, app.files)
    trainer = Trainer(device, settings, build, app.store, run, app.emit, app.working_device)
    app.trainer = trainer
    app.training = asyncio.create_task(_supervise(trainer))


async def _supervise(trainer: Trainer) -> None:
    """Runs a trainer. Its failures are told by its `state` event, with the problem."""
    try:
        await trainer.run()
    except TabgradError as error:
        _log.info("training ended: %s", error)
    except Exception:
        _log.exception("training failed")


def _check_continuation(found: StoredRun, settings: TrainSettings) -> None:
    if found.record.get("preset") != settings.preset:
        raise SettingsError(f"{found.run} is a model of another preset.", control="preset",
                            expected=str(found.record.get("preset")), received=settings.preset)
    step = found.summary.step if found.summary else 0
    if step >= settings.max_steps:
        raise SettingsError(f"{found.run} is at step {step} already.", control="max_steps",
                            expected=f"more than {step} steps", received=str(settings.max_steps),
                            remedy="Choose more steps to train it further.")


def _answer(state: tuple[str, int]) -> dict[str, Any]:
    return {"state": state[0], "step": state[1]}
