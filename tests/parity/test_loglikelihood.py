"""Log-likelihoods and perplexity against Transformers: real weights, and a hybrid with DeltaNet."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import tabgrad
from tabgrad import platform
from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.models import open_folder
from tabgrad.evaluate.pairs import Reading
from tabgrad.evaluate.perplexity import perplexity
from tabgrad.evaluate.scorer import Row, Scorer
from tabgrad.evaluate.task_scores import score_tasks
from tabgrad.evaluate.tasks import TaskSet, builtin
from tabgrad.gpu.device import Device
from tabgrad.text.tokenizer import ByteTokenizer, Tokenizer
from tests import checkpoints, real_models
from tests.helpers import opened, run
from tools.corpora import OWN_TEXT

CLOSE = 1e-3
CONTEXT = 64
SETS = ("everyday", "endings")


def reference(path: Path, rows: list[tuple[int, list[int]]]) -> list[tuple[float, bool]]:
    """By Transformers, of each (first, ids): the log-likelihood of ids[first:], and whether each of
    them is the likeliest one there."""
    table = torch.zeros(len(rows), max(len(ids) for _, ids in rows), dtype=torch.long)
    for number, (_, ids) in enumerate(rows):
        table[number, :len(ids)] = torch.tensor(ids)
    with torch.no_grad():
        logits = checkpoints.oracle(path)(table).logits.double().log_softmax(-1).numpy()
    return [(math.fsum(logits[number, at - 1, ids[at]] for at in range(first, len(ids))),
             all(int(logits[number, at - 1].argmax()) == ids[at]
                 for at in range(first, len(ids))))
            for number, (first, ids) in enumerate(rows)]


@pytest.fixture(scope="module")
def glass() -> tuple[Path, Scorer]:
    opened("webgpu")
    path = real_models.glass_en()
    model = run(tabgrad.load(str(path)))
    return path, Scorer(model.decoder, model.tokenizer, CONTEXT)


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scorer]:
    device = opened("webgpu")
    path = checkpoints.save("qwen3_5_text", tmp_path_factory.mktemp("hybrid"))

    async def load() -> Scorer:
        stored = await open_folder(platform.current().files(str(path)), "", "hybrid")
        return Scorer(await load_decoder(device, stored), Tokenizer(ByteTokenizer(), {}, {}, ()),
                      CONTEXT)
    return path, run(load())


def check(path: Path, scorer: Scorer, tasks: TaskSet) -> None:
    """Compares every choice of a set."""
    result = run(score_tasks(scorer, tasks))
    encode, rows = scorer.reading.tokenizer.encode, []
    for item in tasks.items:
        for choice in item.choices:
            # In these vocabularies no token lies over a space: the seam is where the context ends.
            context, whole = encode(item.context), encode(item.context + choice)
            assert whole[:len(context)] == context
            rows.append((len(context), whole))
    expected = iter(reference(path, rows))
    for item in result.items:
        wanted = [next(expected) for _ in item.choices]
        np.testing.assert_allclose(item.logprobs, [one for one, _ in wanted], atol=CLOSE, rtol=0)
        if item.cloze:
            assert item.correct == wanted[0][1], item
        else:
            assert item.correct == (np.argmax([one for one, _ in wanted]) == item.answer)


@pytest.mark.parametrize("name", SETS)
def test_real_weights_on_both_sets(device: Device, glass: tuple[Path, Scorer], name: str) -> None:
    check(*glass, builtin(name))


def test_what_greedy_writing_gives_is_greedy(device: Device, glass: tuple[Path, Scorer]) -> None:
    path, scorer = glass
    start = scorer.reading.ids("The old man")
    ids = [*start, *checkpoints.greedy(path, np.array(start), 12)]
    same, other = run(scorer.rows([Row(ids, len(start)), Row([*ids[:-2], 5, 5], len(start))]))
    assert same[1].tolist() == [True] * 12 and other[1].tolist() == [True] * 10 + [False] * 2


@pytest.mark.parametrize("name", SETS)
def test_a_hybrid_on_both_sets(device: Device, hybrid: tuple[Path, Scorer], name: str) -> None:
    tasks = builtin(name)  # its tokens are bytes: those items that fit the context
    fitting = tuple(item for item in tasks.items
                    if len(item.context + max(item.choices, key=len)) <= CONTEXT)
    assert len(fitting) >= 12
    check(*hybrid, TaskSet(name, fitting[:12], (), 0, tasks.sha256))


def test_every_token_of_a_text_is_scored_once(device: Device, glass: tuple[Path, Scorer]) -> None:
    path, scorer = glass
    text = OWN_TEXT.read_text(encoding="utf-8")[:1200]
    ids, length, overlap = scorer.reading.ids(text), scorer.context_length, 24
    assert len(ids) > 3 * length
    rows, scored = [], 1
    for start in range(0, len(ids), length - overlap):
        window = ids[start:start + length + 1]
        if scored < start + len(window):
            rows.append((scored - start, window))
        scored = max(scored, start + len(window))
    total = -math.fsum(one for one, _ in reference(path, rows))
    found = run(perplexity(scorer, text, overlap=overlap))
    assert found.tokens == len(ids) - 1 and found.bytes + found.unscored_bytes == len(text.encode())
    assert abs(found.loss - total / found.tokens) < CLOSE
    assert abs(found.bits_per_byte - total / math.log(2) / found.bytes) < CLOSE
    assert abs(math.log(found.perplexity) - found.loss) < 1e-9


def test_a_seam_that_a_token_lies_over_is_scored_whole() -> None:
    path = real_models.tokenizer("gpt2")
    tokens = run(platform.current().tokenizer(path.read_bytes()))
    reading = Reading(Tokenizer(tokens, {}, {}, (50256,)))
    # GPT-2 reads "Hello" as one token and "Hel" as another: the seam moves before it.
    for context, continuation, cut in (("Say Hel", "lo", "Say"),
                                       ("The sky is ", "blue", "The sky is"),
                                       ("The sky is", " blue", "The sky is")):
        pair = reading.pair(context, continuation)
        assert list(pair.ids) == tokens.encode(context + continuation, False)
        assert reading.tokenizer.decode(pair.ids[:pair.first]) == cut
        assert pair.bytes == len(continuation)
    alone = reading.pair("", "Hello")
    assert alone.ids[0] == 50256 and alone.first == 1
