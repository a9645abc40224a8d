"""Subscribers of a Lumberjack channel: several, late, none, and channels that contradict each other."""

from __future__ import annotations

import pytest
from plain_codec import ack, window
from reading import ADDRESS, KEEP_ALIVE, Reading, events

from aeron_core.errors import RegistrationError
from aeron_core.protocol import commands
from aeron_core.testing.pair import S

INTERVALS = (
    "keep-alive",
    "window-timeout",
    "idle-timeout",
    "write-timeout",
    "timeout",
    "backoff-init",
    "backoff-max",
)


def test_each_stream_gets_all_events_and_all_must_consume_them(tmp_path):
    with Reading(tmp_path, stream_ids=(7, 8)) as reading:
        writer = reading.dial()
        assert reading.exchange(writer, window(2) + events(1, 2)) == ack(2)
        assert sorted((event.stream_id, event.sequence) for event in reading.events) == [
            (7, 1),
            (7, 2),
            (8, 1),
            (8, 2),
        ]
        one = reading.subscriptions.pop()
        assert reading.exchange(writer, window(1) + events(1)) == b""
        one.poll(lambda *_: None, 10)
        assert reading.exchange(writer, b"") == ack(1)


def test_a_later_subscription_joins(reading):
    writer = reading.dial()
    reading.exchange(writer, window(1) + events(1))
    reading.subscriptions.append(reading.subscribe(9))
    reading.run(2 * S)
    assert reading.exchange(writer, window(1) + events(2)) == ack(2)
    assert [(event.stream_id, event.sequence) for event in reading.events] == [(7, 1), (7, 2), (9, 2)]


def test_without_subscribers_the_writer_is_disconnected_unacknowledged(tmp_path):
    with Reading(tmp_path, stream_ids=()) as reading:
        keeper = reading.subscribe(5, "|session-id=1")
        client = reading.driver.connect()
        subscription = reading.subscribe(7, client=client)
        writer = reading.dial()
        reading.run()
        assert reading.exchange(writer, window(1) + events(1)) == b""
        assert subscription.images
        reading.driver.abandon(client)
        reading.run(15 * S)
        assert ack(1) not in (answered := _until_reset(writer))
        assert set(answered) <= set(KEEP_ALIVE)
        assert reading.counted("abandoned") == 1
        assert keeper.images == ()


def _until_reset(writer):
    answered = b""
    try:
        while data := writer.receive(1 << 20):
            answered += data
    except ConnectionResetError:
        return answered
    raise AssertionError("the connection was not reset")


def test_rejecting_the_image_disconnects_the_writer(reading):
    writer = reading.dial()
    reading.exchange(writer, window(1) + events(1))
    image_id = reading.subscriptions[0].images[0].correlation_id
    operations = reading.client._operations
    reading.result(operations.command("reject", commands.RejectImage, image_id, 0, "not you"))
    reading.run(2 * S)
    assert _until_reset(writer) == b""
    assert any("a subscriber has rejected its image" in error for error in reading.errors())


def test_connections_beyond_the_maximum_are_refused(tmp_path):
    with Reading(tmp_path, "|max-connections=2") as reading:
        writers = [reading.dial() for _ in range(3)]
        reading.run()
        assert [writer.failure != 0 for writer in writers] == [False, False, True]
        assert reading.counted("rejects-connections") == 1
        writers[0].close()
        reading.run(3 * S)
        assert reading.exchange(reading.dial(), window(1) + events(1)) == ack(1)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("", "endpoint"),
        ("endpoint=127.0.0.1:5044|ack=soon", "ack"),
        ("endpoint=127.0.0.1:5044|max-nesting=9", "max-nesting=9 in .*: must be from 0 to 4 "),
        ("endpoint=127.0.0.1:5044|max-event=1", "max-event=1 in .*: must be from 2 to 2147483647 bytes"),
        ("endpoint=127.0.0.1:5044|max-window=x", "max-window=x in .*: must be a valid integer"),
        ("endpoint=127.0.0.1:5044|max-memory=8x", "max-memory=8x in '[^']*': must be a whole decimal number"),
        ("endpoint=127.0.0.1:5044|mtu=32", "mtu=32"),
        *((f"endpoint=127.0.0.1:5044|{key}=0", f"{key}=0 in .*: must be at least 1ms") for key in INTERVALS),
    ],
)
def test_a_wrong_channel_is_refused_with_its_key(tmp_path, keys, named):
    with Reading(tmp_path, stream_ids=()) as reading, pytest.raises(RegistrationError, match=named):
        reading.result(reading.client.add_subscription_async(f"aeron:lumberjack?{keys}", 7))


def test_an_address_in_use_is_refused(tmp_path):
    with Reading(tmp_path, stream_ids=()) as reading:
        reading.connections.serve(ADDRESS)
        with pytest.raises(RegistrationError, match=r"cannot listen at 127\.0\.0\.1:5044"):
            reading.subscribe(7)


@pytest.mark.parametrize(
    ("existing", "asked", "named"),
    [
        (
            "|ack=received",
            "",
            "ack=consumed in .*: must be received, as in the channels that already share this address",
        ),
        ("", "|ack=received", "ack=received in .*: must be consumed, as in the channels"),
        (
            "|max-connections=2",
            "|max-connections=3",
            "max-connections=3 in .*: must be 2, as in the channels",
        ),
        ("", "|idle-timeout=90s", "idle-timeout=90s in .*: must be 60s, as in the channels"),
        ("", "|rcv-wnd=64k", r"rcv-wnd=64k in .*: must be \(unset\), as in the channels"),
        ("|term-length=1m", "", "term-length=8m in .*: must be 1m, as in the channels"),
    ],
)
def test_subscriptions_to_an_address_must_agree_on_parameters(tmp_path, existing, asked, named):
    with Reading(tmp_path, existing) as reading:
        with pytest.raises(RegistrationError, match=named):
            reading.subscribe(8, asked)
        assert reading.subscribe(8, existing + "|window=7|alias=other")


def test_streams_beyond_the_maximum_are_refused(tmp_path):
    with Reading(tmp_path, stream_ids=range(16)) as reading:
        with pytest.raises(
            RegistrationError,
            match=r"stream id 16 of .*: the number of other streams .* is 16: must be at most 15",
        ):
            reading.subscribe(16)
        reading.subscriptions.append(reading.subscribe(15))
        assert reading.exchange(reading.dial(), window(1) + events(1), 1 * S) == ack(1)
        assert sorted(event.stream_id for event in reading.events) == [*range(16), 15]


def test_a_tag_cannot_share_an_endpoint_with_other_parameters(tmp_path):
    with Reading(tmp_path, stream_ids=()) as reading:
        channel = "aeron:lumberjack?endpoint=127.0.0.1:5050|tags=3"
        reading.result(reading.client.add_exclusive_publication_async(f"{channel}|window=7", 1))
        with pytest.raises(RegistrationError, match=r"tags=3 in .*: selects the endpoint of .*window=7"):
            reading.result(reading.client.add_exclusive_publication_async(f"{channel}|window=8", 1))
        assert reading.result(reading.client.add_exclusive_publication_async(f"{channel}|window=7", 1))
