from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from aeron_core._native.pointers import LongMap
from aeron_core.testing.parts import QuietItem, QuietListProbe

# Few keys, some of which differ in the upper 32 bits only, so that entries collide.
keys = st.one_of(
    st.integers(0, 40), st.integers(0, 3).map(lambda n: n << 32), st.integers(-(2**63), 2**63 - 1)
)
values = st.integers(-(2**63), 2**63 - 1)


class LongMapMachine(RuleBasedStateMachine):
    """A `LongMap` behaves like a `dict`."""

    def __init__(self):
        super().__init__()
        self.map, self.model = LongMap(), {}

    @rule(key=keys, value=values)
    def put(self, key, value):
        self.map[key] = value
        self.model[key] = value

    @rule(key=keys)
    def remove(self, key):
        if key in self.model:
            del self.map[key]
            del self.model[key]
        else:
            with pytest.raises(KeyError):
                del self.map[key]

    @rule(key=keys)
    def get(self, key):
        assert (key in self.map) == (key in self.model)
        if key in self.model:
            assert self.map[key] == self.model[key]

    @invariant()
    def holds_the_same(self):
        assert len(self.map) == len(self.model)
        assert dict(self.map.items()) == self.model


TestLongMap = LongMapMachine.TestCase


@given(st.sets(keys, max_size=200))
def test_a_map_grows_and_empties(found):
    numbers = LongMap()
    for key in found:
        numbers[key] = key
    assert sorted(key for key, _ in numbers.items()) == sorted(found)

    for key in found:
        del numbers[key]

    assert len(numbers) == 0
    assert not any(key in numbers for key in found)


def test_a_missing_key_is_named():
    with pytest.raises(KeyError, match="5"):
        LongMap()[5]


NEVER = 2**63 - 1
WHEN_LOOKING, ALWAYS, RESTLESS = QuietListProbe.WHEN_LOOKING, QuietListProbe.ALWAYS, QuietListProbe.RESTLESS
# Close together, so that some are due and some are not.
delays = st.integers(-5, 50)
attentions = st.sampled_from([WHEN_LOOKING, ALWAYS, RESTLESS])


@dataclass
class Quiet:
    """What a list must remember of an item."""

    due_ns: int
    attention: int
    has_log: bool
    has_changed: bool = False

    def is_found(self, now_ns, *, is_looking):
        is_looked_at = self.has_log and (is_looking or self.attention != WHEN_LOOKING)
        return self.due_ns <= now_ns or (is_looked_at and self.has_changed)


class QuietListMachine(RuleBasedStateMachine):
    """A `QuietList` finds what a search of all items finds, and never promises a time that is too late."""

    def __init__(self):
        super().__init__()
        self.probe, self.now_ns = QuietListProbe(), 0
        self.items = [QuietItem() for _ in range(40)]
        self.model = {}

    @rule(delay=delays, attention=attentions, has_log=st.booleans(), count=st.integers(1, 20))
    def add(self, delay, attention, has_log, count):
        for item in [each for each in self.items if each not in self.model][:count]:
            self.model[item] = Quiet(self.now_ns + delay, attention, has_log)
            self.probe.add(item, self.now_ns + delay, attention, has_log=has_log)
            delay += 7

    @rule(number=st.integers(0, 39))
    def remove(self, number):
        if self.items[number] in self.model:
            self.drop(self.items[number])

    @rule(number=st.integers(0, 39))
    def append(self, number):
        self.items[number].append()
        if self.items[number] in self.model:
            self.model[self.items[number]].has_changed = True

    @rule(elapsed=st.integers(0, 20))
    def advance(self, elapsed):
        self.now_ns += elapsed

    @rule(is_looking=st.booleans(), more=st.integers(0, 3))
    def turn_of_all(self, is_looking, more):
        wanted = self.found(is_looking)

        self.probe.begin(len(self.model) + more, is_looking=is_looking)

        # Each once: an item that was taken is no longer there.
        assert set(self.take_all(is_looking)) == wanted
        assert self.probe.quiet.earliest_ns == self.earliest_ns()

    @rule(is_looking=st.booleans(), count=st.integers(0, 39))
    def turn_of_some(self, is_looking, count):
        self.probe.begin(min(count, max(len(self.model) - 1, 0)), is_looking=is_looking)

        assert len(self.take_all(is_looking)) <= count

    @rule(is_looking=st.booleans(), count=st.integers(0, 40), taken=st.integers(0, 3))
    def turn_that_is_left(self, is_looking, count, taken):
        self.probe.begin(count, is_looking=is_looking)
        for _ in range(taken):
            if not self.take(is_looking):
                break

    @invariant()
    def knows_its_items(self):
        assert sorted(item.index for item in self.model) == list(range(self.probe.quiet.size))
        assert all(item.index == -1 for item in self.items if item not in self.model)
        assert self.probe.quiet.restless == sum(each.attention == RESTLESS for each in self.model.values())
        assert self.probe.quiet.earliest_ns <= self.earliest_ns()

    def take_all(self, is_looking):
        taken = []
        while item := self.take(is_looking):
            taken.append(item)
        return taken

    def take(self, is_looking):
        item = self.probe.take(self.now_ns)
        if item is not None:
            assert self.model[item].is_found(self.now_ns, is_looking=is_looking)
            self.drop(item)
        return item

    def drop(self, item):
        self.probe.remove(item)
        del self.model[item]

    def found(self, is_looking):
        return {
            item for item, each in self.model.items() if each.is_found(self.now_ns, is_looking=is_looking)
        }

    def earliest_ns(self):
        timed = [each.due_ns for each in self.model.values() if each.attention == WHEN_LOOKING]
        return min(timed, default=NEVER)


TestQuietList = QuietListMachine.TestCase


@pytest.mark.parametrize(("size", "count"), [(1, 1), (10, 3), (100, 99), (64, 1)])
def test_turns_of_some_items_check_each_of_them_in_one_round(size, count):
    probe, items = QuietListProbe(), [QuietItem() for _ in range(size)]
    for item in items:
        probe.add(item, NEVER, ALWAYS, has_log=True)

    for item in items:
        item.append()
        for _ in range(-(-size // count)):
            probe.begin(count, is_looking=False)
            found = probe.take(0)
            if found is not None:
                break

        assert found is item
        probe.remove(item)
        probe.add(item, NEVER, ALWAYS, has_log=True)
