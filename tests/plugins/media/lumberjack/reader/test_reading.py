"""Writers and a listening driver, on a simulated network and a manual clock."""

from __future__ import annotations

from aeron_media.connections.image_keys import longest_message
from plain_codec import ack, compressed, data_event, window
from reading import CHANNEL, CLOSED, KEEP_ALIVE, Reading, events, received_by

from aeron_core.testing.pair import MS, S

PAIRS = [(b"line", b"l")]
ONE = data_event(1, PAIRS)


def test_an_event_becomes_an_identical_message(reading):
    writer = reading.dial()
    reading.exchange(writer, window(2) + events(41, payload=b'{ "a" : 1 }') + data_event(42, [(b"k", b"v")]))
    first, second = reading.events
    assert (first.payload, first.sequence) == (b'{ "a" : 1 }', 41)
    assert (second.payload, second.sequence) == (b'{"k":"v"}', 42)


def test_a_connection_has_an_image_while_it_is_open(reading):
    one, other = reading.dial(), reading.dial()
    reading.exchange(one, window(1) + events(1))
    reading.exchange(other, window(1) + events(1))
    (subscription,) = reading.subscriptions
    assert {image.source_identity for image in subscription.images} == {str(one.address), str(other.address)}
    assert len({event.session_id for event in reading.events}) == 2
    one.close()
    reading.run(20 * S)
    assert [image.source_identity for image in subscription.images] == [str(other.address)]


def test_a_connection_without_data_leaves_no_trace(reading):
    writer = reading.dial()
    reading.run()
    writer.close()
    reading.run()
    assert reading.subscriptions[0].images == ()
    assert reading.errors() == []
    assert reading.counted("connections") == 0
    assert reading.counted("accepted") == 1


def test_events_are_acknowledged_after_subscribers_consume_them(reading):
    writer = reading.dial()
    reading.exchange(writer, window(1) + events(1))
    reading.is_polling = False
    assert reading.exchange(writer, window(3) + events(1, 2, 3), 3 * S) == b""
    subscription = reading.subscriptions[0]
    subscription.poll(lambda *_: None, 2)
    assert reading.exchange(writer, b"", 1 * S) == b""
    subscription.poll(lambda *_: None, 1)
    assert reading.exchange(writer, b"", 1 * S) == ack(3)


def test_the_slowest_subscriber_determines_acknowledgements(reading):
    late = reading.subscribe(7, client=reading.driver.connect())
    writer = reading.dial()
    assert reading.exchange(writer, window(1) + events(1)) == b""
    late.poll(lambda *_: None, 10)
    assert reading.exchange(writer, b"") == ack(1)


def test_a_received_window_can_be_acknowledged_at_once(tmp_path):
    with Reading(tmp_path, "|ack=received") as reading:
        reading.is_polling = False
        assert reading.exchange(reading.dial(), window(2) + events(1, 2)) == ack(2)


def test_windows_can_be_acknowledged_in_part(tmp_path):
    with Reading(tmp_path, "|ack-partial=true") as reading:
        writer = reading.dial()
        assert reading.exchange(writer, window(3) + events(1)) == ack(1)
        assert reading.exchange(writer, events(2, 3)) == ack(3)


def test_a_window_beyond_the_maximum_is_acknowledged_in_parts(tmp_path):
    with Reading(tmp_path, "|max-window=2") as reading:
        assert reading.exchange(reading.dial(), window(5) + events(1, 2, 3, 4, 5)) == ack(2) + ack(4) + ack(5)


def test_a_waiting_writer_gets_keep_alives(reading):
    writer = reading.dial()
    reading.is_polling = False
    assert reading.exchange(writer, window(1) + events(1), 11 * S) == KEEP_ALIVE * 2
    reading.is_polling = True
    assert reading.exchange(writer, b"") == ack(1)


def test_keep_alives_begin_only_after_the_interval(reading):
    writer = reading.dial()
    reading.exchange(writer, window(1) + events(1))
    reading.exchange(writer, b"", 30 * S)
    reading.is_polling = False
    assert reading.exchange(writer, window(1) + events(1), 4 * S) == b""
    assert reading.exchange(writer, b"", 2 * S) == KEEP_ALIVE


