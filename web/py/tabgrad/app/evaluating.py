"""What the `evaluate` command measures, on which model; the commands themselves are thin."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tabgrad import platform
from tabgrad.app.application import Application
from tabgrad.app.bases import stored_model
from tabgrad.app.corpora import find_corpus
from tabgrad.app.reader import Evaluating
from tabgrad.data.documents import Text
from tabgrad.data.parsing import parse
from tabgrad.errors import Cancelled, DataError, SettingsError
from tabgrad.evaluate.conditions import conditions
from tabgrad.evaluate.goodput import Speed, speed
from tabgrad.evaluate.memorisation import memorisation
from tabgrad.evaluate.perplexity import perplexity
from tabgrad.evaluate.progress import Tell
from tabgrad.evaluate.report import Score, Subject
from tabgrad.evaluate.retrieval import Retriever, passages
from tabgrad.evaluate.scorer import Scorer
from tabgrad.evaluate.task_scores import TaskScore, score_tasks
from tabgrad.evaluate.tasks import BUILT_IN, TaskSet, builtin, load_tasks
from tabgrad.evaluate.writing import answer, warm_up
from tabgrad.generate.language_model import LanguageModel

CONTEXT = 1024
WRITTEN_TOKENS = 32
OPTIONS: Mapping[str, Mapping[str, type]] = {
    "text": {"context_length": int, "overlap": int, "share": float},
    "tasks": {"context_length": int, "writing": int},
    "conditions": {"context_length": int, "shots": int, "max_new_tokens": int, "chat": bool},
    "memorisation": {"context_length": int, "prefixes": int, "prefix_characters": int,
                     "max_new_tokens": int, "seed": int}}
"""What `options` of each kind may hold; every one may be left out."""
NAMED = {int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Job:
    """What is to be measured, read and checked before a model is touched.

    Args:
        kind: of the evaluation.
        subject: what on.
        options: checked numbers.
        text: held-out or training text, or what retrieval looks in; None without.
        tasks: the set; None without.
    """

    kind: str
    subject: Subject
    options: Mapping[str, Any]
    text: str | None = None
    tasks: TaskSet | None = None

    @property
    def context_length(self) -> int | None:
        """T, where it was asked for."""
        length: int | None = self.options.get("context_length")
        return length


@dataclass(kw_only=True)
class Watch(Evaluating):
    """Tells the page how far an evaluation is, and ends it when it was stopped.

    Args:
        app: whose page.
        id: of the request.
    """

    app: Application
    id: int
    _stage: str = ""
    _started: float = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Before each piece of work; raises `Cancelled` once it was stopped."""
        if self.stopped:
            raise Cancelled("The evaluation was stopped.")
        now = platform.current().now_ms()
        if stage != self._stage:
            self._stage, self._started = stage, now
        left = (now - self._started) / 1e3 * (total - done) / done if done else None
        self.app.emit("evaluation_progress", {"id": self.id, "stage": stage, "done": done,
                                              "total": total, "seconds_left": left})


async def prepare(app: Application, fields: Mapping[str, Any]) -> Job:
    """Reads what an evaluation is of.

    Raises:
        SettingsError: an unknown kind or option, or one that lacks its text or tasks.
        DataError: a text or task set that cannot be used.
    """
    kind, corpus, tasks = fields["kind"], fields.get("corpus"), fields.get("tasks")
    if kind not in OPTIONS:
        raise SettingsError("There is no such evaluation.", expected=", ".join(OPTIONS),
                            received=repr(kind)[:80], control="evaluation-kind")
    options = _options(kind, fields["options"])
    if kind in ("tasks", "conditions"):
        if tasks is None:
            raise SettingsError("This evaluation needs a task set.", control="tasks",
                                remedy=f"Choose {' or '.join(BUILT_IN)}, or add your own.")
        found = await find_tasks(app, tasks)
        text = None if corpus is None or kind == "tasks" else (await _text(app, corpus))[1]
        return Job(kind, Subject(found.name, found.sha256), options, text, found)
    if corpus is None:
        raise SettingsError("This evaluation needs a text.", control="corpus",
                            remedy="Choose one.")
    name, text = await _text(app, corpus)
    share = options.get("share", 1.0)
    if not 0 < share <= 1:
        raise SettingsError("share is out of range.", expected="above 0, at most 1",
                            received=str(share), control="share")
    text = text[len(text) - int(share * len(text)):]
    return Job(kind, Subject(name, hashlib.sha256(text.encode()).hexdigest()), options, text)


