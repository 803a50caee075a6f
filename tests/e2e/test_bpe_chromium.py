"""A BPE vocabulary learned in Chromium: the Rust library's, and any text comes back from it."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from tabgrad.text.bpe_trainer import BpeSettings
from tests.e2e.python_page import PythonPage
from tests.parity.test_bpe import model_of
from tests.text_samples import CODE, LANGUAGES
from tools.corpora import shakespeare

CHARACTERS = 100_000
POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]


def test_learned_in_the_tab(browser_python: PythonPage) -> None:
    text = shakespeare(Path(sys.executable))[:CHARACTERS].decode() + "".join([*LANGUAGES, *CODE])
    draw = random.Random(5)
    texts = [bytes(draw.choices(range(256), k=60)).decode("utf-8", "replace") for _ in range(40)]
    texts += ["".join(chr(point) for point in draw.choices(POINTS, k=40)) for _ in range(40)]
    vocab, merges, told, same = browser_python(f"""
import json
from tabgrad import platform
from tabgrad.text.bpe_files import bpe_files
from tabgrad.text.bpe_trainer import BpeSettings, train_bpe
from tabgrad.text.tokenizer import load_tokenizer
told = []
bpe = await train_bpe(json.loads({json.dumps(text)!r}), BpeSettings(1000),
                      progress=lambda done, total: told.append((done, total)))
files = bpe_files(bpe)
async def read(name):
    return files.get(name)
tokenizer = await load_tokenizer(read)
texts = json.loads({json.dumps(texts)!r})
(bpe.vocab, bpe.merges, told[-1], [tokenizer.decode(tokenizer.encode(one)) == one for one in texts])
""")
    model = model_of(text, BpeSettings(1000))
    assert merges == model["merges"]
    assert vocab == model["vocab"]
    assert told == [744, 744]
    assert all(same)
