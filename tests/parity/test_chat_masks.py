"""Masks of conversations: what is learned equals Transformers' own marks, token by token."""

from __future__ import annotations

import random
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from tabgrad.data import BadLine, Chat, Parsed, Text, tokenize
from tabgrad.errors import DataError
from tabgrad.text.tokenizer import ByteTokenizer, Tokenizer
from tests import real_models
from tests.conversations import CONVERSATIONS
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


def test_calls_of_tools_are_learned_and_their_results_are_not(
        pair: tuple[Tokenizer, PreTrainedTokenizerBase, str]) -> None:
    messages, tools, _ = CONVERSATIONS["tool call and answer"]
    assert check(*pair, messages, tools) > 0


ROLE = "{{ '<|im_start|>' + message.role + '\\n' }}"
LOOP = "{% for message in messages %}"
PROMPT = "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
ODD = {
    "no prompt": LOOP + ROLE + "{{ message.content }}<|im_end|>\n{% endfor %}",
    "its prompt begins a thought":
        LOOP + ROLE + "{{ message.content.split('</think>')[-1] }}<|im_end|>\n" + PROMPT.replace(
            "assistant\n", "assistant\n<think>\n"),
    "white space before its end":
        LOOP + ROLE + "{{ message.content | trim }} <|im_end|>\n" + PROMPT,
    "its own token ends it": LOOP + ROLE + "{{ message.content }}<file_sep>\\n" + PROMPT,
    "no end": LOOP + "{{ message.role }}: {{ message.content }}\n{% endfor %}"
              "{% if add_generation_prompt %}assistant: {% endif %}",
}
LEARNED = {"no prompt": " A.<|im_end|>B<|im_end|>",
           "its prompt begins a thought": " A.<|im_end|>B<|im_end|>",
           "white space before its end": "A. <|im_end|>B <|im_end|>", "no end": " A. B",
           "its own token ends it": " A.<file_sep>B<file_sep>"}
REFUSED = {
    "shows message 2 2 times": LOOP + ROLE + "{{ message.content }}" * 2 + "<|im_end|>" + PROMPT,
    "what follows message 2": LOOP + ROLE + "{{ message.content }}<|im_end|>{{ message.content "
                              "| length }}" + PROMPT,
    "begins message 2 otherwise": LOOP + ROLE + "{{ message.content }}<|im_end|>" + PROMPT.replace(
        "assistant", "bot"),
    "shows message 2 0 times": LOOP + ROLE + "<|im_end|>" + PROMPT}
TALK = [{"role": "user", "content": "a"}, {"role": "assistant", "content": " A."},
        {"role": "user", "content": "b"}, {"role": "assistant", "content": "B"}]


def odd(template: str) -> Tokenizer:
    """SmolLM2's tokenizer with another template."""
    files = folder(real_models.tokenizer("smollm2").parent)
    return load({**files, "chat_template.jinja": template})


@pytest.mark.parametrize("name", ODD)
def test_templates_of_other_kinds(name: str) -> None:
    tokenizer = odd(ODD[name])
    [document] = tokenize(Parsed("a", "chats", (Chat(1, TALK),)), tokenizer)
    assert tokenizer.decode(document.ids[document.trained].tolist()) == LEARNED[name]


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_told_for_sure_is_refused_by_its_line(reason: str) -> None:
    parsed = Parsed("a", "chats", (Chat(7, TALK),))
    with pytest.raises(DataError, match=f"Line 7 cannot be used.*{reason}"):
        tokenize(parsed, odd(REFUSED[reason]))
    bad: list[BadLine] = []
    assert tokenize(parsed, odd(REFUSED[reason]), bad.append) == []
    assert [one.line for one in bad] == [7] and reason in bad[0].reason


def test_texts_end_with_the_models_own_end(
        pair: tuple[Tokenizer, PreTrainedTokenizerBase, str]) -> None:
    ours, oracle, _ = pair
    texts = (Text(1, "Hello"), Text(2, f"Hello{oracle.eos_token}"))
    first, second = tokenize(Parsed("a", "texts", texts), ours)
    assert first.ids.tolist() == [*oracle.encode("Hello"), oracle.eos_token_id]
    assert second.ids.tolist() == first.ids.tolist(), "an end that is there stays one"
    assert first.trained.tolist() == [False] + [True] * (len(first.ids) - 1) and not first.whole


def test_a_model_without_a_template_learns_no_conversations() -> None:
    with pytest.raises(DataError, match="no chat template"):
        tokenize(Parsed("a", "chats", (Chat(1, TALK),)), Tokenizer(ByteTokenizer(), {}, {}, ()))
