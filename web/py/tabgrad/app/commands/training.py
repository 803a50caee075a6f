"""Training: `train`, `pause`, `resume`, `step`, `stop`, `save`, `restore`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.corpora import find_corpus
from tabgrad.app.preparing import Prepared, prepare
from tabgrad.app.runs import is_finetune, new_record, run_message
from tabgrad.checkpoint.folder import STATE
from tabgrad.checkpoint.stored import StoredRun
from tabgrad.errors import SettingsError, TabgradError
from tabgrad.text.json_object import parse_json
from tabgrad.train.history import History
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
    record = new_record(settings, corpus.describe())
    return await start_run(app, record, await prepare(app, record), request.fields.get("run"))


async def start_run(app: Application, record: dict[str, Any], prepared: Prepared,
                    run: str | None) -> dict[str, Any]:
    """Trains a new run of this record, or the stored one under it; the reply of `train`."""
    await stop_training(app)
    if run is None:
        run = await app.store.create(record)
    else:
        found = await app.store.open(run)
        try:
            _check_continuation(found, record)
            await app.store.update(run, {**record, "created_at": found.record["created_at"]})
        except BaseException:
            app.store.close(run)
            raise
    await _start(app, run, prepared)
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
        _check_continuation(found, found.record)
        prepared = await prepare(app, found.record, run)
        await stop_training(app)
        await app.store.open(run)
        await _start(app, run, prepared)
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


async def _start(app: Application, run: str, prepared: Prepared) -> None:
    try:
        device = await app.working_device()
    except BaseException:
        app.store.close(run)
        raise
    trainer = Trainer(device, prepared.settings, prepared.build, app.store, run, app.emit,
                      app.working_device)
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


def _check_continuation(found: StoredRun, record: Mapping[str, Any]) -> None:
    """Refuses to go on with a run as another kind, on another model, or at its end."""
    if is_finetune(found.record) != is_finetune(record):
        raise SettingsError(f"{found.run} is a run of another kind.", control="run",
                            remedy="Begin a new run.")
    if found.record.get("preset") != record["preset"]:
        what = "model" if is_finetune(record) else "preset"
        raise SettingsError(f"{found.run} is a model of another {what}.", control="preset",
                            expected=str(found.record.get("preset")), received=record["preset"])
    step, most = found.summary.step if found.summary else 0, record["settings"]["max_steps"]
    if step >= most:
        raise SettingsError(f"{found.run} is at step {step} already.", control="max_steps",
                            expected=f"more than {step} steps", received=str(most),
                            remedy="Choose more steps to train it further.")


def _answer(state: tuple[str, int]) -> dict[str, Any]:
    return {"state": state[0], "step": state[1]}
