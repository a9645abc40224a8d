"""Counters of a client."""

import pytest

from aeron_core import ClientHandlers, ClosedError
from aeron_core.protocol import commands, responses


def test_a_counter_has_the_ids_that_the_driver_allocated(aeron, double):
    counter = aeron.add_counter(1000, b"key", "my counter")
    counter.value = 5

    assert counter.increment() == 5
    assert counter.get_and_add(10) == 6
    assert not counter.propose_max(3)
    assert (counter.value, counter.label, counter.type_id) == (16, "my counter", 1000)
    assert counter.key.rstrip(b"\0") == b"key"
    assert counter.is_allocated
    record = aeron.counters_reader.record(counter.id)
    assert (record.value, record.registration_id) == (16, counter.registration_id)


def test_a_closed_counter_is_freed_and_rejects_writes(aeron, double):
    with aeron.add_counter(1000) as counter:
        pass
    double.do_work()

    [command] = double.of_type(commands.RemoveCounter)
    assert command.registration_id == counter.registration_id
    with pytest.raises(ClosedError, match=f"counter {counter.id}"):
        counter.value = 1
    with pytest.raises(ClosedError, match="add a new counter"):
        counter.increment()


def test_a_write_to_a_counter_of_a_closed_client_raises_the_cause(aeron):
    counter = aeron.add_counter(1000)
    aeron.close()

    with pytest.raises(ClosedError, match=r"the client of .* is closed: connect again"):
        counter.increment()


def test_a_static_counter_is_found_again_and_never_freed(aeron, double):
    first = aeron.add_static_counter(1000, 77, label="static")
    second = aeron.add_static_counter(1000, 77, label="static")
    first.close()
    double.do_work()

    assert first.id == second.id
    assert second.registration_id == 77
    assert double.of_type(commands.RemoveCounter) == []


def test_closing_a_static_counter_keeps_a_counter_with_an_equal_registration_id(aeron, double):
    counter = aeron.add_counter(1000)
    static = aeron.add_static_counter(1001, counter.registration_id)
    static.close()
    double.do_work()

    assert static.is_closed
    assert not counter.is_closed
    assert double.of_type(commands.RemoveCounter) == []


@pytest.mark.parametrize(("key", "label"), [(bytes(113), ""), (b"", "x" * 381)])
def test_keys_and_labels_that_are_too_long_raise(aeron, double, key, label):
    with pytest.raises(ValueError, match=r"must be from 0 to (112|380) bytes"):
        aeron.add_counter(1000, key, label)

    assert double.received == []


def test_counter_handlers_are_called_for_counters_of_all_clients(make_client, double):
    events = []
    handlers = ClientHandlers(
        on_available_counter=lambda counters, registration_id, counter_id: events.append(
            ("available", registration_id, counter_id)
        ),
        on_unavailable_counter=lambda counters, registration_id, counter_id: events.append(
            ("unavailable", registration_id, counter_id)
        ),
    )
    aeron = make_client(handlers=handlers)
    double.answer(responses.OnCounterReady(500, 7))
    double.answer(responses.OnUnavailableCounter(500, 7))

    aeron.do_work()

    assert events == [("available", 500, 7), ("unavailable", 500, 7)]


def test_a_handler_can_be_added_and_removed(aeron, double):
    events = []

    def handler(counters, registration_id, counter_id):
        events.append(counter_id)

    aeron.add_available_counter_handler(handler)
    double.answer(responses.OnCounterReady(500, 7))
    aeron.do_work()
    aeron.remove_available_counter_handler(handler)
    double.answer(responses.OnCounterReady(501, 8))
    aeron.do_work()

    assert events == [7]
