"""Which writer gets a connection when there are more than the endpoint takes."""

from __future__ import annotations

import pytest
from plain_codec import ack, compressed, window
from reading import CLOSED, Reading, events, received_by

from aeron_core.testing.pair import MS, S

ATTACKER = "10.0.0.66"


@pytest.fixture
def few(tmp_path):
    """A driver that takes four connections, two of each source."""
    with Reading(tmp_path, "|max-connections=4|max-per-source=2") as reading:
        yield reading


def dial(reading, host, data=b""):
    """Return a writer that has sent `data`, whether or not the driver refuses it."""
    writer = reading.dial(host)
    reading.run(10 * MS)
    if not writer.failure:
        writer.send(data)
        reading.run(100 * MS)
    return writer


def is_refused(writer):
    return writer.failure != 0 or writer.is_closed_by_peer


def test_one_source_does_not_take_all_connections(few):
    attackers = [dial(few, ATTACKER, window(0)) for _ in range(6)]

    honest = dial(few, "10.0.0.1", window(1) + events(1))

    assert [is_refused(writer) for writer in attackers] == [False] * 2 + [True] * 4
    assert received_by(honest) == ack(1)
    assert few.counted("rejects-connections") == 4
    few.run(2 * S)
    assert any(
        "connections from one source: at most 2; max-per-source= sets it" in text for text in few.errors()
    )


def test_a_source_may_connect_again_after_a_connection_has_ended(few):
    first, _ = (dial(few, ATTACKER, window(1) + events(1)) for _ in range(2))
    first.close()
    few.run(3 * S)
    assert received_by(dial(few, ATTACKER, window(1) + events(1))) == ack(1)


def test_windows_without_events_are_no_sign_of_life(reading):
    writer = reading.dial()
    answered = b""
    for _ in range(35):
        if CLOSED not in answered:
            answered += reading.exchange(writer, window(0), 2 * S)
    assert answered.replace(ack(0), b"") == CLOSED
    assert len(answered) >= 29 * len(ack(0))
    reading.run(3 * S)
    assert reading.counted("rejects-timeout") == 1


@pytest.mark.parametrize(
    "flood",
    [window(0) * 1000, compressed(window(0) * 1000), compressed(b""), window(9, b"1")],
    ids=["windows", "compressed windows", "nothing, compressed", "a window of version 1"],
)
def test_bytes_without_events_are_no_sign_of_life(reading, flood):
    writer = reading.dial()
    answered = b""
    for _ in range(70):
        if not answered.endswith(CLOSED):
            answered += reading.exchange(writer, flood, 1 * S)
    assert answered.endswith(CLOSED)


def test_a_part_of_a_frame_is_no_sign_of_life(reading):
    writer = reading.dial()
    answered = reading.exchange(writer, window(0) + window(0)[:1], 1 * S)
    for _ in range(100):
        if not answered.endswith(CLOSED):
            answered += reading.exchange(writer, window(0)[1:] + window(0)[:1], 1 * S)
    assert answered.endswith(CLOSED)


def test_a_connection_that_sends_events_is_not_idle(reading):
    writer = reading.dial()
    for _ in range(35):
        assert reading.exchange(writer, window(1) + events(1), 2 * S) == ack(1)


def test_a_connection_without_events_is_evicted(few):
    busy = dial(few, "10.0.0.1", window(1) + events(1))
    silent = [dial(few, f"10.0.1.{number}", window(0)) for number in range(3)]
    few.run(4 * S)
    few.exchange(busy, window(1) + events(1))
    few.run(2 * S)

    honest = dial(few, "10.0.0.2", window(1) + events(1))

    assert received_by(honest) == ack(1)
    # The one that has been silent for longest.
    assert [is_refused(writer) for writer in silent] == [True, False, False]
    assert few.counted("evicted") == 1
    assert few.counted("connections") == 4
    few.run(2 * S)
    assert any("after no event for longer than eviction-timeout=" in text for text in few.errors())


def test_a_connection_that_has_sent_events_is_evicted_last(few):
    writers = [dial(few, f"10.0.0.{number}", window(1) + events(1)) for number in range(3)]
    few.run(20 * S)
    silent = dial(few, ATTACKER, window(0))
    few.run(6 * S)

    newcomers = [dial(few, f"10.0.1.{number}", window(1) + events(1)) for number in range(2)]

    assert [received_by(writer) for writer in newcomers] == [ack(1)] * 2
    assert is_refused(silent)
    assert [is_refused(writer) for writer in writers] == [True, False, False]


def test_a_flood_of_connections_does_not_evict_all_idle_ones_at_once(few):
    for number in range(4):
        dial(few, f"10.0.0.{number}", window(1) + events(1))
    few.run(6 * S)

    flood = [few.dial(f"10.0.1.{number}") for number in range(4)]
    few.run(10 * MS)

    assert few.counted("evicted") == 1
    assert [is_refused(writer) for writer in flood].count(True) == 3


def test_no_connection_is_evicted_within_the_timeout(few):
    writers = [dial(few, f"10.0.0.{number}") for number in range(4)]
    few.run(3 * S)
    assert is_refused(dial(few, "10.0.1.1"))
    assert not any(is_refused(writer) for writer in writers)
    assert few.counted("evicted") == 0


def test_a_writer_that_waits_for_subscribers_is_not_evicted(few):
    few.is_polling = False
    writers = [dial(few, f"10.0.0.{number}", window(1) + events(1)) for number in range(4)]
    few.run(20 * S)
    assert is_refused(dial(few, "10.0.1.1", window(1) + events(1)))
    few.is_polling = True
    few.run(100 * MS)
    assert [received_by(writer).endswith(ack(1)) for writer in writers] == [True] * 4
