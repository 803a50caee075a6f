"""Settings: ranges, names, the agenda of a run, and its history."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.models.decoder import parameter_count
from tabgrad.models.recipe import PRESETS
from tabgrad.train.agenda import CHUNK_STEPS, chunk_steps, is_due, next_stop, pieces_in_flight
from tabgrad.train.history import History
from tabgrad.train.settings import TrainSettings

WHOLE = [name for name, value in TrainSettings().to_dict().items() if type(value) is int]
REAL = [name for name, value in TrainSettings().to_dict().items() if type(value) is float]


def test_the_defaults_are_those_of_the_recipe():
    settings = TrainSettings()
    assert parameter_count(settings.recipe) == 842_496
    assert (settings.learning_rate, settings.adam_beta1, settings.adam_beta2) == (3e-4, 0.9, 0.95)
    assert (settings.weight_decay, settings.max_grad_norm) == (0.1, 1.0)
    assert (settings.per_device_train_batch_size, settings.context_length) == (16, 128)
    assert settings.tokens_per_step == 2048


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_has_settings_and_they_survive_json(name):
    settings = TrainSettings.for_preset(name, max_steps=7)
    whole = 9 if name == "readable-llm" else PRESETS[name].max_position_embeddings
    assert settings.context_length == whole
    assert TrainSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [-1, 0.5, 3.0, "3", None, True, 10**12])
def test_a_bad_whole_number_names_its_field(name, value):
    with pytest.raises(SettingsError, match=f"{name} is out of range") as caught:
        TrainSettings.from_dict({name: value})
    assert caught.value.problem()["control"] == name


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "0.1", None, True, 1e12])
def test_a_bad_number_names_its_field(name, value):
    with pytest.raises(SettingsError, match=f"{name} is out of range"):
        TrainSettings.from_dict({name: value})


@pytest.mark.parametrize(("name", "value", "words"), [
    ("preset", "huge", "Unknown preset"), ("preset", 3, "preset is out of range"),
    ("lr_scheduler_type", "step", "lr_scheduler_type is out of range"),
    ("lr_scheduler_type", None, "lr_scheduler_type is out of range"),
    ("optim", "adam", "optim is out of range"), ("optim", None, "optim is out of range"),
    ("gradient_checkpointing", "on", "gradient_checkpointing is out of range"),
    ("activation_dtype", "int8", "activation_dtype is out of range"),
    ("activation_dtype", "float16", "16 bits need gradient_checkpointing"),
    ("nesterov", 1, "nesterov is out of range"), ("nesterov", None, "nesterov is out of range"),
    ("context_length", 129, "context_length is out of range"), ("lr", 1, "no setting named lr")])
def test_bad_words(name, value, words):
    with pytest.raises(SettingsError, match=words):
        TrainSettings.from_dict({name: value})


def test_a_whole_number_may_stand_for_a_real_one():
    settings = TrainSettings.from_dict({"weight_decay": 0, "max_grad_norm": 1})
    assert type(settings.weight_decay) is float and settings.max_grad_norm == 1.0


def test_the_rate_follows_the_schedule():
    settings = TrainSettings(max_steps=110, warmup_steps=10, learning_rate=1e-3)
    assert settings.rate(0) == 0.0
    assert settings.rate(10) == pytest.approx(1e-3)
    assert settings.rate(60) == pytest.approx(5e-4)
    assert settings.rate(110) == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 400), st.integers(0, 60), st.integers(0, 60), st.integers(1, 60),
       st.integers(1, 500))
def test_no_event_is_ever_stepped_over(step, evaluate, sample, save, max_steps):
    settings = TrainSettings(eval_steps=evaluate, sample_steps=sample, save_steps=save,
                             max_steps=max_steps)
    stop = next_stop(step, settings)
    assert stop > step
    for between in range(step + 1, stop):
        assert not any(is_due(between, every) for every in (evaluate, sample, save))
        assert between != max_steps
    assert stop == max(max_steps, step + 1) or any(
        is_due(stop, every) for every in (evaluate, sample, save))


@given(st.floats(0.01, 5000))
def test_a_pause_waits_for_at_most_one_step_and_a_quarter_second(step_ms):
    chunk = chunk_steps(step_ms)
    assert 1 <= chunk <= CHUNK_STEPS
    assert chunk == 1 or chunk * step_ms <= 100.0
    assert chunk * pieces_in_flight(step_ms) * step_ms <= step_ms + 250.0


def test_history_survives_json_bit_by_bit():
    history = History()
    losses = [5.545177444479562, 1 / 3, 1e-300, 0.1 + 0.2]
    for step, loss in enumerate(losses):
        history.add(step + 1, loss, 3e-4, 1.5)
    history.validation.append({"step": 4, "loss": 2 / 3})
    history.samples.append({"step": 4, "text": "a\ufffdé"})
    again = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert [point["loss"] for point in again.points()] == losses
    assert again.to_message() == history.to_message()
    assert (again.first_loss, again.last_loss, again.last_validation) == (
        losses[0], losses[-1], 2 / 3)
    assert [point["step"] for point in again.points(2)] == [3, 4]


@pytest.mark.parametrize("damage", [
    lambda table: table.pop("curve"), lambda table: table["curve"]["loss"].append(1.0),
    lambda table: table["curve"].update(loss="abc"), lambda table: table.update(samples=[3]),
    lambda table: table.update(validation=[{"step": 1}])])
def test_a_damaged_history_is_refused(damage):
    history = History()
    history.add(1, 2.0, 3e-4, 1.0)
    table = history.to_dict()
    damage(table)
    with pytest.raises(CheckpointError):
        History.from_dict(table)