def test_a_window_without_events_has_its_own_acknowledgement(reading):
    writer = reading.dial()
    reading.is_polling = False
    # Implicit windows, two and three, would share an acknowledgement.
    reading.exchange(writer, window(1) + events(1, 2) + window(0) + events(3))
    reading.is_polling = True
    assert reading.exchange(writer, b"") == ack(1) + ack(2) + ack(0) + ack(3)


def test_a_writer_of_version_1_gets_no_keep_alives(reading):
    reading.is_polling = False
    assert reading.exchange(reading.dial(), window(1, b"1") + ONE, 11 * S) == b""


def test_a_writer_of_version_1_gets_keep_alives_on_request(tmp_path):
    with Reading(tmp_path, "|keep-alive-v1=true|keep-alive=1s") as reading:
        reading.is_polling = False
        assert reading.exchange(reading.dial(), window(1, b"1") + ONE, 2500 * MS) == ack(0, b"1") * 2


def test_one_window_for_a_whole_connection_of_version_1_is_acknowledged_when_it_pauses(reading):
    writer = reading.dial()
    lines = b"".join(data_event(sequence, PAIRS) for sequence in range(1, 6))
    assert reading.exchange(writer, window(1000, b"1") + lines, 1 * S) == ack(5, b"1")
    assert reading.exchange(writer, data_event(6, PAIRS), 1 * S) == ack(6, b"1")


def test_last_events_are_acknowledged_after_the_writer_ends(reading):
    writer = reading.dial()
    reading.is_polling = False
    writer.send(window(2) + compressed(events(1, 2)))
    writer.end()
    reading.run(2 * S)
    assert received_by(writer) == b""
    reading.is_polling = True
    reading.run(4 * S)
    assert received_by(writer) == ack(2) + CLOSED


def test_events_before_a_fault_are_acknowledged(reading):
    assert reading.exchange(reading.dial(), window(1) + events(1) + b"2Z\0\0\0\0", 3 * S) == ack(1) + CLOSED


def test_a_fault_is_reported_with_the_address_of_the_writer(reading):
    writer = reading.dial()
    reading.exchange(writer, b"2Z\0\0\0\0", 5 * S)
    (error,) = reading.driver.errors()
    assert f"connection on {CHANNEL}: frame of a type that this side never receives" in error.text
    assert error.last_peer == str(writer.address)
    assert reading.counted("rejects-malformed") == 1


def test_faults_with_values_of_many_writers_are_one_entry_and_the_values_are_in_the_event_log(tmp_path):
    log = tmp_path / "events.log"
    with Reading(tmp_path, event_log="GENERIC_MESSAGE", event_log_filename=log) as reading:
        for frame_type in range(100, 105):
            writer = reading.dial()
            reading.exchange(writer, bytes([50, frame_type, 0, 0, 0, 0]), 3 * S)
        (error,) = reading.driver.errors()
        assert error.observation_count == 5
        assert error.last_peer == str(writer.address)

    *_, last = log.read_text().splitlines()
    assert f" GENERIC_MESSAGE: source={writer.address} detail='frame type 0x68' message=connection on" in last


def test_an_unfinished_window_ends_the_connection_after_the_timeout(reading):
    writer = reading.dial()
    assert reading.exchange(writer, window(5) + events(1, 2), 29 * S) == b""
    assert reading.exchange(writer, b"", 8 * S) == CLOSED
    assert reading.counted("rejects-timeout") == 1
    assert "the rest of a window or of a frame has not arrived" in reading.errors()[0]


def test_bytes_without_a_complete_event_do_not_keep_a_connection_alive(reading):
    writer = reading.dial()
    reading.exchange(writer, window(1) + events(1, payload=b"x" * 1000)[:10])
    answered = b""
    for _ in range(35):
        if CLOSED not in answered:
            answered += reading.exchange(writer, b"x", 1 * S)
    assert answered == CLOSED


def test_an_idle_connection_is_closed(reading):
    writer = reading.dial()
    assert reading.exchange(writer, window(1) + events(1)) == ack(1)
    assert reading.exchange(writer, b"", 58 * S) == b""
    assert reading.exchange(writer, b"", 8 * S) == CLOSED
    assert reading.errors() == []


