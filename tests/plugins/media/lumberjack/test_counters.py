"""Counters of an endpoint and of its connections."""

from __future__ import annotations

import pytest
from aeron_media.lumberjack.connection_counters import ConnectionCounters, Snapshot
from plain_codec import ack, compressed, window
from reading import CHANNEL, Reading, events
from writing import Writing

from aeron_core.errors import StorageError
from aeron_core.spi.stream_counter import detached_counter
from aeron_core.testing.pair import MS, S


def single(driver, name):
    """Return the values of a counter of connections, by the rest of the label."""
    return {
        record.label.split(": ")[1]: record.value
        for record in driver.find_counters(f"lumberjack-{name}: ")
        if "connection-" in record.label
    }


def test_a_connection_has_counters_while_it_is_open(reading):
    writer = reading.dial()
    reading.exchange(writer, window(2) + compressed(events(1, 2)) + window(3) + events(1), 3 * S)
    (label,) = single(reading.driver, "connection-events")
    assert label.startswith(f"{writer.address} session=")
    found = {
        name: single(reading.driver, f"connection-{name}")[label]
        for name in ("windows", "events", "bytes-inflated", "acks", "keep-alives", "lag")
    }
    assert found == {
        "windows": 2,
        "events": 3,
        "bytes-inflated": len(events(1, 2)),
        "acks": 1,
        "keep-alives": 0,
        "lag": 1,
    }
    writer.close()
    reading.run(5 * S)
    assert reading.driver.find_counters("lumberjack-connection-") == []


def test_the_lag_counts_events_received_and_not_acknowledged(reading):
    reading.is_polling = False
    writer = reading.dial()
    reading.run()
    reading.exchange(writer, window(2) + events(1, 2) + window(1) + events(1) + window(5) + events(1, 2))
    assert reading.counted("lag") == 5
    reading.is_polling = True
    reading.run()
    assert reading.counted("lag") == 2
    writer.close(aborts=True)
    reading.run()
    assert reading.counted("lag") == 0


def test_the_lag_of_a_writer_that_sends_its_window_once_is_exact(reading):
    writer = reading.dial()
    reading.exchange(writer, window(2, b"1") + events(1, 2, 3, 4, 5, version=b"1"), 10 * MS)
    reading.run(2 * S)
    assert reading.counted("lag") == 0
    assert reading.counted("events") == 5


def test_the_number_of_connections_with_counters_is_limited(tmp_path):
    with Reading(tmp_path, "|connection-counters=2") as reading:
        writers = [reading.dial() for _ in range(4)]
        for writer in writers:
            writer.send(window(1) + events(1))
        reading.run(3 * S)
        before = single(reading.driver, "connection-events")
        assert len(before) == 2
        assert reading.counted("events") == 4
        for writer in writers:
            if any(label.startswith(f"{writer.address} ") for label in before):
                writer.close()
        reading.run(5 * S)
        after = single(reading.driver, "connection-events")
        assert len(after) == 2
        assert not before.keys() & after.keys()


def test_counters_of_connections_can_be_disabled(tmp_path):
    with Reading(tmp_path, "|connection-counters=0") as reading:
        reading.exchange(reading.dial(), window(1) + events(1), 3 * S)
        assert reading.driver.find_counters("lumberjack-connection-") == []


def test_a_connection_without_data_has_no_counters(reading):
    reading.dial()
    reading.run(3 * S)
    assert reading.counted("connections") == 1
    assert reading.driver.find_counters("lumberjack-connection-") == []


def test_counters_are_freed_with_the_endpoint(reading):
    reading.exchange(reading.dial(), window(1) + events(1), 3 * S)
    assert single(reading.driver, "connection-events")
    reading.subscriptions.pop().close()
    reading.run(30 * S)
    assert reading.driver.find_counters("lumberjack-") == []


def test_a_connection_of_a_publication_has_counters_while_it_is_open(tmp_path):
    with Writing(tmp_path, "|pipeline=2|window=1") as writing:
        writing.accept()
        writing.offer(b"{}", b"{}", b"{}")
        writing.received_windows()
        writing.answer(ack(1), ack(0))
        writing.run(2 * S)
        found = {
            name: single(writing.driver, f"writer-connection-{name}")
            for name in ("windows", "events", "acks", "keep-alives", "lag")
        }
        assert {name: list(values.values()) for name, values in found.items()} == {
            "windows": [3],
            "events": [3],
            "acks": [1],
            "keep-alives": [1],
            "lag": [2],
        }
        assert list(found["lag"]) == ["127.0.0.1:5044 stream=0"]
        assert writing.counted("lag") == 2 * 64
        writing.listener.close()
        writing.reader.close()
        writing.run(3 * S)
        assert writing.driver.find_counters("lumberjack-writer-connection-") == []


def test_a_closed_publication_leaves_no_lag(tmp_path):
    with Writing(tmp_path) as writing:
        writing.accept()
        other = writing.result(
            writing.client.add_exclusive_publication_async("aeron:lumberjack?endpoint=127.0.0.1:5044", 8)
        )
        writing.offer(b"{}")
        writing.run(2 * S)
        assert writing.counted("lag") == 64
        writing.publication.close()
        writing.reader.close(aborts=True)
        writing.run(30 * S)
        assert not other.is_closed
        assert writing.counted("lag") == 0


def test_missing_counter_space_is_tolerated():
    made, freed = [], []

    def new_counter(name):
        if len(made) == 3:
            raise StorageError("no space")
        made.append(detached_counter(0, name))
        return made[-1]

    counters = ConnectionCounters(["one", "two"], 4, new_counter, freed.append)
    counters.update([Snapshot(1, "a", (1, 2)), Snapshot(2, "b", (3, 4))])
    assert [counter.get_acquire() for counter in made[:2]] == [1, 2]
    assert freed == [made[2]]
    counters.update([])
    assert freed[1:] == made[:2]


@pytest.mark.parametrize("keys", ["|connection-counters=257", "|connection-counters=-1"])
def test_the_parameter_for_connection_counters_is_checked(reading, keys):
    with pytest.raises(Exception, match="connection-counters="):
        reading.result(reading.client.add_subscription_async(f"{CHANNEL}{keys}", 8))
