"""Trains readable-llm on the CPU and writes its folder: `python -m tools.readable_llm FOLDER`.

It is the page's own training: preset, text, Trainer and checkpoint, on the NumPy device. The same
machine writes the same bytes each time.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from tabgrad.app.reader import Reader
from tabgrad.app.runs import new_record
from tabgrad.checkpoint.store import RunStore
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import parameter_count
from tabgrad.models.preset_text import PRESET_TEXTS
from tabgrad.platform.native_files import NativeFiles
from tabgrad.train.pretrain import pretraining
from tabgrad.train.settings import TrainSettings
from tabgrad.train.trainer import Trainer

PRESET = "readable-llm"
ANSWER = " It's 2."
CARD = """---
license: apache-2.0
library_name: tabgrad
pipeline_tag: text-generation
---
# readable-llm

A mixture-of-experts decoder of {parameters:,} parameters, small enough to read every number. It
knows {words} words and one answer:

    {prompt}{answer}

tabgrad's own Trainer taught it on the CPU while this site was built: {steps} steps of AdamW on one
sentence, seed {seed}. It opens in Transformers as a Mixtral.
"""


async def main(folder: Path) -> None:
    """Trains, asks the question, and writes what a Hugging Face folder needs.

    Raises:
        SystemExit: the model does not know its answer.
    """
    settings, text = TrainSettings.for_preset(PRESET, sample_steps=0), PRESET_TEXTS[PRESET]
    with tempfile.TemporaryDirectory() as scratch:
        store = RunStore(NativeFiles(Path(scratch)))
        run = await store.create(new_record(settings, text.corpus.describe()), PRESET)
        device = await open_device("numpy")
        build = pretraining(settings, text.corpus, store.files)
        await Trainer(device, settings, build, store, run, _unheard).run()
        reader = await Reader.open(device, store, run, None)
        written = [piece async for piece in reader.generator.text(text.prompt, temperature=0.0)]
        answer = "".join(piece.text for piece in written)
        if answer != ANSWER:
            sys.exit(f"{PRESET} should answer {ANSWER!r} and answers {answer!r}.")
        loaded = await store.load(run)
    assert loaded is not None, "the trainer has saved its last step"
    card = CARD.format(parameters=parameter_count(settings.recipe), prompt=text.prompt,
                       answer=answer, words=text.tokenizer.vocab_size, steps=settings.max_steps,
                       seed=settings.seed)
    files = {"README.md": card.encode(), **text.tokenizer.files(),
             **{name: loaded.files[name] for name in ("config.json", "model.safetensors")}}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _unheard(name: str, fields: dict[str, Any]) -> None:
    """Nobody watches this run."""


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
