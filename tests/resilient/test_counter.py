"""Counters of a resilient client keep their values while the driver is gone."""

import pytest

from aeron_core import ClosedError, resilient
from aeron_core.protocol import commands, responses


@pytest.fixture
def counter(aeron):
    return aeron.add_counter(1001, b"key", "a label")


def test_a_counter_is_that_of_the_driver(scene, counter):
    counter.value = 5
    assert (counter.increment(), counter.get_and_add(4), counter.propose_max(3)) == (5, 6, False)
    assert counter.propose_max(11)

    assert scene.driver.counters.value(counter.id) == counter.value == 11
    assert counter.key.startswith(b"key\0")
    assert (counter.label, counter.type_id, counter.is_allocated) == ("a label", 1001, True)


def test_a_counter_counts_on_while_the_driver_is_gone_and_continues_in_the_next_one(scene, counter):
    counter.value = 5
    scene.lose()

    assert (counter.increment(), counter.get_and_add(4), counter.propose_max(3)) == (5, 6, False)
    assert counter.propose_max(20)
    assert counter.value == 20
    assert not counter.is_allocated
    scene.restart()

    [command] = scene.driver.of_type(commands.AddCounter)
    assert (command.counter_type_id, command.key[:3], command.label) == (1001, b"key", "a label")
    assert scene.driver.counters.value(counter.id) == counter.value == 20
    [event] = scene.of_type(resilient.CounterRestored)
    assert (event.counter, event.value, event.counter_id) == (counter, 20, counter.id)
    counter.increment()
    assert scene.driver.counters.value(counter.id) == 21


def test_a_counter_wraps_around_while_the_driver_is_gone(scene, counter):
    counter.value = 2**63 - 1
    scene.lose()

    counter.increment()

    assert counter.value == -(2**63)


def test_a_value_that_is_no_int64_raises_while_the_driver_is_gone(scene, counter):
    scene.lose()

    with pytest.raises(ValueError, match="value=9223372036854775808: must be from"):
        counter.value = 2**63


def test_a_counter_whose_id_the_driver_has_reused_continues_with_the_last_value_that_was_written(
    scene, counter
):
    counter.value = 5
    counter.increment()
    scene.driver.counters.free(counter.id)
    scene.clock.advance(10**10)
    scene.driver.beat()
    reused = scene.driver.counters.allocate(4, "another", registration_id=4711)
    scene.driver.counters.set_value(reused, 99)
    assert reused == counter.id
    scene.driver.answer(responses.OnClientTimeout(scene.client.client_id))

    scene.run()

    assert counter.value == 6
    assert scene.driver.counters.value(reused) == 99


def test_a_static_counter_keeps_the_value_that_it_has_in_the_driver(scene, aeron):
    counter = aeron.add_static_counter(1002, 77, b"", "static")
    counter.value = 5
    scene.driver.answer(responses.OnClientTimeout(aeron.client_id))
    aeron.do_work()
    scene.driver.counters.set_value(counter.id, 8)

    scene.run()

    assert counter.value == 8
    assert len(scene.driver.of_type(commands.AddStaticCounter)) == 2


def test_a_static_counter_of_a_new_driver_continues_with_its_value(scene, aeron):
    counter = aeron.add_static_counter(1002, 77, b"", "static")
    counter.value = 5
    scene.lose()

    scene.restart()

    assert counter.value == 5
    assert counter.registration_id == 77


def test_a_closed_counter_raises_and_is_not_re_added(scene, counter):
    counter.close()
    scene.lose()
    scene.restart()

    assert scene.driver.of_type(commands.AddCounter) == []
    for change in (counter.increment, lambda: counter.get_and_add(1), lambda: counter.propose_max(9)):
        with pytest.raises(ClosedError, match="is closed: add a new one"):
            change()
    with pytest.raises(ClosedError, match="is closed: add a new one"):
        counter.value = 3
    assert "closed" in repr(counter)


def test_an_addition_is_atomic_if_the_counter_is_attached_meanwhile(scene, aeron):
    counter = aeron.add_counter(1001)
    plain = counter.plain

    class Attached:
        is_closed = False
        value = property(lambda _: plain.value)

        def get_and_add(self, delta):
            return plain.get_and_add(delta)

    class Lost:
        def get_and_add(self, delta):
            counter._current = Attached()
            raise ClosedError("lost")

    counter._current = Lost()
    previous = counter.get_and_add(3)
    counter._current = plain

    assert (previous, counter.value) == (0, 3)
