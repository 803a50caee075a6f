"""Tokenizers and chat templates in Chromium: equal to the Rust library and to Transformers."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tabgrad.platform.native_text import NativeTemplate
from tests import real_models
from tests.conversations import CONVERSATIONS
from tests.e2e.python_page import PythonPage
from tests.parity.test_chat_templates import EMPTY, REAL, theirs
from tests.text_samples import samples

NAMES = ("gpt2", "llama3", "qwen3", "gemma3", "smollm2", "llama2")
ENOUGH = 2000
BEGIN = """
import json
from pyodide.http import pyfetch
from tabgrad import platform
from tabgrad.errors import TabgradError
from tabgrad.text.stream import Detokenizer
from tabgrad.text.tokenizer import load_tokenizer

async def load(name):
    async def read(file):
        answer = await pyfetch(f"real/{name}/{file}")
        return await answer.bytes() if answer.ok else None
    return await load_tokenizer(read)

def said(use):
    try:
        return use()
    except TabgradError as error:
        return f"{type(error).__name__}: {error}"
"""


@pytest.fixture(scope="module")
def real(python_page: Path, python_page_url: str) -> Path:
    """Real tokenizers, the samples and the conversations beside the page."""
    folder = python_page / "real"
    for name in {*NAMES, *REAL}:
        (folder / name).mkdir(parents=True)
        for path in real_models.tokenizer(name).parent.iterdir():
            if path.suffix in (".json", ".jinja"):
                shutil.copy(path, folder / name / path.name)
    (folder / "conversations.json").write_text(json.dumps(CONVERSATIONS))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_texts_are_those_of_the_rust_library(
        name: str, real: Path, browser_python: PythonPage) -> None:
    oracle = Tokenizer.from_file(str(real / name / "tokenizer.json"))
    added = oracle.get_added_tokens_decoder().values()
    texts = samples([token.content for token in added if token.special][:12])
    assert len(texts) >= ENOUGH
    (real / name / "texts.json").write_text(json.dumps(texts))
    got = browser_python(f"""{BEGIN}
tokenizer = await load({name!r})
texts = json.loads(await (await pyfetch("real/{name}/texts.json")).bytes())
ids = [tokenizer.encode(text) for text in texts]
plain = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
def streamed(ids):
    pieces = Detokenizer(tokenizer, skip_special_tokens=False)
    return "".join([pieces.feed([one]) for one in ids] + [pieces.finish()])
[tokenizer.vocab_size, ids, plain, [streamed(one) for one in ids]]
""")
    expected = [oracle.encode(text).ids for text in texts]
    wrong = [(text, one, other) for text, one, other in zip(texts, got[1], expected, strict=True)
             if one != other]
    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]}"
    assert got[2] == [oracle.encode(text, add_special_tokens=False).ids for text in texts]
    assert got[3] == [oracle.decode(ids, skip_special_tokens=False) for ids in expected]
    assert got[0] == oracle.get_vocab_size()


@pytest.mark.parametrize("name", REAL)
def test_conversations_are_rendered_as_by_transformers(
        name: str, real: Path, browser_python: PythonPage) -> None:
    oracle = AutoTokenizer.from_pretrained(real / name)
    got = browser_python(f"""{BEGIN}
tokenizer = await load({name!r})
wanted = json.loads(await (await pyfetch("real/conversations.json")).bytes())
{{name: [said(lambda: tokenizer.apply_chat_template(messages, tools, prompt, **more))
        for prompt in (True, False)] for name, (messages, tools, more) in wanted.items()}}
