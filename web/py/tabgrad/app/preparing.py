"""From the record of a run to what trains it: settings, and the builder of its engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabgrad.app.application import Application
from tabgrad.app.bases import base_again
from tabgrad.app.corpora import find_corpus
from tabgrad.app.runs import finetune_settings_of, is_finetune, settings_of
from tabgrad.data.dataset import Dataset
from tabgrad.data.documents import BadLine, Parsed
from tabgrad.data.parsing import parse
from tabgrad.data.tokens import tokenize
from tabgrad.errors import DataError, SettingsError
from tabgrad.models.recipe import Recipe
from tabgrad.train.base import Base, BaseName
from tabgrad.train.engine import Builder
from tabgrad.train.finetune import finetuning
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.pretrain import pretraining
from tabgrad.train.reading import check_corpus
from tabgrad.train.step_settings import StepSettings


@dataclass(frozen=True)
class Prepared:
    """What a trainer is given."""

    settings: StepSettings
    build: Builder


@dataclass(frozen=True)
class ReadData:
    """A file of training data, read with a model's tokenizer.

    Args:
        parsed: its documents.
        dataset: rows of those that can be used.
        bad_lines: those that cannot, the first of them; of the file and of the template.
        bad_count: how many cannot be used.
    """

    parsed: Parsed
    dataset: Dataset
    bad_lines: list[BadLine] = field(default_factory=list)
    bad_count: int = 0


async def prepare(app: Application, record: Mapping[str, Any],
                  run: str | None = None) -> Prepared:
    """What trains a run, after everything that it needs was found.

    Args:
        app: the application.
        record: content of run.json.
        run: its name, where it exists already.

    Raises:
        DataError: a text that cannot be trained on.
        SettingsError: a setting that does not fit.
        StorageError, CheckpointError: the text or the base is not here.
    """
    if is_finetune(record):
        settings = finetune_settings_of(record)
        base = await base_again(app, BaseName.from_dict(record.get("base")),
                                run if not settings.is_lora else None)
        return await prepare_finetune(app, settings, base, record["corpus"]["sha256"],
                                      bool(record.get("skip_bad_lines")))
    train_settings = settings_of(record)
    corpus = await find_corpus(app, record["corpus"]["sha256"])
    check_corpus(train_settings, corpus)
    return Prepared(train_settings, pretraining(train_settings, corpus, app.files))


async def prepare_finetune(app: Application, settings: FineTuneSettings, base: Base, corpus: str,
                           skip_bad_lines: bool) -> Prepared:
    """What trains a fine-tune.

    Raises:
        DataError: lines that cannot be used, and nobody said to leave them out; nothing to learn.
    """
    data = await read_data(app, settings, base, corpus)
    if data.bad_count and not skip_bad_lines:
        first = data.bad_lines[0]
        raise DataError(f"{data.bad_count} lines of this file cannot be used.",
                        received=f"line {first.line}: {first.reason}", control="skip_bad_lines",
                        remedy="Mend them, or train on the rest.")
    return Prepared(settings, finetuning(settings, base, data.dataset, app.files))


async def read_data(app: Application, settings: FineTuneSettings, base: Base,
                    corpus: str) -> ReadData:
    """Rows of a stored text for a model. Lines that cannot be used are left out and listed.

    Raises:
        DataError: no kind of data that can be trained on, or not enough of it.
        SettingsError: a context that the model does not have.
    """
    check_rows(settings, base.recipe)
    text = await find_corpus(app, corpus)
    parsed = parse(text.name, text.data.tobytes())
    bad = list(parsed.bad_lines)
    count = parsed.bad_count

    def on_bad(line: BadLine) -> None:
        nonlocal count
        count += 1
        bad.append(line)

    documents = tokenize(parsed, base.tokenizer, on_bad)
    dataset = Dataset(documents, settings.context_length, seed=settings.seed,
                      packing=settings.packing, held_out=settings.held_out,
                      gradient_accumulation_steps=settings.gradient_accumulation_steps)
    return ReadData(parsed, dataset, sorted(bad, key=lambda one: one.line)[:1000], count)


def check_rows(settings: FineTuneSettings, recipe: Recipe) -> None:
    """Refuses rows that a model cannot read.

    Raises:
        SettingsError: names the field.
    """
    limit = recipe.max_position_embeddings
    if settings.context_length > limit:
        raise SettingsError("context_length is out of range.", control="context_length",
                            expected=f"at most {limit}, which is what this model reads",
                            received=str(settings.context_length))
