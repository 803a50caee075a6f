"""A run from nothing: a preset's decoder, the windows of a text, and the engine made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from tabgrad.checkpoint.folder import Checkpoint, Snapshot, read_folder, write_folder
from tabgrad.data.source import BatchSource, WindowSource
from tabgrad.errors import CheckpointError
from tabgrad.generate.generator import Generator
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.platform import Files
from tabgrad.tensor import Tensor
from tabgrad.text.corpus import Corpus, Units
from tabgrad.train.engine import Builder, Engine, GoOn, Stage, check_optim
from tabgrad.train.feed import Inputs
from tabgrad.train.optimizers import hidden_matrices, make_optimizer
from tabgrad.train.reading import Reading, read_corpus
from tabgrad.train.settings import TrainSettings
from tabgrad.train.step import Loss, TrainStep
from tabgrad.train.step_settings import StepSettings
from tabgrad.train.validation import Validation, over_text

SAMPLE_TOKENS = 160
SAMPLE_TEMPERATURE = 0.8


def pretrain_step(decoder: Decoder, settings: StepSettings, source: BatchSource) -> TrainStep:
    """The step of a run from nothing.

    Args:
        decoder: with gradients; how it keeps activations is set to what the settings say.
        settings: of the run.
        source: of batches whose targets all count.
    """
    decoder.gradient_checkpointing = settings.gradient_checkpointing
    decoder.activation_dtype = settings.activation_dtype
    optimizer = make_optimizer(decoder.arena, settings, hidden_matrices(decoder))
    return TrainStep(decoder.arena, _loss_of(decoder), source, settings, optimizer)


def pretrain_validation(decoder: Decoder, settings: StepSettings, part: Units) -> Validation:
    """The loss over the held-back part of a text, (n,) uint8 or uint16."""
    return over_text(decoder.arena.device, _loss_of(decoder), part,
                     settings.per_device_train_batch_size, settings.context_length)


def _loss_of(decoder: Decoder) -> Loss:
    def loss(given: Inputs) -> Tensor:
        return decoder.loss(given.ids, given.targets)                        # ()

    return loss


def windows(settings: StepSettings, part: Units) -> WindowSource:
    """The windows of a text, (n,) uint8 or uint16, that a run reads."""
    return WindowSource(part, settings.context_length, settings.seed)


def pretraining(settings: TrainSettings, corpus: Corpus, files: Files) -> Builder:
    """What builds the engine of a run from nothing.

    Args:
        settings: of the run; the recipe is its preset's.
        corpus: the text.
        files: where an adapter's choices of kernels are kept.
    """
    reading: Reading | None = None  # read once, whatever becomes of devices

    async def build(device: Device, saved: Mapping[str, bytes] | None, stage: Stage) -> Engine:
        nonlocal reading
        checkpoint = None if saved is None else read_folder(saved)
        reading = reading or await read_corpus(settings, corpus, files, saved or {}, stage)
        engine = Pretraining(device, settings, reading)
        if checkpoint is not None:
            engine.restore(checkpoint)
        await engine.compile(None if checkpoint is None else checkpoint.state, files, stage)
        return engine

    return build


class Pretraining(Engine):
    """Decoder, optimiser and plans of a run from nothing."""

    def __init__(self, device: Device, settings: TrainSettings, reading: Reading) -> None:
        use_device(device)
        self.settings, self.reading = settings, reading
        train, held_back = reading.parts
        self.decoder = Decoder(settings.recipe, settings.seed)
        validation = None
        step = pretrain_step(self.decoder, settings, windows(settings, train))
        if settings.eval_steps and len(held_back):
            validation = pretrain_validation(self.decoder, settings, held_back)
        super().__init__(step, validation)
        self._generator: Generator | None = None

    async def checkpoint(self, state: dict[str, Any]) -> Snapshot:
        """Weights and moments, in a folder that Transformers loads."""
        weights = await self.arena.read(self.arena.weights)
        moments = await self.step.optimizer.read_moments()
        checkpoint = Checkpoint(self.settings.recipe, weights, moments["first_moment"],
                                moments["second_moment"], state,
                                self.reading.files)
        return Snapshot(checkpoint.weights, write_folder(checkpoint))

    async def sample(self, go_on: GoOn) -> str | None:
        """A short text from a fixed prompt and the run's seed; None when it was given up.

        A preset that reads words answers its own prompt, always with the likeliest word.
        Reads the weights and writes only the generator's own buffers, so training after it has
        the same bits as without it.
        """
        text = self.settings.text
        if self._generator is None:
            self._generator = Generator(self.decoder, self.reading.tokenizer)
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

    def bits_per_byte(self, loss: float) -> float | None:
        """Of learned tokens: they differ from text to text, and bytes do not."""
        if self.settings.vocabulary is None:
            return None
        return loss / (math.log(2) * self.reading.bytes_per_unit)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Weights and moments of a checkpoint.

        Raises:
            CheckpointError: it is of another model or optimiser.
        """
        if checkpoint.recipe != self.settings.recipe:
            raise CheckpointError("This checkpoint is of another model.",
                                  expected=str(self.settings.recipe),
                                  received=str(checkpoint.recipe))
        check_optim(checkpoint.optim, self.settings.optim)
        self.arena.write(self.arena.weights, checkpoint.weights)
        self.step.optimizer.write_moments({"first_moment": checkpoint.first_moment,
                                           "second_moment": checkpoint.second_moment})
