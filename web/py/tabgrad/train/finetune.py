"""A fine-tune: a model that is here, private text, and the engine made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

from tabgrad.checkpoint.folder import (
    OPTIMIZER,
    STATE,
    Checkpoint,
    Snapshot,
    optim_of,
    read_folder,
    read_moments,
    read_state,
    write_folder,
    write_moments,
    write_state,
)
from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.load_trainable import load_trainable, trainable_decoder
from tabgrad.data.source import Batch, BatchSource
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.generate.language_model import LanguageModel, Messages
from tabgrad.gpu.device import Device
from tabgrad.lora import files as adapter_files
from tabgrad.lora.adapter import Adapter
from tabgrad.lora.targets import chosen
from tabgrad.models.decoder import Decoder, parameter_count
from tabgrad.models.recipe import Recipe
from tabgrad.nn.arena import ParameterArena
from tabgrad.platform import Files
from tabgrad.tensor import Tensor
from tabgrad.train.base import Base, BaseName, text_config
from tabgrad.train.engine import Answer, Builder, Engine, GoOn, Stage, check_optim
from tabgrad.train.feed import Inputs
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.optimizers import hidden_matrices, make_optimizer
from tabgrad.train.step import TrainStep
from tabgrad.train.validation import over_documents


class Rows(BatchSource, Protocol):
    """What a fine-tune reads: `data.dataset.Dataset`."""

    def validation(self, batch_size: int) -> list[Batch]:
        """Batches of the documents that are held out; empty where none are."""


def finetuning(settings: FineTuneSettings, base: Base, dataset: Rows,
               files: Files) -> Builder:
    """What builds the engine of a fine-tune.

    Args:
        settings: of the run.
        base: what it starts from.
        dataset: the rows, made with the base's tokenizer and the settings' context and seed.
        files: where an adapter's choices of kernels are kept.
    """
    async def build(device: Device, saved: Mapping[str, bytes] | None, stage: Stage) -> Engine:
        state = None if saved is None else read_state(saved)
        if state is not None:
            check_state(state, settings, base)
        weights = partial(_weights, stage)
        if settings.is_lora:
            decoder = await load_decoder(device, base.model, weights)
        else:
            decoder = trainable_decoder(device, base.model)
            if saved is None:
                await load_trainable(decoder, base.model, weights)
        engine = assemble(decoder, settings, base, dataset)
        if saved is not None:
            engine.restore(saved)
        await engine.compile(state, files, stage)
        return engine

    return build


def check_state(state: Mapping[str, Any], settings: FineTuneSettings, base: Base) -> None:
    """Refuses to go on from a checkpoint of another base, method, adapter or optimiser.

    Raises:
        CheckpointError: names what differs.
    """
    BaseName.from_dict(state.get("base")).check(base.name)
    check_optim(optim_of(state), settings.optim)
    kept = state.get("settings")
    saved = FineTuneSettings.from_dict(kept if isinstance(kept, Mapping) else {})
    for name in ("method", "lora") if settings.is_lora else ("method",):
        if getattr(saved, name) != getattr(settings, name):
            raise CheckpointError(
                f"This fine-tune was begun with another {name}.", control=name,
                expected=str(getattr(saved, name)), received=str(getattr(settings, name)),
                remedy="Go on with that, or begin a new one.")


def trained_parameters(settings: FineTuneSettings, recipe: Recipe) -> int:
    """How many numbers a fine-tune trains, from settings and recipe alone.

    Raises:
        SettingsError: no module has a name that the adapter asks for.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> settings = FineTuneSettings.from_dict({"lora": {"target_modules": ["c_attn"]}})
        >>> trained_parameters(settings, preset("tiny"))
        4096
    """
    if not settings.is_lora:
        return parameter_count(recipe)
    return sum(settings.lora.rank_of(name) * (target.in_features + target.out_features)
               for name, target in chosen(settings.lora, recipe).items())


def assemble(decoder: Decoder, settings: FineTuneSettings, base: Base,
             dataset: Rows) -> FineTuning:
    """The engine on a decoder, not yet compiled."""
    kind = LoraTuning if settings.is_lora else FullTuning
    return kind(decoder, settings, base, dataset)


async def planned(device: Device, settings: FineTuneSettings, base: Base,
                  dataset: Rows) -> FineTuning:
    """All that a run holds on a device, with its plans, but for the weights' values.

    On a device that only counts bytes it waits for nothing: see `train.memory.estimate`.
    """
    decoder = (await load_decoder(device, base.model) if settings.is_lora
               else trainable_decoder(device, base.model))
    engine = assemble(decoder, settings, base, dataset)
    await engine.step.compile()
    if engine.validation is not None:
        await engine.validation.compile()
    if engine.language_model is not None:
        await engine.language_model.session.compile()
    return engine


class FineTuning(Engine):
    """What both methods share: the loss, validation on held-out documents, and answers.

    Args:
        decoder: of the base.
        arena: what of it is trained.
        settings: of the run.
        base: what it starts from.
        dataset: the rows.
        dropout: whether the loss reads a seed.
    """

    def __init__(self, decoder: Decoder, arena: ParameterArena, settings: FineTuneSettings,
                 base: Base, dataset: Rows, *, dropout: bool) -> None:
        self.decoder, self.settings, self.base = decoder, settings, base
        decoder.gradient_checkpointing = settings.gradient_checkpointing
        decoder.activation_dtype = settings.activation_dtype
        optimizer = make_optimizer(arena, settings, self.matrices(arena))
        step = TrainStep(arena, self.loss, dataset, settings, optimizer, masked=True,
                         dropout=dropout)
        held_out = dataset.validation(settings.per_device_train_batch_size)
        validation = None
        if settings.eval_steps and held_out:
            validation = over_documents(decoder.device, self.loss, held_out, dataset.packed)
        super().__init__(step, validation)
        self.language_model: LanguageModel | None = None
        if settings.prompts and settings.eval_steps:
            self.language_model = LanguageModel(decoder, base.tokenizer, base.name.title,
                                                context_length=self._window())

    def loss(self, given: Inputs) -> Tensor:
        """Cross-entropy of the targets that count, times the weight: ()."""
        return self.decoder.loss(given.ids, given.targets, given.starts, given.weight)

    @abstractmethod
    def matrices(self, arena: ParameterArena) -> list[str]:
        """Names of what Muon moves."""

    @abstractmethod
    def restore(self, saved: Mapping[str, bytes]) -> None:
        """Takes weights and moments from the files of a checkpoint."""

    async def sample(self, go_on: GoOn) -> str | None:
        """A fine-tune answers prompts instead.

        Raises:
            SettingsError: always; `sample_steps` of a fine-tune is 0.
        """
        raise SettingsError("A fine-tune writes no samples.", control="sample_steps",
                            remedy="Give it prompts: they are answered at every validation.")

    async def answers(self, go_on: GoOn) -> list[Answer] | None:
        """What the model says now to the run's prompts, always with the likeliest token.

        Reads the weights and writes only buffers of its own, so training after it has the same
        bits as without it.
        """
        model = self.language_model
        if model is None:
            return []
        answers = []
        for prompt in self.settings.prompts:
            model.session.forget()
            pieces = []
            stream = model.generate(self._asked(prompt), temperature=0.0, go_on=go_on,
                                    max_new_tokens=self.settings.max_new_tokens)
            async with aclosing(stream):
                async for piece in stream:
                    pieces.append(piece)
            if not go_on():
                return None
            answers.append({"prompt": prompt, "text": "".join(pieces)})
        return answers

    def _asked(self, prompt: str) -> str | Messages:
        """A prompt as the model reads it: as a message, where it was trained to converse."""
        if self.base.tokenizer.has_template:
            return [{"role": "user", "content": prompt}]
        return prompt

    def _window(self) -> int:
        """Positions that the longest prompt and its answer need.

        Raises:
            SettingsError: a prompt that is longer than what the model reads.
        """
        limit, needed = self.decoder.recipe.max_position_embeddings, 2
        for prompt in self.settings.prompts:
            asked = self._asked(prompt)
            count = len(self.base.tokenizer.encode(asked) if isinstance(asked, str)
                        else self.base.tokenizer.encode_chat(asked))
            if not 0 < count < limit:
                raise SettingsError("A prompt is too long for this model, or empty.",
                                    control="prompts", expected=f"1 to {limit - 1} tokens",
                                    received=f"{count} tokens: {prompt[:60]!r}")
            needed = max(needed, count + self.settings.max_new_tokens)
        return min(limit, needed)

    async def _moments(self) -> dict[str, Any]:
        return await self.step.optimizer.read_moments()


class LoraTuning(FineTuning):
    """An adapter in float32 beside a decoder that stays as it is stored."""

    def __init__(self, decoder: Decoder, settings: FineTuneSettings, base: Base,
                 dataset: Rows) -> None:
        self.adapter = Adapter(decoder, settings.lora, name=base.name.model, seed=settings.seed)
        self.adapter.attach()
        super().__init__(decoder, self.adapter.arena, settings, base, dataset,
                         dropout=settings.lora.lora_dropout > 0)

    def loss(self, given: Inputs) -> Tensor:
        """The same with the adapter, whose dropout reads the seed of this micro-batch."""
        # Set until the next recording: with checkpointing the backward runs the layers again.
        self.adapter.dropout_seed = given.seed
        return super().loss(given)

    def matrices(self, arena: ParameterArena) -> list[str]:
        """All of them: A and B are matrices inside the layers."""
        return list(arena.parameters)

    async def answers(self, go_on: GoOn) -> list[Answer] | None:
        """The same without dropout."""
        self.adapter.dropout_seed = None
        return await super().answers(go_on)

    async def checkpoint(self, state: dict[str, Any]) -> Snapshot:
        """PEFT's two files, the moments, and all that is no tensor."""
        weights = await self.arena.read(self.arena.weights)
        files = adapter_files.write(self.adapter.to_peft(weights), self.adapter.config,
                                    self.base.name.title)
        return Snapshot(weights, {
            **files,
            OPTIMIZER: write_moments(await self._moments()),
            STATE: write_state({**state, "base": self.base.name.to_dict()})})

    def restore(self, saved: Mapping[str, bytes]) -> None:
        """Adapter and moments of a checkpoint.

        Raises:
            CheckpointError: they do not fit.
        """
        _, weights = adapter_files.read(saved)
        self.adapter.write(weights)
        shapes = {name: one.shape for name, one in self.arena.parameters.items()}
        self.step.optimizer.write_moments(read_moments(saved, shapes, self.settings.optim))


