"""Every family's checkpoint in Chromium, through OPFS: Transformers' logits and greedy text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import real_models
from tests.checkpoints import FAMILIES, PROMPT, greedy, logits, save
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tools import environment

LIMIT = 2e-4
GREEDY = 32
WINDOW = 128
CASES = [*((family, "float32") for family in FAMILIES),
         ("llama", "bfloat16"), ("qwen3", "float16")]
# The chunks of the logits have as many rows as those of the session: they share pipelines, which
# take nearly all of the time here.
ROWS = 33
CHUNKS = [(ROWS, 33), (ROWS, 20), *[(1, 1)] * 17]
LOAD = """
import js
from tabgrad import platform
from tabgrad.checkpoint.models import open_folder
from tabgrad.gpu.device import current_device, open_device

async def stored(name, file_names):
    files = platform.current().files("checkpoints")
    for file_name in file_names:
        address = js.URL.new(name + "/" + file_name, js.location.href).href
        await platform.current().download(files, address, name + "/" + file_name)
    return await open_folder(files, name)
"""
CHECK = LOAD + """
import numpy as np
from tabgrad.autograd import no_grad
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.models.cached import Caches, read
from tabgrad.checkpoint.load import load_decoder
from tabgrad.tensor import Tensor

async def values(logits):
    return (await logits.read()).reshape(-1, logits.shape[-1])

async def whole(decoder, ids):
    with no_grad():
        return await values(decoder(Tensor.from_numpy(ids[None])))

async def in_chunks(decoder, ids, window, chunks):
    caches = Caches(decoder, window, max(rows for rows, _ in chunks))
    found, position = [], 0
    for rows, count in chunks:
        padded = np.zeros(rows, np.uint32)
        padded[:count] = ids[position:position + count]
        span = Tensor.from_numpy(np.array([position, count], np.uint32))
        hidden = read(decoder, Tensor.from_numpy(padded), span, caches)
        with no_grad():
            found.append((await values(decoder.head(hidden)))[:count])
        position += count
    return np.concatenate(found)

async def check(name, file_names, ids, window, chunks, new):
    decoder = await load_decoder(current_device(), await stored(name, file_names))
    prompt = np.array(ids, np.uint32)
    session = Session(decoder, window, (max(rows for rows, _ in chunks),))
    return {
        "dtype": decoder.model.embed_tokens.weight.dtype,
        "whole": (await whole(decoder, prompt)).tolist(),
        "in_chunks": (await in_chunks(decoder, prompt, window, chunks)).tolist(),
        "greedy": [one.id async for drawn in session.generate(
            ids, Sampling(temperature=0.0), new) for one in drawn]}
"""
WRITE = LOAD + """
from tabgrad.generate.language_model import LanguageModel

async def write(name, file_names, prompt, new):
    model = await LanguageModel.open(current_device(), await stored(name, file_names))
    pieces = [piece async for piece in model.generate(prompt, max_new_tokens=new, temperature=0.0)]
    return "".join(pieces)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that runs Python; checkpoints are put beside it."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def page(chromium: Chromium, site: Path) -> Iterator[PythonPage]:
    """Runs Python in a worker of Chromium that can download from the site, with one device for
    all tests: what has the same sizes is compiled once."""
    address = make_site(site, environment.python("build"))
    with Host(site) as host:
        opened = PythonPage(chromium.context, host.url + address)
        opened(LOAD + 'await open_device("webgpu")\nNone')
        yield opened
        opened.close()


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def check(page: PythonPage, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = page(CHECK + f"await check({folder.name!r}, {names(folder)}, "
                                 f"{PROMPT.tolist()}, {WINDOW}, {CHUNKS}, {GREEDY})")
    return found


@pytest.mark.parametrize(("family", "dtype"), CASES)
def test_a_family(page: PythonPage, site: Path, family: str, dtype: str) -> None:
    folder = save(family, site, dtype)
    expected = logits(folder, PROMPT)
    found = check(page, folder)
    assert found["dtype"] == dtype
    for name in ("whole", "in_chunks"):
        values = np.array(found[name], np.float32)
        assert np.abs(values - expected).max() <= LIMIT, name
        assert (values.argmax(-1) == expected.argmax(-1)).all(), name
    assert found["greedy"] == greedy(folder, PROMPT, GREEDY)
    assert page.problems == []


def test_trained_weights_write_as_in_transformers(page: PythonPage, site: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    folder = site / "glass-en"
    shutil.copytree(real_models.glass_en(), folder)
    prompt = "Once upon a time"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    text = model.generate(ids, do_sample=False, max_new_tokens=40)[0, ids.shape[1]:]
    expected = tokenizer.decode(text, skip_special_tokens=True)
    found = page(WRITE + f"await write('glass-en', {names(folder)}, {prompt!r}, 40)")
    assert found == expected
    assert len(text) == 40
