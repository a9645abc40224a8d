"""Streams of a driver, from its counters."""

import pytest
from observed import CHANNEL, record, records_of

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner, owner_of
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.observation.streams import StreamKind, lag, streams_of


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


@pytest.mark.parametrize(
    ("channel", "positions", "kind"),
    [
        ("aeron:ipc", {"pub_pos": 1}, StreamKind.IPC),
        (CHANNEL, {"pub_pos": 1, "snd_pos": 1}, StreamKind.NETWORK),
        ("aeron:lumberjack?endpoint=localhost:5044", {"pub_pos": 1, "snd_pos": 1}, StreamKind.CONNECTION),
    ],
)
def test_the_kind_of_a_publication_follows_from_its_sender_and_medium(channel, positions, kind):
    (stream,) = streams_of(records_of(channel, **positions))

    (publication,) = stream.publications.values()
    assert publication.kind is kind


def test_a_subscriber_of_a_network_publication_is_a_spy():
    (stream,) = streams_of(records_of(pub_pos=10, snd_pos=10, spy=4, rcv_hwm=10, rcv_pos=10, sub_pos=3))

    (publication,), (image,) = stream.publications.values(), stream.images.values()
    assert [(reader.kind, reader.position) for reader in publication.subscribers] == [(StreamKind.SPY, 4)]
    assert [(reader.kind, reader.position) for reader in image.subscribers] == [(StreamKind.IMAGE, 3)]
    assert publication.slowest.position == 4


def test_windows_and_unsent_bytes_follow_from_positions():
    (stream,) = streams_of(records_of(pub_pos=1000, pub_lmt=4000, snd_pos=900, snd_lmt=950))

    (publication,) = stream.publications.values()
    assert (publication.publisher_window, publication.sender_window, publication.unsent) == (3000, 50, 100)


def test_the_window_of_cubic_is_part_of_its_image():
    (stream,) = streams_of(records_of(rcv_hwm=10, cubic=14080))

    (image,) = stream.images.values()
    assert image.window == 14080