def test_a_connection_that_waits_for_subscribers_is_not_idle(reading):
    writer = reading.dial()
    reading.is_polling = False
    assert CLOSED not in reading.exchange(writer, window(1) + events(1), 200 * S)
    reading.is_polling = True
    assert reading.exchange(writer, b"").endswith(ack(1))


def test_a_writer_that_reads_no_acknowledgements_is_disconnected(reading):
    writer = reading.dial()
    writer.capacity = 0
    reading.exchange(writer, window(1) + events(1), 29 * S)
    assert reading.counted("connections") == 1
    reading.run(5 * S)
    assert reading.counted("connections") == 0
    assert "has not read its acknowledgements" in reading.errors()[0]


def test_a_full_image_applies_back_pressure_without_loss(tmp_path):
    with Reading(tmp_path, "|term-length=64k") as reading:
        writer = reading.dial()
        reading.is_polling = False
        data = window(2000) + b"".join(events(n, payload=b'{"n":"%0200d"}' % n) for n in range(1, 2001))
        sent = 0
        for _ in range(100):
            sent += writer.send(data[sent:])
            reading.run(10 * MS)
        assert sent < len(data)
        reading.is_polling = True
        while sent < len(data):
            sent += writer.send(data[sent:])
            reading.run(10 * MS)
        reading.run()
        assert received_by(writer).endswith(ack(2000))
        assert [event.sequence for event in reading.events] == list(range(1, 2001))


def test_an_event_longer_than_a_frame_is_fragmented(tmp_path):
    with Reading(tmp_path, "|mtu=1408") as reading:
        payload = b'{"m":"' + b"x" * 5000 + b'"}'
        assert reading.exchange(reading.dial(), window(1) + events(1, payload=payload)) == ack(1)
        assert b"".join(reading.payloads()) == payload
        assert len(reading.events) == 4


def test_an_event_larger_than_any_image_is_refused(tmp_path):
    with Reading(tmp_path, "|term-length=64k") as reading:
        assert reading.exchange(reading.dial(), window(1) + events(1, payload=b"x" * 8193), 5 * S) == CLOSED
        assert "event is too long: at most 8192 bytes" in reading.errors()[0]
        assert reading.counted("rejects-limit") == 1


def test_an_event_larger_than_the_receiver_window_is_refused(tmp_path):
    with Reading(tmp_path, "|rcv-wnd=64k") as reading:
        assert reading.exchange(reading.dial(), window(1) + events(1, payload=b"x" * 32_737), 5 * S) == CLOSED
        assert "event is too long: at most 32736 bytes" in reading.errors()[0]
        assert "half of rcv-wnd=" in reading.errors()[0]


def test_the_longest_event_fits_wherever_a_term_ends(tmp_path):
    with Reading(tmp_path, "|rcv-wnd=8k|term-length=64k|mtu=1408") as reading:
        writer = reading.dial()
        longest = longest_message(65536, 1408, 8192)
        for sequence in range(1, 60):
            payload = b"x" * (longest if sequence % 2 else 40 * sequence)
            assert reading.exchange(writer, window(1) + events(sequence, payload=payload)) == ack(sequence)


def test_a_slot_that_had_a_fault_serves_the_next_writer(tmp_path):
    with Reading(tmp_path, "|max-connections=1") as reading:
        for _ in range(3):
            assert (
                reading.exchange(reading.dial(), window(1) + compressed(events(1))[:-4] + bytes(99), 3 * S)
                == CLOSED
            )
            reading.run(3 * S)
            writer = reading.dial()
            assert reading.exchange(writer, window(1) + compressed(events(1))) == ack(1)
            writer.close()
            reading.run(3 * S)


def test_windows_without_events_neither_extend_timeouts_nor_block(reading):
    writer = reading.dial()
    flood = compressed(window(1) * 100_000)
    assert writer.send(flood) == len(flood)
    reading.step()
    assert reading.counted("windows") <= 1024
    answered = b""
    for _ in range(70):
        if CLOSED not in answered:
            answered += reading.exchange(writer, window(1) * 10, 500 * MS)
    assert answered == CLOSED
    reading.run(3 * S)
    assert reading.counted("rejects-timeout") == 1
