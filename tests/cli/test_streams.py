"""Streams of a driver, from its counters."""

import json

import pytest

import aeron_core
from aeron_core.cli.tools.stream_positions import lag, streams_of
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner, owner_of
from aeron_core.concurrent.counters import CounterRecord

CHANNEL = "aeron:udp?endpoint=localhost:20121"


def record(type_id, name, value, owner, *, reference_id=0, suffix=""):
    label = f"{name}: {owner.registration_id} {owner.session_id} {owner.stream_id} {owner.channel}{suffix}"
    return CounterRecord(
        id=value, state=1, type_id=type_id, free_for_reuse_deadline_ms=0, key=owner.key().ljust(112, b"\0"),
        label=label, value=value, registration_id=owner.registration_id, owner_id=-1, reference_id=reference_id,
    )  # fmt: skip


def both_sides(publication=3, image=5, subscription=9):
    sent = CounterOwner(publication, 7, 1001, CHANNEL)
    received = CounterOwner(image, 7, 1001, CHANNEL)
    read = CounterOwner(subscription, 7, 1001, CHANNEL)
    return [
        record(types.SUBSCRIBER_POSITION, "sub-pos", 500, read, reference_id=image, suffix=" @0"),
        record(types.PUBLISHER_POSITION, "pub-pos", 1000, sent),
        record(types.PUBLISHER_LIMIT, "pub-lmt", 4000, sent),
        record(types.SENDER_POSITION, "snd-pos", 900, sent),
        record(types.SENDER_LIMIT, "snd-lmt", 950, sent),
        record(types.RECEIVER_HWM, "rcv-hwm", 800, received),
        record(types.RECEIVER_POSITION, "rcv-pos", 700, received),
    ]


def test_all_parties_of_a_session_are_one_stream():
    (stream,) = streams_of(both_sides())

    (publication,) = stream.publications.values()
    (image,) = stream.images.values()
    assert (publication.position, publication.limit, publication.sender_limit) == (1000, 4000, 950)
    assert (stream.sent_position, image.high_water_mark, image.position) == (900, 800, 700)
    assert [subscriber.position for subscriber in image.subscribers] == [500]


def test_subscribers_of_a_publication_are_found_by_their_reference():
    sent = CounterOwner(3, 7, 1001, "aeron:ipc")
    read = CounterOwner(4, 7, 1001, "aeron:ipc")
    (stream,) = streams_of(
        [
            record(types.SUBSCRIBER_POSITION, "sub-pos", 32, read, reference_id=3),
            record(types.PUBLISHER_POSITION, "pub-pos", 64, sent),
        ]
    )

    (publication,) = stream.publications.values()
    assert [subscriber.position for subscriber in publication.subscribers] == [32]
    assert stream.images == {}


def test_a_lag_is_never_negative_and_unknown_if_a_position_is():
    assert lag(10, 4) == 6
    assert lag(4, 10) == 0
    assert lag(None, 4) is None


def test_a_long_channel_is_read_from_the_label():
    channel = f"aeron:udp?endpoint=localhost:20121|alias={'x' * 100}"
    owner = CounterOwner(3, 7, 1001, channel)

    assert owner_of(record(types.SUBSCRIBER_POSITION, "sub-pos", 1, owner, suffix=" @0")).channel == channel
    assert owner_of(record(types.PUBLISHER_POSITION, "pub-pos (concurrent)", 1, owner)).channel == channel


@pytest.mark.parametrize("length", [-1, 93, 1 << 30])
def test_a_key_that_does_not_belong_to_a_stream_is_ignored(length):
    owner = CounterOwner(3, 7, 1001, CHANNEL)
    broken = record(types.PUBLISHER_LIMIT, "pub-lmt", 1, owner)
    key = broken.key[:16] + length.to_bytes(4, "little", signed=True) + broken.key[20:]

    assert owner_of(CounterRecord(**{**_fields(broken), "key": key})) is None


def _fields(record):
    return {name: getattr(record, name) for name in record.__slots__}


@pytest.fixture
def ipc(tmp_path):
    """A driver with one IPC stream: 10 messages of 64 bytes including headers, 4 of them read."""
    settings = {
        "aeron_dir": tmp_path / "driver",
        "ipc_term_buffer_length": "64k",
        "counters_buffer_length": "1m",
    }
    with (
        aeron_core.MediaDriver.launch(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_subscription("aeron:ipc", 8) as subscription,
        client.add_publication("aeron:ipc", 8) as publication,
    ):
        publication.await_connected(timeout=30)
        subscription.await_connected(timeout=30)
        for number in range(10):
            assert publication.offer(b"message %d" % number) > 0
        assert subscription.poll(lambda buffer, header: None, 4) == 4
        yield driver.aeron_dir, publication


def test_the_table_shows_the_lag_of_each_party(ipc, aeron):
    directory, publication = ipc

    out = aeron("streams", "-d", directory).out

    assert f"stream 8  session {publication.session_id}  aeron:ipc" in out
    assert "behind pub-pos" in out
    assert " 256 " in out


def test_streams_are_shown_as_json(ipc, aeron):
    directory, publication = ipc

    (stream,) = json.loads(aeron("streams", "--json", "-d", directory, "--stream", 8).out)

    assert stream["session_id"] == publication.session_id
    (sent,) = stream["publications"]
    assert [subscriber["position"] for subscriber in sent["subscribers"]] == [256]
    assert json.loads(aeron("streams", "--json", "-d", directory, "--stream", 9).out) == []
    assert json.loads(aeron("streams", "--json", "-d", directory, "--session", 1).out) == []


def test_the_backlog_shows_unread_bytes_and_the_publisher_window(ipc, aeron):
    directory, _ = ipc

    (stream,) = json.loads(aeron("backlog", "--json", "-d", directory).out)

    publisher, subscriber = stream["parties"]
    assert (publisher["role"], subscriber["role"]) == ("publisher", "subscriber")
    assert subscriber["position"] == 256
    assert publisher["window"] > 0
    assert "subscriber" in aeron("backlog", "-d", directory).out


def test_stat_shows_only_selected_counters(ipc, aeron):
    directory, publication = ipc

    def labels(*options):
        return [
            counter["label"].partition(":")[0]
            for counter in json.loads(aeron("stat", "--json", "-d", directory, *options).out)["counters"]
        ]

    assert labels("--type", "sub-pos") == ["sub-pos"]
    assert labels("--type", "1") == ["pub-lmt"]
    assert sorted(labels("--stream", 8)) == ["pub-lmt", "pub-pos (concurrent)", "sub-pos"]
    assert labels("--session", publication.session_id, "--type", 4) == ["sub-pos"]
    assert labels("--stream", 9) == []
