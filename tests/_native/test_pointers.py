import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from aeron_core._native.pointers import LongMap

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
