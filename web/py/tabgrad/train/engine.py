"""Everything of a run that lives on one GPU: built from nothing or from a checkpoint.

When the device is lost, the engine goes with it, and the trainer builds the next one from the last
checkpoint. Nothing here is read back from a device that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from tabgrad.checkpoint.folder import Checkpoint
from tabgrad.errors import CheckpointError
from tabgrad.evaluate.validation import Validation
from tabgrad.generate.generator import Generator
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.platform import Files
from tabgrad.text.corpus import Corpus, Units
from tabgrad.train.settings import TrainSettings
from tabgrad.train.step import TrainStep
from tabgrad.train.tuning import choose_kernels

Stage = Callable[[str, int, int], None]

SAMPLE_TOKENS = 160
SAMPLE_TEMPERATURE = 0.8


class Engine:
    """Decoder, optimiser and compiled plans of a run on one device; see `Engine.build`."""

    def __init__(self, device: Device, settings: TrainSettings, corpus: Corpus) -> None:
        use_device(device)
        self.device = device
        self.settings = settings
        train, held_back = training_parts(settings, corpus)
        self.decoder = Decoder(settings.recipe, settings.seed)
        self.step = TrainStep(self.decoder, settings, train)
        self.validation: Validation | None = None
        if settings.eval_steps and len(held_back):
            self.validation = Validation(self.decoder, held_back,
                                         settings.per_device_train_batch_size,
                                         settings.context_length)
        self._generator: Generator | None = None

    @classmethod
    async def build(cls, device: Device, settings: TrainSettings, corpus: Corpus,
                    checkpoint: Checkpoint | None, files: Files, stage: Stage) -> Engine:
        """Allocates, fills, chooses kernels and compiles.

        Args:
            device: an open device.
            settings: of the run.
            corpus: its text.
            checkpoint: where to go on; None starts from the seed.
            files: where this adapter's choices of kernels are kept.
            stage: called with ("tuning" | "kernels", done, total).
        Raises:
            CheckpointError: the checkpoint is of another model or optimiser.
        """
        engine = cls(device, settings, corpus)
        if checkpoint is not None:
            engine._restore(checkpoint)
        await choose_kernels(device, engine.step, checkpoint, files, partial(stage, "tuning"))
        await engine.step.compile(partial(stage, "kernels"))
        if engine.validation is not None:
            await engine.validation.compile(partial(stage, "kernels"))
        return engine

    async def checkpoint(self, state: dict[str, Any]) -> Checkpoint:
        """Reads weights and moments back; no step may be in flight."""
        arena = self.decoder.arena
        text = self.settings.text
        return Checkpoint(self.settings.recipe, await arena.read(arena.weights),
                          **await self.step.optimizer.read_moments(), state=state,
                          text_files=text.tokenizer.files() if text else {})

    async def sample(self, go_on: Callable[[], bool]) -> str | None:
        """A short text from a fixed prompt and the run's seed; None when it was given up.

        A preset that reads words answers its own prompt, always with the likeliest word.
        Reads the weights and writes only the generator's own buffers, so training after it has
        the same bits as without it.
        """
        text = self.settings.text
        if self._generator is None:
            self._generator = Generator(self.decoder, text.tokenizer if text else None)
        pieces = []
        stream = self._generator.text(
            text.prompt if text else "", max_new_tokens=SAMPLE_TOKENS,
            temperature=0.0 if text else SAMPLE_TEMPERATURE, seed=self.settings.seed)
        async with aclosing(stream):
            async for piece in stream:
                pieces.append(piece.text)
                if not go_on():
                    return None
        return "".join(pieces)

    def _restore(self, checkpoint: Checkpoint) -> None:
        if checkpoint.recipe != self.settings.recipe:
            raise CheckpointError("This checkpoint is of another model.",
                                  expected=str(self.settings.recipe),
                                  received=str(checkpoint.recipe))
        if checkpoint.optim != self.settings.optim:
            raise CheckpointError(
                "This checkpoint was written by another optimiser.", expected=self.settings.optim,
                received=checkpoint.optim, control="optim",
                remedy=f"Go on with {checkpoint.optim}, or begin a new run.")
        arena = self.decoder.arena
        arena.write(arena.weights, checkpoint.weights)
        self.step.optimizer.write_moments({"first_moment": checkpoint.first_moment,
                                           "second_moment": checkpoint.second_moment})


def training_parts(settings: TrainSettings, corpus: Corpus) -> Sequence[Units]:
    """Training part and validation part of a text, as the preset reads it: bytes or tokens.

    Raises:
        DataError: less than one window, or words that the preset does not know.
    """
    if settings.text is not None:
        return settings.text.parts(corpus, settings.context_length)
    return corpus.split(settings.context_length)
