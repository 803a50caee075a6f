"""Every family's checkpoint in Chromium, through OPFS: Transformers' logits and greedy text; and an
adapter that is trained there as by PEFT."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import real_models
from tests.checkpoints import FAMILIES, PROMPT, greedy, logits, save
from tests.e2e.python_page import PythonPage
from tests.parity import test_lora_peft as lora

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
# As the application opens it: a kernel of a session that fails its self-test ends the test.
OPEN = LOAD + """
from tabgrad.app.selftest import SelfTest
SelfTest(platform.current().files("selftest"), lambda *_: None).guard(await open_device("webgpu"))
None
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
TRAIN = LOAD + """
import numpy as np
from tabgrad.checkpoint.load import load_decoder
from tabgrad.lora import Adapter, LoraConfig
from tabgrad.optim import AdamW
from tabgrad.tensor import Tensor

async def train(name, file_names, ids, state, rate, steps):
    decoder = await load_decoder(current_device(), await stored(name, file_names))
    inputs, targets = (Tensor.from_numpy(np.array([part], np.uint32))
                       for part in (ids[:-1], ids[1:]))
    before = (await decoder.loss(inputs, targets).read()).tobytes()
    adapter = Adapter(decoder, LoraConfig(r=4, lora_alpha=8))
    adapter.attach()
    loss = decoder.loss(inputs, targets)
    loss.backward()
    fresh = await adapter.arena.read(adapter.arena.gradients)
    found = {"same bits": (await loss.read()).tobytes() == before, "losses": [],
             "first": {name: float(np.abs(array).max()) for name, array in fresh.items()
                       if ".layers.0." in name},
             "base": [name for name, one in decoder.named_parameters() if one.grad is not None]}
    adapter.write({name: np.array(rows, np.float32) for name, rows in state.items()})
    optimizer = AdamW(adapter.arena, rate, weight_decay=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        loss = decoder.loss(inputs, targets)
        loss.backward()
        if step == 0:
            gradients = adapter.to_peft(await adapter.arena.read(adapter.arena.gradients))
            found["gradients"] = {name: array.tolist() for name, array in gradients.items()}
        found["losses"].append(float(await loss.read()))
        optimizer.step()
    return found
"""


@pytest.fixture(scope="module")
def site(python_page: Path) -> Path:
    """The folder of the page that runs Python; checkpoints are put beside it."""
    return python_page


@pytest.fixture(scope="module")
def with_device(python_tab: PythonPage) -> Iterator[PythonPage]:
    """The page that can download from the site, with one device for all tests: what has the same
    sizes is compiled once."""
    python_tab(OPEN)
    yield python_tab
    python_tab(LOAD + "current_device().close()")


@pytest.fixture
def page(with_device: PythonPage, browser_python: PythonPage) -> PythonPage:
    """Runs Python there; problems are those of the test."""
    return browser_python


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


def test_an_adapter_trains_as_by_peft(page: PythonPage, site: Path) -> None:
    folder = lora.checkpoint(site, "llama")
    ids = PROMPT[:ROWS + 1]
    model = lora.peft_model(folder, target_modules=["q_proj", "v_proj"])
    state = {name: array.tolist() for name, array in lora.by_name(model).items()}
    found = page(TRAIN + f"await train({folder.name!r}, {names(folder)}, {ids.tolist()}, {state}, "
                 f"{lora.RATE}, {lora.STEPS})")
    assert found["same bits"] and found["base"] == []
    assert [name.rpartition(".lora_")[2] for name, size in found["first"].items()
            if size > 0] == ["B.weight", "B.weight"]
    losses, gradients = lora.trained_by_peft(model, ids[None])
    lora.check_gradients({name: np.array(rows, np.float32)
                          for name, rows in found["gradients"].items()}, gradients)
    assert np.abs(np.array(found["losses"]) - losses).max() <= lora.LIMIT
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
