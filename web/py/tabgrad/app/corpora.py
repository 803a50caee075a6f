"""The texts that can be trained on: built in, of presets, and added by the person."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application
from tabgrad.app.library import builtin_corpus
from tabgrad.errors import StorageError
from tabgrad.models.preset_text import PRESET_TEXTS
from tabgrad.text.corpus import Corpus


async def list_corpora(app: Application) -> list[dict[str, Any]]:
    """Built-in texts first, then those of presets and those that were added; each once."""
    builtin = app.host.corpora() + [one.describe() for one in preset_corpora().values()]
    known = {each["sha256"] for each in builtin}
    stored = await app.corpora.list()
    return builtin + [each for each in stored
                      if each["sha256"] not in known and not each["builtin"]]


async def find_corpus(app: Application, sha256: str) -> Corpus:
    """A stored text, or a built-in one, which is fetched from our own origin once.

    Raises:
        StorageError: neither stored nor built in.
    """
    if await app.corpora.has(sha256):
        return await app.corpora.load(sha256)
    corpus = preset_corpora().get(sha256) or await builtin_corpus(app.host, sha256)
    if corpus is None:
        raise StorageError("This text is not stored here.", control="corpus",
                           remedy="Add the text again; it is recognised by its content.")
    await app.corpora.add(corpus)
    return corpus


def preset_corpora() -> dict[str, Corpus]:
    """The texts that come with presets, by checksum."""
    return {text.corpus.sha256: text.corpus for text in PRESET_TEXTS.values()}