class FullTuning(FineTuning):
    """Every weight of the decoder, in float32."""

    def __init__(self, decoder: Decoder, settings: FineTuneSettings, base: Base,
                 dataset: Rows) -> None:
        super().__init__(decoder, decoder.arena, settings, base, dataset, dropout=False)

    def matrices(self, arena: ParameterArena) -> list[str]:
        """Those inside the layers."""
        return hidden_matrices(self.decoder)

    async def checkpoint(self, state: dict[str, Any]) -> Snapshot:
        """A folder that Transformers loads, the moments, and all that is no tensor."""
        moments = await self._moments()
        checkpoint = Checkpoint(
            self.decoder.recipe, await self.arena.read(self.arena.weights),
            moments["first_moment"], moments["second_moment"],
            {**state, "base": self.base.name.to_dict()}, self.base.text_files,
            _in_float32(self.base.model.config, self.decoder.recipe))
        return Snapshot(checkpoint.weights, write_folder(checkpoint))

    def restore(self, saved: Mapping[str, bytes]) -> None:
        """Weights and moments of a checkpoint.

        Raises:
            CheckpointError: they are of another model.
        """
        checkpoint = read_folder(saved)
        self.arena.write(self.arena.weights, checkpoint.weights)
        self.step.optimizer.write_moments({"first_moment": checkpoint.first_moment,
                                           "second_moment": checkpoint.second_moment})


def _in_float32(config: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """config.json of the same model with weights in float32."""
    kept = {name: value for name, value in text_config(config, recipe).items() if name != "dtype"}
    return {**kept, "torch_dtype": "float32"}


def _weights(stage: Stage, done: int, total: int) -> None:
    stage("weights", done, total, "bytes")
