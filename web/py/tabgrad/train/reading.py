"""How a run from nothing reads its text: as bytes, as words of a list, or as learned tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tabgrad.errors import CheckpointError
from tabgrad.models.preset_text import END_OF_TEXT
from tabgrad.platform import Files
from tabgrad.text.bpe_files import bpe_files, settings_files
from tabgrad.text.bpe_trainer import BpeSettings, train_bpe
from tabgrad.text.corpus import Corpus, Units, check_length, split_by_position
from tabgrad.text.encoding import encode_words
from tabgrad.text.json_object import parse_json
from tabgrad.text.tokenizer import TOKENIZER, Tokenizer, load_tokenizer
from tabgrad.text.word_tokenizer import WordTokenizer
from tabgrad.train.engine import Stage
from tabgrad.train.settings import TrainSettings

FOLDER = "tokenizers"


@dataclass(frozen=True)
class Reading:
    """A text as a run reads it.

    Args:
        parts: training part and validation part.
        tokenizer: None where the parts are bytes.
        files: tokenizer.json and what belongs to it; none for bytes.
        bytes_per_unit: of the text, on average.
    """

    parts: Sequence[Units]
    tokenizer: WordTokenizer | Tokenizer | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    bytes_per_unit: float = 1.0


def check_corpus(settings: TrainSettings, corpus: Corpus) -> None:
    """Refuses a text that a run cannot read, before anything slow is begun.

    Raises:
        DataError: less than one window, or words that the preset does not know.
    """
    if settings.vocabulary is None:
        _known_parts(settings, corpus)
    else:  # it has no more tokens than bytes; how many, only its vocabulary tells
        check_length(len(corpus), settings.context_length)


async def read_corpus(settings: TrainSettings, corpus: Corpus, files: Files | None,
                      saved: Mapping[str, bytes], stage: Stage) -> Reading:
    """Reads a run's text; a preset of learned tokens learns them first, once for each text.

    Args:
        settings: of the run.
        corpus: the text.
        files: where learned vocabularies are kept, in `tokenizers/`; None keeps none.
        saved: files of the checkpoint where the run goes on; its tokenizer.json counts.
        stage: told how far it is; what it raises ends the work.

    Raises:
        DataError: less than one window, or words that the preset does not know.
        CheckpointError: the checkpoint's tokenizer.json cannot be read.
    """
    if settings.vocabulary is None:
        words = settings.text
        if words is None:
            return Reading(_known_parts(settings, corpus))
        return Reading(_known_parts(settings, corpus), words.tokenizer, words.tokenizer.files())
    text = corpus.data.tobytes().decode("utf-8")
    data = saved.get(TOKENIZER) or await _learned(settings.vocabulary, corpus, text, files, stage)
    named = {TOKENIZER: data, **settings_files(END_OF_TEXT)}
    tokenizer = await open_tokenizer(named)
    ids = await encode_words(tokenizer, text, END_OF_TEXT, progress=lambda done, total: stage(
        "reading", done, total, "characters"))
    parts = split_by_position(ids, settings.context_length, "tokens")
    return Reading(parts, tokenizer, named, len(corpus) / len(ids))


async def open_tokenizer(files: Mapping[str, bytes]) -> Tokenizer:
    """The tokenizer among the files of a checkpoint.

    Raises:
        CheckpointError: none, or one that cannot be read.
    """
    async def read(name: str) -> bytes | None:
        return files.get(name) if name != "config.json" else None

    return await load_tokenizer(read)


def _known_parts(settings: TrainSettings, corpus: Corpus) -> Sequence[Units]:
    if settings.text is not None:
        return settings.text.parts(corpus, settings.context_length)
    return corpus.split(settings.context_length)


async def _learned(wanted: BpeSettings, corpus: Corpus, text: str, files: Files | None,
                   stage: Stage) -> bytes:
    """The tokenizer.json of a text: kept from an earlier run, or learned now and kept."""
    path = f"{FOLDER}/{corpus.sha256}-{wanted.vocab_size}.json"
    if files is not None and await files.exists(path):
        kept = await files.read(path)
        if _is_whole(kept):
            return kept
    bpe = await train_bpe(text, wanted, progress=lambda done, total: stage(
        "vocabulary", done, total, "merges"))
    data = bpe_files(bpe)[TOKENIZER]
    if files is not None:
        await files.write(path + ".part", [data])
        await files.replace(path + ".part", path)
    return data


def _is_whole(data: bytes) -> bool:
    """Whether a kept vocabulary can be read; one that was damaged is learned again."""
    try:
        return "model" in parse_json(data, TOKENIZER)
    except CheckpointError:
        return False
