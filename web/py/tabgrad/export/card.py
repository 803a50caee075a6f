"""The model card: what was trained, on what, how, and how well, as a README.md.

Names and texts in it come from files of a user: they are quoted so that they stay text.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tabgrad.evaluate.markdown import table
from tabgrad.train.history import History

CURVE_ROWS = 12
_MARKDOWN = {ord(mark): f"&#{ord(mark)};" for mark in "`*_[]"}


@dataclass(frozen=True)
class Card:
    """What a card says.

    Args:
        title: of the model.
        base: what it was trained from, as a person calls it; None for one from nothing.
        base_source: "owner/name" or address of the base, where it has one.
        adapter: whether the folder holds only an adapter.
        parameters: trained numbers.
        dtype: in which the weights are written.
        corpus: the `Corpus` of protocol.json.
        settings: of the run, as run.json has them.
        history: its curve, validation losses and answers.
        evaluations: what was measured, each as Markdown.
    """

    title: str
    base: str | None
    base_source: str | None
    adapter: bool
    parameters: int
    dtype: str
    corpus: Mapping[str, Any]
    settings: Mapping[str, Any]
    history: History
    evaluations: Sequence[str] = field(default_factory=tuple)

    def markdown(self) -> str:
        """The README.md."""
        parts = [_front_matter(self), f"# {_line(self.title)}", _sentence(self), _data(self),
                 _settings(self), _curve(self.history), _answers(self.history)]
        if self.evaluations:
            parts.append("## Evaluation\n\n" + "\n\n".join(self.evaluations))
        return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(card: Card) -> str:
    lines = ["---", f"library_name: {'peft' if card.adapter else 'transformers'}",
             "pipeline_tag: text-generation"]
    if card.base_source:
        lines.append(f"base_model: {json.dumps(card.base_source)}")
    return "\n".join([*lines, "tags:", "- tabgrad", "---"])


def _sentence(card: Card) -> str:
    kind = "A LoRA adapter" if card.adapter else "A language model"
    how = f"fine-tuned from {_line(card.base)}" if card.base else "trained from nothing"
    return (f"{kind} with {card.parameters:,} trained numbers in {card.dtype}, {how} with tabgrad "
            "in a browser tab.")


def _data(card: Card) -> str:
    corpus = card.corpus
    rows = [("text", _line(str(corpus.get("name", "")))), ("bytes", f"{corpus.get('bytes', 0):,}"),
            ("SHA-256", str(corpus.get("sha256", "")))]
    return "## Data\n\n" + _table(("what", "value"), rows) + (
        "\n\nThe text itself is not in this folder.")


def _settings(card: Card) -> str:
    rows = [(name, f"`{json.dumps(value)}`") for name, value in card.settings.items()
            if name != "prompts"]
    return "## Settings\n\n" + _table(("name", "value"), rows)


def _curve(history: History) -> str:
    """Training losses at about twelve steps, and the validation losses."""
    points = list(history.points())
    if not points:
        return ""
    every = max(1, len(points) // CURVE_ROWS)
    shown = {point["step"]: point["loss"] for point in (*points[::every], points[-1])}
    held_out = {point["step"]: point["loss"] for point in history.validation}
    steps = sorted({*shown, *held_out})
    rows = [(f"{step:,}", _number(shown.get(step)), _number(held_out.get(step)))
            for step in steps]
    return "## Curve\n\nMean cross-entropy in nats.\n\n" + _table(
        ("step", "training", "validation"), rows)


def _answers(history: History) -> str:
    """What the user's questions were answered before and after."""
    if not history.answers:
        return ""
    first, last = history.answers[0], history.answers[-1]
    before = {one["prompt"]: one["text"] for one in first["answers"]}
    rows = [(_line(one["prompt"]), _line(before.get(one["prompt"], "")), _line(one["text"]))
            for one in last["answers"]]
    return "## Before and after\n\n" + _table(
        ("question", f"step {first['step']:,}", f"step {last['step']:,}"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(table(head, rows))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _line(text: str | None) -> str:
    """A stranger's text on one line of a table, with nothing that Markdown or HTML would act on.

    Example:
        >>> _line("a | <b>" + chr(10) + "c")
        'a | &lt;b&gt; c'
    """
    words = html.escape(" ".join((text or "").split()), quote=False)
    return words.translate(_MARKDOWN)
