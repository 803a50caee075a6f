"""What the worker has under way: a text, a loading, and the stored run that is read from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tabgrad.app.runs import is_finetune
from tabgrad.checkpoint.folder import read_model
from tabgrad.checkpoint.store import RunStore
from tabgrad.errors import Cancelled, CheckpointError, SettingsError
from tabgrad.generate.generator import Generator
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.preset_text import preset_text
from tabgrad.text.tokenizer import TOKENIZER, Tokenizer
from tabgrad.text.word_tokenizer import WordTokenizer
from tabgrad.train.reading import open_tokenizer


@dataclass
class Writing:
    """A generation under way; setting `stopped` ends it after the tokens on their way."""

    stopped: bool = False


@dataclass
class Evaluating:
    """An evaluation under way; setting `stopped` ends it before its next piece of work.

    Attributes:
        ended: set when it has let go of the model.
    """

    stopped: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Loading:
    """A checkpoint on its way to the GPU; setting `stopped` ends it after the tensor on its way."""

    model: str
    stopped: bool = False

    def go_on(self) -> None:
        """Raises `Cancelled` once it was stopped."""
        if self.stopped:
            raise Cancelled("The loading was stopped.")


@dataclass(frozen=True)
class Reader:
    """The model of one checkpoint on one device.

    A run in training keeps its own weights; text is always generated from its last checkpoint,
    so the same prompt and seed give the same text whatever training does meanwhile.
    """

    run: str
    step: int
    device: Device
    generator: Generator

    @classmethod
    async def open(cls, device: Device, store: RunStore, run: str,
                   known: Reader | None) -> Reader:
        """The reader of a run's newest checkpoint; `known` itself when it is that.

        Raises:
            CheckpointError: the run has no checkpoint yet, or none that can be read.
        """
        steps = await store.steps(run)
        if (known is not None and known.run == run and known.device is device
                and steps and known.step == steps[-1]):
            return known
        found = await store.find(run)
        if is_finetune(found.record):
            raise SettingsError(f"{run} is a fine-tune: it is spoken to in Chat.",
                                control="generate-run", remedy="Load "
                                f"{found.record['base']['title']} there and switch it on.")
        loaded = await store.load(run)
        if loaded is None:
            raise CheckpointError(f"{run} has no checkpoint yet.", control="generate-run",
                                  remedy="Wait until the first one is saved.")
        recipe, weights = read_model(loaded.files)
        use_device(device)
        decoder = Decoder(recipe, seed=0, trainable=False)
        decoder.arena.write(decoder.arena.weights, weights)
        words = preset_text(str(found.record.get("preset")))
        tokenizer: WordTokenizer | Tokenizer | None = words.tokenizer if words else None
        if words is None and TOKENIZER in loaded.files:
            tokenizer = await open_tokenizer(loaded.files)
        generator = Generator(decoder, tokenizer)
        return cls(run, loaded.summary.step, device, generator)
