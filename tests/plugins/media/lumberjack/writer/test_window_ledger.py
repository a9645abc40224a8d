"""The window ledger compared with a minimal model: a list of units and their owners."""

from __future__ import annotations

import pytest
from aeron_media.lumberjack._native import sentinels
from aeron_media.lumberjack.writer.window_ledger import WindowLedger
from hypothesis import given
from hypothesis import strategies as st

FREE, ACKNOWLEDGED = "free", "acknowledged"


class Model:
    """One entry for each unit of the log."""

    def __init__(self):
        self.ledger = WindowLedger(12)
        self.ledger.begin(0)
        self.units = []
        self.on_their_way = []  # (owner, begin, end)

    def begin(self):
        return next((at for at, unit in enumerate(self.units) if unit == FREE), len(self.units))

    def take(self, owner, length):
        begin = self.ledger.next_begin()
        assert begin == self.begin()
        end = min(begin + length, self.ledger.next_end())
        self.ledger.take(end, owner)
        self.units += [FREE] * (end - len(self.units))
        assert all(unit == FREE for unit in self.units[begin:end])
        self.units[begin:end] = [ACKNOWLEDGED if owner == sentinels.DONE else owner] * (end - begin)
        if owner != sentinels.DONE:
            self.on_their_way.append((owner, begin, end))

    def complete(self, which):
        _, begin, end = self.on_their_way.pop(which % len(self.on_their_way))
        self.ledger.complete(end)
        self.units[begin:end] = [ACKNOWLEDGED] * (end - begin)

    def give_back(self, owner):
        self.ledger.give_back(owner)
        self.on_their_way = [each for each in self.on_their_way if each[0] != owner]
        self.units = [FREE if unit == owner else unit for unit in self.units]

    def confirmed(self):
        return next((at for at, unit in enumerate(self.units) if unit != ACKNOWLEDGED), len(self.units))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 2), st.integers(1, 9)),
        st.tuples(st.just("skip"), st.integers(1, 3)),
        st.tuples(st.just("complete"), st.integers(0, 11)),
        st.tuples(st.just("lose"), st.integers(0, 2)),
    ),
    max_size=80,
)


@given(steps=STEPS)
def test_confirmed_parts_have_no_gap_and_lost_parts_are_taken_again(steps):
    model = Model()
    for kind, *values in steps:
        if kind == "take" and sum(owner == values[0] for owner, *_ in model.on_their_way) < 4:
            assert model.ledger.has_space()
            model.take(*values)
        elif kind == "skip" and model.ledger.has_space():
            model.take(sentinels.DONE, values[0])
        elif kind == "complete" and model.on_their_way:
            model.complete(values[0])
        elif kind == "lose":
            model.give_back(values[0])
        assert model.ledger.confirmed == model.confirmed()
        assert model.ledger.next_begin() == model.begin()


def test_a_part_that_was_lost_can_be_taken_in_pieces():
    ledger = WindowLedger(4)
    ledger.begin(1000)
    ledger.take(2000, 0)
    ledger.take(3000, 1)
    ledger.give_back(0)
    assert (ledger.next_begin(), ledger.next_end()) == (1000, 2000)
    ledger.take(1500, 1)
    assert (ledger.next_begin(), ledger.next_end()) == (1500, 2000)
    ledger.take(2000, 1)
    assert (ledger.next_begin(), ledger.next_end()) == (3000, 1 << 62)
    for end, confirmed in ((3000, 1000), (1500, 1500), (2000, 3000)):
        ledger.complete(end)
        assert ledger.confirmed == confirmed


@pytest.mark.parametrize("owner", [0, 1])
def test_a_lost_part_at_the_end_counts_as_never_drawn(owner):
    ledger = WindowLedger(4)
    ledger.begin(0)
    ledger.take(100, 0)
    ledger.take(200, 1)
    ledger.give_back(owner)
    assert ledger.drawn == (200 if owner == 0 else 100)
