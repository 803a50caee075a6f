"""Two kept evaluations side by side: what differs, and on which items."""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.errors import SettingsError
from tabgrad.evaluate.conditions import Conditions
from tabgrad.evaluate.markdown import plain_line, quoted, table
from tabgrad.evaluate.metrics import LESS, MORE, NEITHER, Metric
from tabgrad.evaluate.report import Evaluation
from tabgrad.evaluate.task_scores import TaskScore


@dataclass(frozen=True)
class Row:
    """One measure in both.

    Args:
        name, unit: of the measure.
        first, second: its values; NaN where one has none.
        difference: second - first.
        better: "first", "second", or "neither" where they are equal or there is no better.
    """

    name: str
    unit: str
    first: float
    second: float
    difference: float
    better: str


@dataclass(frozen=True)
class Flip:
    """An item that one got right and the other wrong.

    Args:
        line: of the file.
        context: of the item.
        expected: its answer.
        condition: under which; empty for tasks.
        first, second: who was right.
    """

    line: int
    context: str
    expected: str
    condition: str
    first: bool
    second: bool


@dataclass(frozen=True)
class Comparison:
    """Two evaluations.

    Args:
        first, second: their titles.
        notes: what a reader should know before trusting a difference.
        rows: measures.
        flips: items.
    """

    first: str
    second: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    flips: tuple[Flip, ...]

    def to_markdown(self) -> str:
        """Both in a table, and the items that flipped in another."""
        lines = [f"# {plain_line(self.first)} and {plain_line(self.second)}", "",
                 *(f"- {note}" for note in self.notes), *([""] if self.notes else [])]
        rows = [[one.name, *(Metric("", value, "", NEITHER).shown for value in
                             (one.first, one.second, one.difference)), one.unit,
                 {"first": self.first, "second": self.second}.get(one.better, "")]
                for one in self.rows]
        lines += [*table(["measure", self.first, self.second, "difference", "", "better"],
                         rows), ""]
        if self.flips:
            flips = [[str(one.line), one.condition, quoted(one.context), quoted(one.expected),
                      self.first if one.first else self.second] for one in self.flips]
            lines += ["## Items that only one got right", "",
                      *table(["line", "condition", "context", "right", "who"], flips), ""]
        return "\n".join(lines)


def compare(first: Evaluation, second: Evaluation) -> Comparison:
    """Measures and items of two evaluations of the same kind on the same text or task set.

    Args:
        first, second: which.

    Raises:
        SettingsError: another kind, text or task set: their numbers do not compare.
    """
    if first.kind != second.kind:
        raise SettingsError("These two evaluations are of different kinds.", expected=first.kind,
                            received=second.kind, control="compare")
    if first.subject.sha256 != second.subject.sha256:
        raise SettingsError("These two evaluations were measured on different things.",
                            expected=f"{first.subject.name} ({first.subject.sha256[:12]})",
                            received=f"{second.subject.name} ({second.subject.sha256[:12]})",
                            control="compare", remedy="Measure both on the same text or tasks.")
    ours = {one.name: one for one in first.metrics}
    theirs = {one.name: one for one in second.metrics}
    names = [*ours, *(name for name in theirs if name not in ours)]
    return Comparison(first.title, second.title, tuple(_notes(first, second)),
                      tuple(_row(name, ours.get(name), theirs.get(name)) for name in names),
                      tuple(_flips(first, second)))


def _row(name: str, first: Metric | None, second: Metric | None) -> Row:
    known = first or second
    assert known is not None
    one = first.value if first else float("nan")
    other = second.value if second else float("nan")
    if one == other or known.better not in (MORE, LESS) or one != one or other != other:
        better = NEITHER
    else:
        better = "second" if (other > one) == (known.better == MORE) else "first"
    return Row(name, known.unit, one, other, other - one, better)


def _notes(first: Evaluation, second: Evaluation) -> list[str]:
    found = []
    if first.device != second.device:
        found.append(f"Times are of different GPUs: {first.device}; {second.device}.")
    if first.kind == "text" and first.model != second.model:
        found.append("Loss and perplexity are per token, and tokenizers differ between models; "
                     "bits per byte compare in any case.")
    return found


def _flips(first: Evaluation, second: Evaluation) -> list[Flip]:
    one, other = first.score, second.score
    if isinstance(one, TaskScore) and isinstance(other, TaskScore):
        by_line = {item.line: item for item in other.items}
        pairs = [(item, by_line[item.line]) for item in one.items if item.line in by_line]
        return [Flip(a.line, a.context, a.choices[a.answer], "", a.correct, b.correct)
                for a, b in pairs if a.correct != b.correct]
    if isinstance(one, Conditions) and isinstance(other, Conditions):
        return _condition_flips(one, other)
    return []


def _condition_flips(one: Conditions, other: Conditions) -> list[Flip]:
    found = []
    theirs = {condition.name: {answer.line: answer for answer in condition.answers}
              for condition in other.conditions}
    for condition in one.conditions:
        for prompt, answer in zip(one.prompts, condition.answers, strict=True):
            match = theirs.get(condition.name, {}).get(answer.line)
            if match is not None and match.exact != answer.exact:
                found.append(Flip(answer.line, prompt.context, prompt.expected, condition.name,
                                  answer.exact, match.exact))
    return found
