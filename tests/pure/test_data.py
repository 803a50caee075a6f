"""Rows of training data: every token once, no document sees another, all from one seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.data import IGNORED, Batch, Dataset, Document
from tabgrad.data.pieces import pack
from tabgrad.errors import DataError, SettingsError
from tabgrad.text.tokenizer import ByteTokenizer, Tokenizer

BYTES = Tokenizer(ByteTokenizer(), {}, {}, ())


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    """Documents of ids that occur nowhere else, so that each pair can be found again."""
    made, start = [], 1
    for length, whole in draw(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1,
                                       max_size=12)):
        trained = draw(st.lists(st.booleans(), min_size=length, max_size=length))
        made.append(Document(np.arange(start, start + length, dtype=np.uint32),
                             np.array(trained, np.bool_), whole))
        start += length + 1
    return made


def learnable(made: list[Document], context_length: int) -> Counter[int]:
    """Ids that are to be targets, each once."""
    found: Counter[int] = Counter()
    for one in made:
        end = context_length + 1 if one.whole else len(one.ids)
        found.update(one.ids[1:end][one.trained[1:end]].tolist())
    return found


def pairs(batch: Batch) -> list[tuple[int, int]]:
    counted = batch.targets != IGNORED
    return list(zip(batch.ids[counted].tolist(), batch.targets[counted].tolist(), strict=True))


def check_rows(batch: Batch, made: list[Document]) -> None:
    """Each position sees its own document, from where it begins, and nothing else."""
    owner = {int(one): number for number, document in enumerate(made) for one in document.ids}
    for ids, starts in zip(batch.ids, batch.starts, strict=True):
        for place, start in enumerate(starts.tolist()):
            seen = ids[start:place + 1].tolist()
            assert len({owner.get(one) for one in seen}) == 1
            if seen[0]:
                assert seen == list(range(seen[0], seen[0] + len(seen)))
            else:
                assert not any(seen)
            assert start == 0 or ids[start] != ids[start - 1] + 1


@settings(max_examples=60)
@given(documents(), st.sampled_from([1, 3, 7, 25]), st.booleans(), st.integers(0, 3),
       st.integers(1, 3))
def test_an_epoch_has_every_learned_token_once(made: list[Document], context_length: int,
                                               packing: bool, seed: int, batch_size: int) -> None:
    wanted = learnable(made, context_length)
    if not wanted:
        with pytest.raises(DataError, match="would be learned"):
            Dataset(made, context_length, seed=seed, held_out=0)
        return
    data = Dataset(made, context_length, seed=seed, packing=packing, held_out=0,
                   gradient_accumulation_steps=2)
    assert data.facts.trained_tokens == wanted.total()
    rows = data.facts.rows
    # As many steps as make whole epochs: each row then came equally often.
    steps = rows
    found: Counter[int] = Counter()
    for step in range(steps):
        batches = [data.batch(step, micro, batch_size) for micro in range(2)]
        for batch in batches:
            check_rows(batch, made)
            assert all(target == one + 1 for one, target in pairs(batch))
            found.update(target for _, target in pairs(batch))
        assert data.trained_in(step, 2, batch_size) == sum(batch.trained for batch in batches)
        assert data.trained_in(step, 2, batch_size) >= 2 * batch_size
    epochs = steps * 2 * batch_size // rows
    assert found == Counter({one: epochs * count for one, count in wanted.items()})


@settings(max_examples=60)
@given(st.lists(st.integers(1, 30), max_size=40))
def test_packing_puts_every_piece_into_one_row_that_holds_it(lengths: list[int]) -> None:
    rows = pack(np.array(lengths, np.int64), 30)
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    filled = [sum(lengths[number] for number in row) for row in rows]
    assert all(one <= 30 for one in filled)
    assert sum(one <= 15 for one in filled) <= 1, "two rows would fit into one"


def test_a_batch_depends_on_nothing_but_seed_and_counters() -> None:
    made = [Document(np.arange(10 * i, 10 * i + 5, dtype=np.uint32), np.ones(5, bool))
            for i in range(1, 30)]
    first, second, other = (Dataset(made, 9, seed=seed, held_out=0) for seed in (5, 5, 6))
    steps = [7, 0, 40, 7, 1]
    assert all((first.batch(step, 0, 4).ids == second.batch(step, 0, 4).ids).all()
               for step in steps)
    assert any((first.batch(step, 0, 4).ids != other.batch(step, 0, 4).ids).any()
               for step in steps)
    rows = first.facts.rows
    epochs = [first.batch(epoch, 0, rows).ids for epoch in range(3)]
    assert len({epoch.tobytes() for epoch in epochs}) == 3, "each epoch has another order"
    assert len({tuple(sorted(map(tuple, epoch.tolist()))) for epoch in epochs}) == 1


@settings(max_examples=40)
@given(st.integers(1, 30), st.sampled_from([0.0, 0.1, 0.5, 0.99]), st.integers(0, 5))
def test_what_is_held_out_is_never_trained_on(count: int, held_out: float, seed: int) -> None:
    made = [Document(np.arange(10 * i + 1, 10 * i + 5, dtype=np.uint32), np.ones(4, bool), True)
            for i in range(count)]
    data = Dataset(made, 8, seed=seed, held_out=held_out)
    trained = {one for step in range(data.facts.rows) for one, _ in pairs(data.batch(step, 0, 1))}
    held = {one for batch in data.validation(4) for one, _ in pairs(batch)}
    assert not trained & held
    assert len(trained | held) == 3 * count
    expected = 0 if held_out == 0 or count == 1 else min(max(1, round(count * held_out)), count - 1)
    assert data.facts.held_out_documents == expected
    assert all(batch.ids.shape == (4, 8) for batch in data.validation(4))


def test_a_single_text_holds_out_its_end() -> None:
    text = Document(np.arange(1, 101, dtype=np.uint32), np.ones(100, bool), tokenizer=BYTES)
    data = Dataset([text], 4, seed=0, held_out=0.2)
    [batch] = data.validation(8)
    assert [one for one, _ in pairs(batch)] == list(range(81, 100))
    assert data.facts.held_out_documents == 1 and data.facts.trained_tokens == 79
    assert {one.document for row in data.preview(3) for one in row} == {0}
    short = Dataset([Document(text.ids[:9], text.trained[:9])], 4, seed=0)
    assert short.validation(8) == [] and short.facts.held_out_documents == 0


def test_what_is_cut_off_is_counted() -> None:
    chat = Document(np.arange(12, dtype=np.uint32), np.arange(12) > 8, whole=True)
    early = Document(np.arange(20, 26, dtype=np.uint32), np.ones(6, bool), whole=True)
    data = Dataset([chat, early], 4, seed=0, held_out=0)
    assert (data.facts.truncated_documents, data.facts.truncated_tokens) == (2, 8)
    assert data.facts.rows == 1, "of the first nothing is left to learn"


def test_the_preview_shows_whole_characters_and_what_is_learned() -> None:
    ids = list("né!".encode())
    document = Document(np.array(ids, np.uint32), np.array([0, 1, 1, 0], bool), whole=True,
                        tokenizer=BYTES)
    [row] = Dataset([document], 8, seed=0).preview(5)
    assert [(one.text, one.id, one.trained) for one in row] == [
        ("n", ids[0], False), ("", ids[1], True), ("é", ids[2], True), ("!", ids[3], False)]
    cut = Document(np.array(ids[:2], np.uint32), np.ones(2, bool), tokenizer=BYTES)
    assert [one.text for one in Dataset([cut], 8, seed=0).preview(1)[0]] == ["n", "\ufffd"]
    long = Document(np.array(ids, np.uint32), np.ones(4, bool), tokenizer=BYTES)
    shown = Dataset([long], 2, seed=0, held_out=0).preview(9)
    assert sorted([one.trained for one in row] for row in shown) == [
        [False, True], [False, True, True]], "the first id of a window was learned in the last"
    with pytest.raises(DataError, match="has none"):
        Dataset([Document(cut.ids, cut.trained)], 8, seed=0).preview(1)


def test_settings_that_do_not_fit_are_refused() -> None:
    made = [Document(np.arange(4, dtype=np.uint32), np.ones(4, bool))] * 2
    for wrong in ({"held_out": 1.0}, {"held_out": -0.1}, {"gradient_accumulation_steps": 0}):
        with pytest.raises(SettingsError):
            Dataset(made, 4, **{"seed": 0, **wrong})
    with pytest.raises(SettingsError, match="seed"):
        Dataset(made, 4, seed=-1)
    with pytest.raises(DataError, match="no document"):
        Dataset([], 4, seed=0)
    with pytest.raises(DataError, match="one mark for each id"):
        Document(made[0].ids, np.ones(3, bool))
    data = Dataset(made, 4, seed=0, gradient_accumulation_steps=2)
    with pytest.raises(SettingsError, match="so many micro-batches"):
        data.batch(0, 2, 1)
    with pytest.raises(SettingsError, match="another number of micro-batches"):
        data.trained_in(0, 1, 1)
