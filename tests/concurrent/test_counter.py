import threading

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter


@pytest.fixture
def values():
    return AtomicBuffer.allocate(256)


def test_a_counter_is_the_first_eight_bytes_of_its_record(values):
    counter = AtomicCounter(values, 1)

    counter.set(5)

    assert values.get_i64(128) == 5
    assert (counter.id, counter.get(), counter.get_acquire()) == (1, 5, 5)


def test_a_value_stored_with_release_is_read(values):
    counter = AtomicCounter(values, 0)

    counter.set_release(-(2**63))

    assert counter.get_acquire() == -(2**63)


def test_increment_and_add_return_the_value_before(values):
    counter = AtomicCounter(values, 0)

    assert [counter.increment_release(), counter.get_and_add(10), counter.get_and_add(-1)] == [0, 1, 11]
    assert counter.get() == 10


@pytest.mark.parametrize(("value", "moved", "after"), [(9, False, 10), (10, False, 10), (11, True, 11)])
@pytest.mark.parametrize("method", ["propose_max_release", "raise_to"])
def test_a_proposed_maximum_is_taken_only_if_it_is_higher(values, method, value, moved, after):
    counter = AtomicCounter(values, 0)
    counter.set(10)

    assert getattr(counter, method)(value) is moved
    assert counter.get() == after


@pytest.mark.parametrize("counter_id", [-1, 2, 2**31 - 1])
def test_a_counter_outside_the_values_is_rejected(values, counter_id):
    with pytest.raises(IndexError):
        AtomicCounter(values, counter_id)


@pytest.mark.parametrize("method", ["set", "set_release", "get_and_add", "propose_max_release", "raise_to"])
def test_a_counter_in_a_read_only_file_rejects_writes(method):
    counter = AtomicCounter(AtomicBuffer(bytes(128)), 0)

    with pytest.raises(IndexError, match="counter 0 cannot be written"):
        getattr(counter, method)(1)

    assert counter.get() == 0


def test_a_counter_returns_its_registration_id(values):
    values.put_i64(128 + 8, 77)

    assert AtomicCounter(values, 1).registration_id == 77


def test_concurrent_adds_lose_no_update(values):
    def add():
        counter = AtomicCounter(values, 0)
        for _ in range(10_000):
            counter.get_and_add(1)

    threads = [threading.Thread(target=add, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert AtomicCounter(values, 0).get() == 30_000


def test_the_methods_of_a_counter_are_compiled():
    assert hasattr(AtomicCounter, "__pyx_vtable__")