""")
    compared = 0
    for which, (messages, tools, more) in CONVERSATIONS.items():
        for prompt, text in zip((True, False), got[which], strict=True):
            expected = theirs(oracle, messages, tools=tools, add_generation_prompt=prompt, **more)
            if expected is None:
                assert "does not accept this conversation" in text, which
            else:
                assert text == expected, which
                compared += 1
    assert compared >= 20


PYTHON_WRITES = {  # templates whose text Python's own habits decide
    "names": "{{ a }} {{ [a, none, true, 1.0, 'it\\'s', '\"', '\\n\\x00é'] }} {{ {'k': (1, 2)} }}",
    "joined": "{{ 'x' ~ true ~ none ~ 1.5 ~ nothing }}",
    "floats": "{{ 0.00001 }} {{ 0.0001 }} {{ 123456789.0 }} {{ floats }} {{ floats | tojson }}",
    "json": "{{ data | tojson(indent=2) }} {{ data | tojson(sort_keys=true, ensure_ascii=true) }} "
            "{{ data | tojson(separators=(',', ':')) }} {{ [] | tojson(indent=1) }}",
    "strip": "[{{ ' \\n x \\n '.strip('\\n') }}|{{ 'abcba'.lstrip('ab') }}|{{ odd | trim }}|"
             "{{ odd.strip() | length }}]",
    "loops": "{% for i in range(5) %}a{{ i }}{% if i == 3 %}b{% break %}{% endif %}"
             "{% if i is odd %}c{% continue %}{% endif %}d{% endfor %}e",
    "nested": "{% for i in range(3) %}{% for j in range(3) %}{{ j }}{% if j == i %}{% break %}"
              "{% endif %},{% endfor %};{% endfor %}",
    "keys": "{% for k, v in data.items() %}{{ k }}={{ v }} {% endfor %}{{ data | length }}",
    "generation": "{% generation %}x{% endgeneration %}\n",
    "emoji": "{{ '👩‍💻x' | length }} {{ 'éCOLE'.capitalize() }}",
}
VARIABLES = {"a": "text", "floats": [1.0, 1e-7, 1e16, 1e22, -0.0, 0.1, 3],
             "odd": "\ufeff\x1c \x85x\u2003",
             "data": {"b": 1, "10": "é\u2028\x7f", "9": [1.0, {}, {"z": None}], "a": False}}


@pytest.mark.parametrize("which", PYTHON_WRITES)
def test_values_are_written_as_python_writes_them(which: str, browser_python: PythonPage) -> None:
    expected = NativeTemplate(PYTHON_WRITES[which]).render(VARIABLES)
    got = browser_python(f"""{BEGIN}
template = await platform.current().chat_template({PYTHON_WRITES[which]!r})
template.render({VARIABLES!r})
""")
    assert got == expected


def test_dates_are_english_whatever_the_browser_speaks(browser_python: PythonPage) -> None:
    form = "%A %a %d %B %b %m %Y %y %p %%"
    before = datetime.now().strftime(form)
    got = browser_python(f"""{BEGIN}
(await platform.current().chat_template("{{{{ strftime_now('{form}') }}}}")).render({{}})
""")
    assert got in (before, datetime.now().strftime(form))


ODD_MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "unigram": ({"model": {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 0,
                           "byte_fallback": True}}, "its model is a Unigram"),
    "wordpiece": ({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a"}},
                  "its model is a WordPiece"),
    "precompiled": ({"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFC"}, {"type": "Precompiled", "precompiled_charsmap": ""}]}},
        "its normalizer is a Precompiled"),
    "suffix": ({"model": {**EMPTY["model"], "end_of_word_suffix": "</w>"}}, "end_of_word_suffix"),
    "dropout": ({"model": {**EMPTY["model"], "dropout": 0.1}}, "dropout"),
    "decoder": ({"decoder": {"type": "CTC"}}, "a decoder of type CTC"),
    "whole words": ({"added_tokens": [{**EMPTY["added_tokens"][0], "single_word": True}]},
                    "whole word"),
    "no vocabulary": ({"model": {}}, "no vocabulary"),
}


@pytest.mark.parametrize("which", ODD_MODELS)
def test_what_the_tab_cannot_do_is_refused_by_name(which: str, browser_python: PythonPage) -> None:
    change, reason = ODD_MODELS[which]
    got = browser_python(f"""{BEGIN}
files = {{"tokenizer.json": json.dumps({ {**EMPTY, **change}!r}).encode()}}
async def read(name):
    return files.get(name)
try:
    result = str(await load_tokenizer(read))
except TabgradError as error:
    result = f"{{type(error).__name__}}: {{error}}"
result
""")
    assert got.startswith("CheckpointError") and reason in got


@pytest.mark.parametrize(("source", "reason"), [
    ("{% if %}", ""), ("{{ raise_exception('only users') }}", "only users"),
    ("{{ x.constructor.constructor('return 1')() }}", ""),
    ("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
     "longer than 5 seconds"),
    ("{% for i in range(100001) %}{% endfor %}", "more than 100000 numbers")])
def test_a_template_that_is_at_fault_is_refused(source: str, reason: str,
                                                browser_python: PythonPage) -> None:
    got = browser_python(f"""{BEGIN}
try:
    template = await platform.current().chat_template({source!r})
    result = template.render({{"x": "text"}})
except TabgradError as error:
    result = f"{{type(error).__name__}}: {{error}}"
result
""")
    assert got.startswith("CheckpointError: The chat template ")
    assert reason in got