async def measure(job: Job, model: LanguageModel, adapter: str | None,
                  tell: Tell) -> tuple[Score, Speed | None]:
    """Measures. The adapter is attached; it is switched on here, and as it was afterwards.

    Args:
        job: what.
        model: on which.
        adapter: its name, or None for the model alone.
        tell: called before each piece of work.
    """
    before = model.adapter, model.adapters[model.adapter].weight if model.adapter else 0.0
    model.use(adapter)
    try:
        if job.kind == "memorisation":
            assert job.text is not None
            numbers = {name: value for name, value in job.options.items()
                       if name != "context_length"}
            return await memorisation(model, job.text, **numbers, tell=tell), None
        scorer = Scorer(model.decoder, model.tokenizer, _context(job, model))
        try:
            return await _scored(job, model, adapter, scorer, tell)
        finally:
            scorer.close()
    finally:
        model.use(*before)


async def _scored(job: Job, model: LanguageModel, adapter: str | None, scorer: Scorer,
                  tell: Tell) -> tuple[Score, Speed | None]:
    if job.kind == "text":
        assert job.text is not None
        return await perplexity(scorer, job.text, overlap=job.options.get("overlap"),
                                tell=tell), None
    assert job.tasks is not None
    if job.kind == "tasks":
        score = await score_tasks(scorer, job.tasks, tell)
        return score, await _writing(model, score, job.options.get("writing", 3), tell)
    retriever = None if job.text is None else Retriever(passages(job.text))
    numbers = {name: value for name, value in job.options.items() if name != "context_length"}
    return await conditions(model, scorer, adapter, job.tasks, retriever, **numbers,
                            tell=tell), None


async def _writing(model: LanguageModel, score: TaskScore, count: int,
                   tell: Tell) -> Speed | None:
    """Rates of writing, from the first few contexts of a set; None where none are asked for."""
    items = score.items[:max(count, 0)]
    if not items:
        return None
    await warm_up(model)
    written = []
    for number, item in enumerate(items):
        tell("Writing", number, len(items))
        written.append(await answer(model, item.context, WRITTEN_TOKENS))
    return speed([one.usage for one in written], [one.text for one in written],
                 [float(one.correct) for one in items], [one.weight for one in items])


@asynccontextmanager
async def model_of(app: Application, name: str, context_length: int | None,
                   ) -> AsyncIterator[LanguageModel]:
    """The loaded model if it is the one, else one that is opened for the time being.

    Args:
        app: the application.
        name: of a stored model, or of a run of ours.
        context_length: positions of the longest text of one that is opened.
    """
    loaded = app.language_model
    if loaded is not None and loaded.name == name:
        yield loaded
        return
    device = await app.working_device()
    stored = await stored_model(app, name)
    model = await LanguageModel.open(
        device, stored, context_length,
        weights=lambda done, total: app.stage("weights", done, total, "bytes"),
        kernels=lambda done, total: app.stage("kernels", done, total, "kernels"))
    try:
        yield model
    finally:
        await model.close()


def _context(job: Job, model: LanguageModel) -> int:
    """T of the scorer; conditions score whatever the model can read."""
    if job.context_length is not None:
        return job.context_length
    longest = model.decoder.recipe.max_position_embeddings
    return min(longest, max(CONTEXT, model.context_length) if job.kind == "conditions" else CONTEXT)


def _options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    known = OPTIONS[kind]
    for name, value in options.items():
        if name not in known:
            raise SettingsError(f"There is no option {name[:40]!r} of this evaluation.",
                                expected=", ".join(known), control="options")
        kind_ = known[name]
        if type(value) is not kind_ and not (kind_ is float and type(value) is int):
            raise SettingsError(f"{name} is not what it should be.", received=repr(value)[:80],
                                expected=NAMED[kind_], control=name)
    return dict(options)


async def find_tasks(app: Application, name: str) -> TaskSet:
    """A set that ships, or one that was added as a text, by its checksum."""
    if name in BUILT_IN:
        return builtin(name)
    corpus = await find_corpus(app, name)
    return load_tasks(corpus.data.tobytes(), corpus.name)


async def _text(app: Application, sha256: str) -> tuple[str, str]:
    """Name and text of a corpus; of JSONL the texts in it, an empty line between two."""
    corpus = await find_corpus(app, sha256)
    parsed = parse(corpus.name, corpus.data.tobytes())
    texts = [one.text if isinstance(one, Text) else
             "\n".join(str(message["content"]) for message in one.messages
                       if isinstance(message.get("content"), str)) for one in parsed.documents]
    text = "\n\n".join(texts)
    if not text.strip():
        raise DataError("There is no text in this file.", control="corpus")
    return corpus.name, text
