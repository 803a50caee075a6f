"""Models that the page offers by name; nothing of them is fetched before the user asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tabgrad.checkpoint.hub import resolve
from tabgrad.checkpoint.models import ModelRecord


@dataclass(frozen=True)
class Entry:
    """A model of the hub.

    Args:
        source: "owner/name".
        title: what a person calls it.
        summary: one sentence.
        bytes: of all its files, about.
        parameters: about.
        licence: as its model card says.
        chat: whether it was trained to converse.
    """

    source: str
    title: str
    summary: str
    bytes: int
    parameters: int
    licence: str
    chat: bool


HUB_MODELS = (
    Entry("calum/tinystories-gpt2-3M", "TinyStories GPT-2 3M",
          "Writes stories for small children; small enough for any machine.",
          15_000_000, 3_700_000, "not stated", False),
    Entry("HuggingFaceTB/SmolLM2-135M", "SmolLM2 135M",
          "Goes on from any English text.", 271_000_000, 135_000_000, "apache-2.0", False),
    Entry("HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2 135M Instruct",
          "Answers short questions in English; the smallest that chats.",
          271_000_000, 135_000_000, "apache-2.0", True),
    Entry("google/gemma-3-270m-it", "Gemma 3 270M",
          "Follows short instructions in many languages. Google asks for consent on its page.",
          575_000_000, 268_000_000, "gemma", True),
    Entry("openai-community/gpt2", "GPT-2 124M",
          "The model of 2019 that goes on from any English text.",
          551_000_000, 124_000_000, "mit", False),
    Entry("Qwen/Qwen3-0.6B", "Qwen3 0.6B",
          "Chats in many languages and can think before it answers.",
          1_520_000_000, 596_000_000, "apache-2.0", True),
    Entry("Qwen/Qwen3.5-0.8B", "Qwen3.5 0.8B",
          "Chats in many languages; three of four layers have a state instead of a cache.",
          1_760_000_000, 750_000_000, "apache-2.0", True),
    Entry("google/gemma-3-1b-it", "Gemma 3 1B",
          "Chats in many languages. Google asks for consent on its page.",
          2_040_000_000, 1_000_000_000, "gemma", True),
    Entry("microsoft/phi-1_5", "Phi-1.5",
          "Trained on textbooks; goes on from English text and Python code.",
          2_840_000_000, 1_420_000_000, "mit", False),
)


def catalogue(builtin: Iterable[Entry], records: Iterable[ModelRecord]) -> list[dict[str, Any]]:
    """The `CatalogueModel`s of protocol.json: the site's own models, then those of the hub.

    Args:
        builtin: models that lie beside the page.
        records: models that are here already.
    """
    here = {record.source: record.name for record in records}
    return [{**asdict(entry), "model": here.get(resolve(entry.source).address)}
            for entry in (*builtin, *HUB_MODELS)]
