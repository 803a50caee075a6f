"""The wheel in a page that has Pyodide and nothing else of tabgrad: no app, no worker of ours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from tests import checkpoints, talking_model
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage
from tests.faulty_host import FaultyHost

PAGE = Path(__file__).parent / "bare_page"
PROMPT = "The street was"


@pytest.fixture(scope="module")
def bare(built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address; `place` is still to be said."""
    folder = shutil.copytree(PAGE, tmp_path_factory.mktemp("bare") / "page")
    (pyodide,) = built_site.glob("pyodide-*")
    shutil.copytree(pyodide, folder / "pyodide", copy_function=os.link)
    (wheel,) = built_site.glob("package-*/*.whl")
    os.link(wheel, folder / wheel.name)
    with Host(folder) as host:
        yield f"{host.url}?wheel={wheel.name}&place="


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


@pytest.fixture(scope="module")
def host(model: Path) -> Iterator[FaultyHost]:
    with FaultyHost({f"talk/{path.name}": path.read_bytes() for path in model.iterdir()}) as host:
        yield host


def wanted(model: Path, text: str, count: int) -> str:
    """Transformers' greedy continuation."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    ids = np.array(tokenizer(text, add_special_tokens=False)["input_ids"])
    return str(tokenizer.decode(checkpoints.greedy(model, ids, count)))


def test_a_model_is_loaded_and_writes_in_a_worker(chromium: Chromium, bare: str, model: Path,
                                                  host: FaultyHost) -> None:
    page = PythonPage(chromium.context, bare + "worker")
    first = page(f"""
        import sys
        import tabgrad
        assert "tabgrad_seam" not in sys.modules and "js" in sys.modules
        moments = []
        lm = await tabgrad.load({host.url + "talk/"!r}, progress=moments.append)
        pieces = [piece async for piece in lm.generate({PROMPT!r}, max_new_tokens=8,
                                                       temperature=0)]
        answer = [piece async for piece in lm.generate(
            [{{"role": "user", "content": "Rain?"}}], max_new_tokens=6)]
        [[str(piece) for piece in pieces], len(answer), lm.usage.completion_tokens,
         tabgrad.current_device().info.runtime, moments[-1].done == moments[-1].total > 0]
    """)
    pieces, answered, count, runtime, told = first
    assert "".join(pieces) == wanted(model, PROMPT, 8)
    assert answered and count == 6 and runtime == "browser" and told
    host.asked.clear()
    again = page(f"""
        import tabgrad
        lm = await tabgrad.load({host.url + "talk/"!r})
        "".join([piece async for piece in lm.generate({PROMPT!r}, max_new_tokens=8, temperature=0)])
    """)
    assert again == "".join(pieces) and host.asked == []
    assert page.problems == []
    page.close()


def test_the_pages_own_thread_computes_and_says_what_it_cannot(chromium: Chromium,
                                                               bare: str) -> None:
    page = PythonPage(chromium.context, bare + "main")
    product, error = page("""
        import numpy as np
        import tabgrad
        device = await tabgrad.open_device("webgpu")
        x = tabgrad.Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
        product = (await (x @ x.T).read()).tolist()
        try:
            await tabgrad.load("https://localhost:1/nothing/")
        except tabgrad.errors.StorageError as problem:
            error = str(problem)
        [product, error]
    """)
    assert product == [[5.0, 14.0], [14.0, 50.0]]
    assert "Web Worker" in error
    assert page.problems == []
    page.close()
