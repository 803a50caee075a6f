"""Chat templates natively: equal to Transformers' apply_chat_template, refusals included."""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from tabgrad.errors import CheckpointError, TabgradError
from tabgrad.platform.native_text import NativeTemplate, NativeTokenizer
from tabgrad.text.tokenizer import Tokenizer, has_chat_template, load_tokenizer
from tests import real_models
from tests.conversations import CONVERSATIONS

REAL = ("smollm2", "llama3", "llama3_2", "qwen3", "gemma3")
EMPTY = {"model": {"type": "BPE", "vocab": {"<s>": 0, "</s>": 1, "a": 2}, "merges": []},
         "added_tokens": [{"id": i, "content": token, "special": True, "single_word": False,
                           "lstrip": False, "rstrip": False, "normalized": False}
                          for i, token in enumerate(("<s>", "</s>"))]}


def load(files: Mapping[str, Any]) -> Tokenizer:
    """A tokenizer of files: text as it is, the rest as JSON."""
    async def read(name: str) -> bytes | None:
        content = files.get(name)
        if content is None or isinstance(content, bytes):
            return content
        return (content if isinstance(content, str) else json.dumps(content)).encode()
    return asyncio.run(load_tokenizer(read))


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()
            if file.suffix in (".json", ".jinja")}


@pytest.fixture(scope="module", params=REAL)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, PreTrainedTokenizerBase]:
    path = real_models.tokenizer(request.param).parent
    return load(folder(path)), AutoTokenizer.from_pretrained(path)


def theirs(tokenizer: PreTrainedTokenizerBase, messages: Sequence[dict[str, Any]], **more: Any,
           ) -> str | None:
    """Transformers' text; None where the template refuses."""
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, **more))
    except Exception:
        return None


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("prompt", [True, False])
def test_the_text_is_that_of_transformers(pair: tuple[Tokenizer, PreTrainedTokenizerBase],
                                          name: str, prompt: bool) -> None:
    ours, oracle = pair
    messages, tools, more = CONVERSATIONS[name]
    expected = theirs(oracle, messages, tools=tools, add_generation_prompt=prompt, **more)
    if expected is None:
        with pytest.raises(CheckpointError, match="does not accept"):
            ours.apply_chat_template(messages, tools, prompt, **more)
        return
    assert ours.apply_chat_template(messages, tools, prompt, **more) == expected
    ids = oracle.apply_chat_template(messages, tools=tools, add_generation_prompt=prompt,
                                     return_dict=False, **more)
    assert ours.encode_chat(messages, tools, prompt, **more) == ids


def test_ids_stop_ids_and_special_tokens_are_those_of_transformers(
        pair: tuple[Tokenizer, PreTrainedTokenizerBase]) -> None:
    ours, oracle = pair
    assert oracle.eos_token_id in ours.stop_ids
    assert ours.bos == oracle.bos_token
    assert ours.encode("Hello, world") == oracle.encode("Hello, world")
    assert ours.has_template
    named = {oracle.bos_token_id, oracle.eos_token_id, oracle.pad_token_id, oracle.unk_token_id}
    assert named - {None} <= ours.special_ids
    ids = list(range(0, len(oracle), 997)) + sorted(named - {None})
    assert ours.decode(ids, skip_special_tokens=True) == oracle.decode(ids,
                                                                       skip_special_tokens=True)


def test_templates_come_from_files_before_settings() -> None:
    def shown(**files: Any) -> str:
        return load({"tokenizer.json": EMPTY, **files}).apply_chat_template(
            [{"role": "user", "content": "x"}], tools=[{}])
    settings = {"chat_template": "settings {{ messages[0].content }}"}
    several = {"chat_template": [{"name": "default", "template": "default"},
                                 {"name": "tool_use", "template": "tools"}]}
    tool_file = {"chat_template.jinja": "file", "additional_chat_templates/tool_use.jinja": "tool"}
    assert shown(**{"tokenizer_config.json": settings}) == "settings x"
    assert shown(**{"tokenizer_config.json": settings, "chat_template.jinja": "file"}) == "file"
    assert shown(**{"tokenizer_config.json": several}) == "tools"
    assert shown(**{"tokenizer_config.json": settings, **tool_file}) == "tool"
    assert shown(**{"chat_template.json": {"chat_template": "old"}}) == "old"


def test_without_a_template_a_conversation_is_refused() -> None:
    tokenizer = load({"tokenizer.json": EMPTY})
    assert not tokenizer.has_template
    with pytest.raises(CheckpointError, match="no chat template"):
        tokenizer.apply_chat_template([{"role": "user", "content": "x"}])


def test_has_chat_template_needs_no_tokenizer() -> None:
    async def read(name: str) -> bytes | None:
        return b'{"chat_template": "x"}' if name == "tokenizer_config.json" else None
    assert asyncio.run(has_chat_template(read))


def test_stop_ids_come_from_every_file() -> None:
    tokenizer = load({"tokenizer.json": EMPTY, "config.json": {"eos_token_id": 7},
                      "generation_config.json": {"eos_token_id": [8, 9]},
                      "tokenizer_config.json": {"eos_token": {"content": "</s>"}}})
    assert tokenizer.stop_ids == {1, 7, 8, 9}


def test_a_tokenizers_own_cut_and_padding_do_not_count() -> None:
    limits = {"truncation": {"max_length": 2, "stride": 0, "strategy": "LongestFirst",
                             "direction": "Right"},
              "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 0,
                          "pad_to_multiple_of": None, "pad_type_id": 0, "pad_token": "<s>"}}
    assert load({"tokenizer.json": {**EMPTY, **limits}}).encode("aaaa") == [2, 2, 2, 2]


def test_half_a_character_becomes_a_replacement() -> None:
    vocab = {**EMPTY, "model": {"type": "BPE", "vocab": {"\ufffd": 0, "🙂": 1}, "merges": []}}
    assert load({"tokenizer.json": {**vocab, "added_tokens": []}}).encode(
        "\ud83d \ud83d\ude42") == [0, 1]


@pytest.mark.parametrize(("source", "message"), [
    ("{% if %}", "cannot be read"), ("{{ raise_exception('only users') }}", "only users"),
    ("{{ messages.append(1) }}", "does not accept"),
    ("{{ messages.__class__.__mro__ }}", "does not accept"),
    ("{% set ns = namespace() %}{% set ns.__class__ = 1 %}", "does not accept"),
])
def test_what_a_template_may_not_do_is_an_error(source: str, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        NativeTemplate(source).render({"messages": []})


@pytest.mark.parametrize(("package", "use"), [
    ("tokenizers", lambda: NativeTokenizer(b"{}")), ("jinja2", lambda: NativeTemplate("x"))])
def test_a_missing_package_is_named(package: str, use: Any, monkeypatch: pytest.MonkeyPatch,
                                    ) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return real(name, *arguments)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TabgradError, match=f"{package} is not installed.*pip install"):
        use()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"model": {"type": "X"}}'])
def test_what_is_no_tokenizer_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"tokenizer\.json cannot be read"):
        NativeTokenizer(data)
