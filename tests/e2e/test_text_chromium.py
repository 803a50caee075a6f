"""Tokenizers and chat templates in Chromium."""

from __future__ import annotations

from tests.e2e.python_page import PythonPage

SMALL = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
         "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}


def test_first(browser_python: PythonPage) -> None:
    got = browser_python(f"""
import json
from tabgrad import platform
p = platform.current()
t = await p.tokenizer(json.dumps({SMALL!r}).encode())
c = await p.chat_template("{{{{ messages[0].content }}}}!")
[t.encode("abba", False), t.decoder, sorted(t.special_ids), t.vocab_size, t.id_to_token(9), t.token_to_id("ab"),
 c.render({{"messages": [{{"content": "hi"}}]}})]
""")
    assert got == [[2, 1, 0], None, [], 3, None, 2, "hi!"]
