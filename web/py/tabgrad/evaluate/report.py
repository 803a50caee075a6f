"""An evaluation that is kept: what was measured, on what, by what; as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from tabgrad.errors import CheckpointError
from tabgrad.evaluate.conditions import Conditions
from tabgrad.evaluate.goodput import Speed
from tabgrad.evaluate.markdown import plain_line, quoted, table
from tabgrad.evaluate.memorisation import Memorised
from tabgrad.evaluate.metrics import Metric, metrics_of
from tabgrad.evaluate.perplexity import TextScore
from tabgrad.evaluate.plain import from_plain, to_plain
from tabgrad.evaluate.task_scores import TaskScore

Score: TypeAlias = TextScore | TaskScore | Conditions | Memorised
SCORES: Mapping[str, type[Score]] = {
    "text": TextScore, "tasks": TaskScore, "conditions": Conditions, "memorisation": Memorised}
TITLES = {"text": "Held-out text", "tasks": "Tasks", "conditions": "Conditions",
          "memorisation": "Memorisation"}
SHOWN = 5
"""Examples in a report; the JSON has all."""


@dataclass(frozen=True)
class Subject:
    """What a model was measured on.

    Args:
        name: of the text or the task set.
        sha256: of the text, or of the set's items.
    """

    name: str
    sha256: str


@dataclass(frozen=True)
class Evaluation:
    """One measurement of one model.

    Args:
        evaluation: its name in the store.
        title: what a person calls it.
        model: name of the model or run.
        adapter: name of the adapter that was on, or None. Of conditions: the one of the adapter's.
        created_at: seconds since 1970.
        kind: "text", "tasks", "conditions" or "memorisation".
        subject: what it was measured on.
        device: the adapter of the GPU, in one line.
        score: the numbers.
        speed: of a few texts that the model wrote; None where none was asked for.
    """

    evaluation: str
    title: str
    model: str
    adapter: str | None
    created_at: float
    kind: str
    subject: Subject
    device: str
    score: Score
    speed: Speed | None = None

    @property
    def metrics(self) -> list[Metric]:
        """The numbers by name, the most important first."""
        return metrics_of(self.score, self.speed)

    def to_json(self) -> dict[str, Any]:
        """The `Evaluation` of protocol.json, complete: `from_json` gives the same again.

        `result` has subject, device, score, speed, and `metrics` for tables.
        """
        return {"evaluation": self.evaluation, "title": self.title, "model": self.model,
                "adapter": self.adapter, "created_at": self.created_at, "kind": self.kind,
                "result": {"subject": to_plain(self.subject), "device": self.device,
                           "score": to_plain(self.score), "speed": to_plain(self.speed),
                           "metrics": to_plain(self.metrics)}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Evaluation:
        """What `to_json` gave, checked field by field.

        Raises:
            CheckpointError: it is no evaluation.
        """
        result = value.get("result")
        kind = value.get("kind")
        if not isinstance(result, Mapping) or not isinstance(kind, str) or kind not in SCORES:
            raise CheckpointError("This is no evaluation.", expected=", ".join(SCORES),
                                  received=repr(kind)[:80])
        speed = result.get("speed")
        evaluation = cls(
            evaluation=_text(value, "evaluation"), title=_text(value, "title"),
            model=_text(value, "model"),
            adapter=None if value.get("adapter") is None else _text(value, "adapter"),
            created_at=_number(value, "created_at"), kind=kind,
            subject=from_plain(Subject, result.get("subject")), device=_text(result, "device"),
            score=from_plain(SCORES[kind], result.get("score")),
            speed=None if speed is None else from_plain(Speed, speed))
        _check_lists(evaluation.score)
        return evaluation

    def to_markdown(self) -> str:
        """A report that a person reads: what, on what, the numbers, and some of the items."""
        return "\n".join([f"# {plain_line(self.title)}", "", self.summary(),
                          *_details(self.score)])

    def summary(self) -> str:
        """What was measured, and the numbers, without the items: for a model card."""
        lines = table(["", ""], [
            ["kind", TITLES[self.kind]], ["model", self.model],
            ["adapter", self.adapter or "none"],
            ["measured on", f"{self.subject.name} (sha256 {self.subject.sha256[:16]})"],
            ["GPU", self.device],
            ["date", f"{datetime.fromtimestamp(self.created_at, UTC):%Y-%m-%d %H:%M} UTC"]])
        rows = [[one.name, one.shown, one.unit] for one in self.metrics]
        return "\n".join([*lines, "", *table(["measure", "value", ""], rows), ""])


def _details(score: Score) -> list[str]:
    """The items that a reader would ask for."""
    if isinstance(score, TaskScore):
        wrong = [one for one in score.items if not one.correct]
        rows = [[str(one.line), quoted(one.context), quoted(one.choices[one.answer]),
                 quoted(one.choices[one.chosen]) if one.chosen is not None else "something else"]
                for one in wrong]
        return ["## What it got wrong", "",
                *table(["line", "context", "right", "chosen"], rows), ""] if rows else []
    if isinstance(score, Conditions):
        return _answers(score)
    if isinstance(score, Memorised):
        return _recited(score)
    return []


def _answers(score: Conditions) -> list[str]:
    lines = ["## Answers side by side", ""]
    rows = [[quoted(prompt.context), quoted(prompt.expected),
             *(quoted(one.answers[number].text) for one in score.conditions)]
            for number, prompt in enumerate(score.prompts)]
    return [*lines, *table(["prompt", "expected", *(one.name for one in score.conditions)],
                           rows), ""]


def _recited(score: Memorised) -> list[str]:
    lines = [f"## The {min(SHOWN, len(score.continuations))} longest verbatim continuations", ""]
    rows = [[str(one.verbatim), str(one.verbatim_tokens), f"line {one.line}, {one.offset:,}",
             quoted(one.prefix[-60:]), quoted(one.text[:one.verbatim]), str(one.found),
             "" if one.found_offset is None else f"line {one.found_line}, {one.found_offset:,}"]
            for one in score.continuations[:SHOWN]]
    return [*lines, *table(["characters", "tokens", "after", "prefix ends with", "verbatim",
                            "longest found anywhere", "where"], rows), ""]


def _check_lists(score: Score) -> None:
    """Refuses lists that do not belong together, as only a changed file has them."""
    if isinstance(score, Conditions):
        fits = all(len(one.answers) == len(score.prompts) for one in score.conditions)
    elif isinstance(score, TaskScore):
        fits = all(_fits(one.choices, one.logprobs, one.tokens, one.bytes)
                   and all(index is None or 0 <= index < len(one.choices)
                           for index in (one.answer, one.chosen, one.chosen_per_byte))
                   for one in score.items)
    else:
        fits = not isinstance(score, Memorised) or bool(score.continuations)
    if not fits:
        raise CheckpointError("The lists of this evaluation do not belong together.")


def _fits(*lists: Sequence[object]) -> bool:
    return len({len(one) for one in lists}) == 1


def _text(table_: Mapping[str, Any], name: str) -> str:
    value = table_.get(name)
    if not isinstance(value, str):
        raise CheckpointError(f"evaluation.{name} is not what it should be.", expected="a text",
                              received=repr(value)[:80])
    return value


def _number(table_: Mapping[str, Any], name: str) -> float:
    value = table_.get(name)
    # Dates up to the year 9999.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2.5e11:
        raise CheckpointError(f"evaluation.{name} is not what it should be.", expected="a number",
                              received=repr(value)[:80])
    return float(value)
