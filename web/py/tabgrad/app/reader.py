"""What the worker has under way: a text, a loading, and the stored run that is read from."""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.checkpoint.folder import read_model
from tabgrad.checkpoint.store import RunStore
from tabgrad.errors import Cancelled, CheckpointError
from tabgrad.generate.generator import Generator
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.preset_text import preset_text


@dataclass
class Writing:
    """A generation under way; setting `stopped` ends it after the tokens on their way."""

    stopped: bool = False


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
        loaded = await store.load(run)
        if loaded is None:
            raise CheckpointError(f"{run} has no checkpoint yet.", control="generate-run",
                                  remedy="Wait until the first one is saved.")
        recipe, weights = read_model(loaded.files)
        use_device(device)
        decoder = Decoder(recipe, seed=0, trainable=False)
        decoder.arena.write(decoder.arena.weights, weights)
        text = preset_text(str(found.record.get("preset")))
        generator = Generator(decoder, text.tokenizer if text else None)
        return cls(run, loaded.summary.step, device, generator)
