"""Goes on with a run of the tab in PyTorch: `python -m tabgrad.interop.torch CHECKPOINT`.

    python -m tabgrad.interop.torch quiet-otter --text corpus.txt --steps 500 --out further
    torchrun --nproc_per_node=2 -m tabgrad.interop.torch quiet-otter --text corpus.txt

Weights, both moments, the schedule and the place in the data are those of the run: a batch is a
pure function of seed and step, and each process takes its share of the rows. So the curve goes on
without a kink. What is written at the end goes on in the tab: import the .zip.

On the standard output there is a JSON line for each step, `{"step", "loss", "learning_rate",
"grad_norm"}`, and a last one `{"done": true, "step", "loss", "checkpoint", "zip"}`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as distributed
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from tabgrad import platform
from tabgrad.data.source import BatchSource, WindowSource
from tabgrad.errors import SettingsError, TabgradError
from tabgrad.interop.exported import Exported, read_exported, read_text, write_exported
from tabgrad.interop.twin import make_optimizer, read_tensors, to_model
from tabgrad.text.corpus import Corpus
from tabgrad.train.reading import read_corpus
from tabgrad.train.settings import TrainSettings


class Share:
    """This process among those that torchrun started; one alone without torchrun.

    Attributes:
        rank: number of the process.
        world: how many there are.
        device: where its model lies.
    """

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda \
            else torch.device("cpu")
        if self.world > 1:
            distributed.init_process_group("nccl" if cuda else "gloo")

    def rows(self, batch_size: int) -> slice:
        """The rows of a micro-batch that this process reads.

        Raises:
            SettingsError: they cannot be shared out evenly.
        """
        if batch_size % self.world:
            raise SettingsError("The rows of a batch cannot be shared out evenly.",
                                control="per_device_train_batch_size",
                                expected=f"a multiple of {self.world} processes",
                                received=str(batch_size))
        count = batch_size // self.world
        return slice(self.rank * count, (self.rank + 1) * count)

    def mean(self, value: torch.Tensor) -> float:
        """The mean over the processes."""
        if self.world > 1:
            distributed.all_reduce(value)
        return float(value) / self.world

    def close(self) -> None:
        """Leaves the group."""
        if self.world > 1:
            distributed.destroy_process_group()


class Continuation:
    """A run that goes on in PyTorch.

    Args:
        exported: the run.
        source: of its batches.
        share: this process.
    """

    def __init__(self, exported: Exported, source: BatchSource, share: Share) -> None:
        self.settings: TrainSettings = exported.settings
        self.recipe = exported.checkpoint.recipe
        self.source, self.share = source, share
        self.model = to_model(self.recipe, exported.checkpoint.weights).to(share.device).train()
        self.optimizer = make_optimizer(self.model, exported.checkpoint, self.settings)
        self.parallel = DistributedDataParallel(self.model) if share.world > 1 else self.model
        self._rows = share.rows(self.settings.per_device_train_batch_size)

    def step(self, step: int) -> dict[str, Any]:
        """Optimiser step `step`, from 0; gives the `Point` of protocol.json."""
        settings = self.settings
        micro_batches = settings.gradient_accumulation_steps
        rate = settings.rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.share.device)
        for micro in range(micro_batches):
            last = micro == micro_batches - 1
            with contextlib.nullcontext() if last or self.share.world == 1 \
                    else self.parallel.no_sync():
                loss = self._loss(step, micro) / micro_batches
                loss.backward()
            total += loss.detach()
        most = settings.max_grad_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), most)
        self.optimizer.step()
        return {"step": step + 1, "loss": self.share.mean(total), "learning_rate": rate,
                "grad_norm": float(norm)}

    def _loss(self, step: int, micro: int) -> torch.Tensor:
        batch = self.source.batch(step, micro, self.settings.per_device_train_batch_size)
        ids, targets = (
            torch.from_numpy(part[self._rows].astype(np.int64)).to(self.share.device)
            for part in (batch.ids, batch.targets))                          # (B, T) each
        out = self.parallel(input_ids=ids, use_cache=False)                  # logits (B, T, V)
        loss = cross_entropy(out.logits.flatten(0, 1), targets.flatten())    # ()
        experts = self.recipe.experts
        if experts is None or not experts.router_aux_loss_coef:
            return loss
        return loss + experts.router_aux_loss_coef * out.aux_loss            # ()


def proceed(exported: Exported, corpus: Corpus, steps: int | None, out: Path | None,
            share: Share) -> None:
    """Takes the steps, prints a line for each, and writes the folder.

    Raises:
        SettingsError: there are no steps left.
        DataError: the text is too short.
    """
    settings, first = exported.settings, exported.step
    count = settings.max_steps - first if steps is None else steps
    if count < 1:
        raise SettingsError("This run has taken all its steps.", control="max_steps",
                            received=f"step {first} of {settings.max_steps}",
                            remedy="Say with --steps how many more.")
    if first + count > settings.max_steps:  # the schedule stays: it ends where it ended
        settings = replace(settings, max_steps=first + count)
    reading = platform.current().run_sync(read_corpus(
        exported.settings, corpus, None, exported.text_files, lambda *_: None))
    part, _ = reading.parts
    source = WindowSource(part, settings.context_length, settings.seed)
    run = Continuation(exported, source, share)
    for step in range(first, first + count):
        point = run.step(step)
        exported.history.add(**point)
        _say(share, point)
    if share.rank == 0:
        done: dict[str, Any] = {"done": True, "step": first + count,
                                "loss": exported.history.last_loss}
        if out is not None:
            tensors = read_tensors(run.recipe, run.model, run.optimizer)
            written = write_exported(replace(exported, settings=settings), corpus, first + count,
                                     tensors, out)
            done |= {"checkpoint": str(out), "zip": str(written)}
        _say(share, done)


def main(words: Sequence[str] | None = None) -> int:
    """The command line; a failure is one line on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m tabgrad.interop.torch",
        description="Goes on with an exported run in PyTorch, alone or under torchrun.")
    parser.add_argument("checkpoint", type=Path, help="folder of an exported run, unpacked")
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="the run's text")
    parser.add_argument("--other-text", action="store_true", help="it may be another text")
    parser.add_argument("--steps", type=int, metavar="N", help="how many; by default the rest")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the run is written again")
    options = parser.parse_args(words)
    try:
        exported = read_exported(options.checkpoint)
        corpus = read_text(exported, options.text, options.other_text)
        share = Share()
        try:
            proceed(exported, corpus, options.steps, options.out, share)
        finally:
            share.close()
    except (TabgradError, OSError) as error:
        print(f"tabgrad.interop.torch: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    return 0


def _say(share: Share, line: dict[str, Any]) -> None:
    if share.rank == 0:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
