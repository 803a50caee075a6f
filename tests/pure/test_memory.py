"""Placement of temporaries: nobody's memory is taken while it is alive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tabgrad.gpu.memory import ALIGNMENT, Lifetime, place

lifetimes = st.builds(lambda size, first, length: Lifetime(4 * size, first, first + length),
                      st.integers(1, 2000), st.integers(0, 40), st.integers(0, 12))
slot_sizes = st.lists(st.integers(1, 30).map(lambda n: n * ALIGNMENT), max_size=5)


@given(st.lists(lifetimes, max_size=40), slot_sizes)
def test_nothing_alive_together_shares_a_slot(needs: list[Lifetime], slots: list[int]) -> None:
    placement = place(needs, slots)
    for i, first in enumerate(needs):
        for j in range(i):
            if placement.slots[i] == placement.slots[j]:
                assert first.last < needs[j].first or needs[j].last < first.first


@given(st.lists(lifetimes, max_size=40), slot_sizes)
def test_every_slot_is_large_enough_and_old_ones_keep_their_size(needs: list[Lifetime],
                                                                 slots: list[int]) -> None:
    placement = place(needs, slots)
    assert placement.sizes[:len(slots)] == tuple(slots)
    for need, slot in zip(needs, placement.slots, strict=True):
        assert need.size <= placement.sizes[slot]


@given(st.lists(lifetimes, max_size=40), slot_sizes)
def test_equal_input_equal_output(needs: list[Lifetime], slots: list[int]) -> None:
    assert place(needs, slots) == place(list(needs), list(slots))


@given(st.lists(lifetimes, min_size=1, max_size=40))
def test_a_second_plan_of_the_same_shape_needs_no_new_slot(needs: list[Lifetime]) -> None:
    first = place(needs)
    assert place(needs, first.sizes).sizes == first.sizes


@given(st.lists(lifetimes, max_size=40), slot_sizes)
def test_what_a_plan_needs_does_not_depend_on_what_is_there(needs: list[Lifetime],
                                                            slots: list[int]) -> None:
    assert place(needs, slots).needed == place(needs).needed == sum(place(needs).sizes)


@given(st.lists(lifetimes, min_size=1, max_size=40))
def test_never_more_than_one_slot_each(needs: list[Lifetime]) -> None:
    placement = place(needs)
    assert len(placement.sizes) <= len(needs)
    assert set(placement.slots) == set(range(len(placement.sizes)))


def test_a_chain_needs_two_slots() -> None:
    chain = [Lifetime(1024, step, step + 1) for step in range(10)]
    assert place(chain).sizes == (1024, 1024)


def test_the_smallest_slot_that_fits_is_taken() -> None:
    assert place([Lifetime(300, 0, 1)], [2048, 256, 512]).slots == (2,)
