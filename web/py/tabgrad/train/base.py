"""Base: the model that a fine-tune starts from, and how a checkpoint remembers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tabgrad.checkpoint.load import recipe_of
from tabgrad.checkpoint.models import StoredModel
from tabgrad.errors import CheckpointError
from tabgrad.models.recipe import Recipe
from tabgrad.text.tokenizer import SETTINGS as TOKENIZER_SETTINGS
from tabgrad.text.tokenizer import SPECIAL, TEMPLATE, TOKENIZER, Tokenizer, load_tokenizer

GENERATION = "generation_config.json"
TEXT_FILES = (TOKENIZER, TOKENIZER_SETTINGS, SPECIAL, TEMPLATE, GENERATION)


@dataclass(frozen=True)
class BaseName:
    """Which model a run began with.

    Args:
        model: its name here.
        title: what a person calls it.
        source: address that it came from; None for a run of ours, or a folder.
        weights: name of each file of weights -> its SHA-256.
    """

    model: str
    title: str
    source: str | None
    weights: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """For state.json and run.json."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: object) -> BaseName:
        """Reads what `to_dict` gave.

        Raises:
            CheckpointError: it is not that.
        """
        if not isinstance(table, Mapping) or set(table) != {"model", "title", "source", "weights"} \
                or not isinstance(table["weights"], Mapping):
            raise CheckpointError("This fine-tune does not say which model it began with.",
                                  received=repr(table)[:200])
        source = table["source"]
        return cls(str(table["model"]), str(table["title"]),
                   None if source is None else str(source),
                   {str(name): str(sha) for name, sha in table["weights"].items()})

    def check(self, other: BaseName) -> None:
        """Refuses another model than this one; where it came from, and its title, may differ.

        Raises:
            CheckpointError: names both.
        """
        if dict(self.weights) != dict(other.weights):
            raise CheckpointError(
                f"This fine-tune belongs to another model than the {other.title} that is here.",
                expected=f"{self.title} with the weights that it began with",
                received=f"{other.title} with other weights", control="finetune-base",
                remedy=self.again)

    @property
    def again(self) -> str:
        """What brings it back, in a sentence."""
        return f"Get {self.title} again{f' from {self.source}' if self.source else ''}."


@dataclass(frozen=True)
class Base:
    """A model to start from.

    Args:
        name: which it is.
        model: its files.
        tokenizer: of the model.
        text_files: tokenizer.json and what belongs to it, as they are.
    """

    name: BaseName
    model: StoredModel
    tokenizer: Tokenizer
    text_files: Mapping[str, bytes]

    @property
    def recipe(self) -> Recipe:
        """What its decoder is made of."""
        return recipe_of(self.model)

    @classmethod
    async def open(cls, model: StoredModel, name: BaseName) -> Base:
        """Reads the tokenizer of a model; its weights stay where they are.

        Raises:
            CheckpointError: a model that tabgrad does not compute, or without a tokenizer.
        """
        recipe_of(model)
        files = {file: await model.read(file) for file in TEXT_FILES}
        return cls(name, model, await load_tokenizer(model.read),
                   {file: data for file, data in files.items() if data is not None})


def text_config(config: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """config.json of what is computed here: of the text model, where a model reads pictures too.

    Args:
        config: of the base.
        recipe: of its decoder.
    """
    text = config.get("text_config")
    chosen = text if isinstance(text, Mapping) else config
    return {**chosen, "tie_word_embeddings": recipe.tie_word_embeddings}
