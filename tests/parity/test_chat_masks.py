"""Masks of conversations: what is learned equals Transformers' own marks, token by token."""

from __future__ import annotations

import random
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from tabgrad.data.documents import Chat, Parsed
from tabgrad.data.tokens import tokenize
from tabgrad.text.tokenizer import Tokenizer
from tests import real_models
from tests.parity.test_chat_templates import folder, load

COUNT = 200
MARK, END = "{% generation %}", "{% endgeneration %}"
# For each template: what of it writes an answer, and the same with the answer marked.
MARKED = {
    "smollm2": [("message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}",
                 "message['role'] + '\n'}}{% set said = message['content'] + '<|im_end|>' %}"
                 "{% if message.role == 'assistant' %}" + MARK + "{{ said }}" + END +
                 "{% else %}{{ said }}{% endif %}{{ '\n' }}")],
    "llama3": [("+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
                "{% set content = bos_token + content %}{% endif %}{{ content }}",
                "%}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
                "{{ content }}{% set said = message['content'] | trim + '<|eot_id|>' %}"
                "{% if message.role == 'assistant' %}" + MARK + "{{ said }}" + END +
                "{% else %}{{ said }}{% endif %}")],
    "qwen3": [("{{- '<|im_start|>' + message.role + '\\n<think>\\n'", "{{- '<think>\\n'"),
              ("{{- '<|im_start|>' + message.role + '\\n' + content }}", "{{- content }}"),
              ("{%- if loop.index0 > ns.last_query_index %}",
               "{{- '<|im_start|>assistant\\n' }}" + MARK +
               "{%- if loop.index0 > ns.last_query_index %}"),
              ("{{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\" %}",
               "{{- '<|im_end|>' }}" + END + "{{- '\\n' }}\n"
               "    {%- elif message.role == \"tool\" %}")],
    "gemma3": [("{%- if message['content'] is string -%}\n        {{ message['content'] | trim }}",
                "{%- if role == 'model' -%}" + MARK + "{{ message['content'] | trim + "
                "'<end_of_turn>' }}" + END + "\n    {%- elif message['content'] is string -%}\n"
                "        {{ message['content'] | trim }}"),
               ("{{ '<end_of_turn>\n' }}",
                "{{ '' if role == 'model' else '<end_of_turn>' }}{{ '\n' }}")],
}
_PIECES = ["Hello", " there", "\n", "\n\n", " ", "é", "東京", "👩‍💻", "2 + 2 = 4", "<|im_end|>",
           "</s>", "e\u0301", "assistant\n", "<start_of_turn>model\n", "```\ncode\n```", "\t", "."]


def one_of(random_numbers: random.Random) -> str:
    return "".join(random_numbers.choices(_PIECES, k=random_numbers.randint(1, 8)))


def conversations() -> list[list[dict[str, Any]]]:
    """Seeded: one to six turns, system or not, thoughts or not, odd white space and signs."""
    made = []
    for number in range(COUNT):
        numbers = random.Random(number)
        messages: list[dict[str, Any]] = []
        if numbers.random() < 0.4:
            messages.append({"role": "system", "content": one_of(numbers)})
        for _ in range(numbers.randint(1, 6)):
            messages.append({"role": "user", "content": one_of(numbers)})
            answer: dict[str, Any] = {"role": "assistant", "content": one_of(numbers)}
            if numbers.random() < 0.2:
                answer["reasoning_content"] = one_of(numbers)
            elif numbers.random() < 0.2:
                answer["content"] = f"<think>\n{one_of(numbers)}\n</think>\n\n{one_of(numbers)}"
            messages.append(answer)
        if numbers.random() < 0.2:
            messages.append({"role": "user", "content": one_of(numbers)})
        made.append(messages)
    return made


@pytest.fixture(scope="module", params=MARKED)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, PreTrainedTokenizerBase, str]:
    path = real_models.tokenizer(request.param).parent
    oracle = AutoTokenizer.from_pretrained(path)
    template = oracle.chat_template
    for old, new in MARKED[request.param]:
        assert old in template, old
        template = template.replace(old, new)
    return load(folder(path)), oracle, template


def check(ours: Tokenizer, oracle: PreTrainedTokenizerBase, template: str,
          messages: list[dict[str, Any]], tools: Any = None) -> int:
    expected = oracle.apply_chat_template(messages, tools=tools, chat_template=template,
                                          return_dict=True, return_assistant_tokens_mask=True)
    plain = oracle.apply_chat_template(messages, tools=tools, return_dict=False)
    assert expected["input_ids"] == plain, "the marked template is another one"
    parsed = Parsed("chats", "chats", (Chat(1, messages, tools),))
    [document] = tokenize(parsed, ours)
    assert document.ids.tolist() == plain
    assert document.trained.astype(int).tolist() == expected["assistant_masks"]
    return int(document.trained.sum())


def test_masks_are_those_of_transformers(
        pair: tuple[Tokenizer, PreTrainedTokenizerBase, str]) -> None:
    learned = [check(*pair, messages) for messages in conversations()]
    assert len(learned) == COUNT and min(learned) > 0
