"""Timestamps that drivers write into frames: times of sending and of reception."""

import pytest

from aeron_core.errors import AeronError
from aeron_core.testing import SimulatedLink
from aeron_core.testing.pair import MS

ENDPOINT = "aeron:udp?endpoint=10.0.0.2:20121"
LATENCY_NS = 5 * MS
#: Rounds of the simulation between the two ends.
SLACK_NS = 3 * MS


@pytest.fixture
def pair(start_pair):
    return start_pair(link=SimulatedLink(latency_ns=LATENCY_NS))


def run(pair, messages, *, sent="", received=""):
    """Return the received (payload, reserved value) pairs, and the epoch times of the offers."""
    subscription = pair.add_subscription(ENDPOINT + received, 1001)
    publication = pair.add_exclusive_publication(f"{ENDPOINT}|mtu=1408{sent}", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    arrived = []
    offered_ns = pair.clock.epoch_ns()
    for message in messages:
        assert publication.offer(message) > 0

    def poll():
        subscription.poll(lambda buffer, header: arrived.append((bytes(buffer), header.reserved_value)), 10)
        return len(arrived)

    pair.run_until(lambda: poll() >= len(messages))
    pair.run_for(50 * MS, each=poll)
    return arrived, offered_ns


def time_in(payload, offset=0):
    return int.from_bytes(payload[offset : offset + 8], "little")


def test_the_time_of_sending_is_in_the_reserved_value(pair):
    arrived, offered_ns = run(pair, [b"x" * 10] * 3, sent="|channel-snd-ts-offset=reserved")

    assert [payload for payload, _ in arrived] == [b"x" * 10] * 3
    # Only the first frame of each datagram: the three were sent in one.
    times = [reserved for _, reserved in arrived]
    assert 0 <= times[0] - offered_ns <= SLACK_NS
    assert times[1:] == [0, 0]


def test_the_time_of_sending_is_at_its_offset_in_the_payload(pair):
    arrived, offered_ns = run(pair, [b"x" * 1300] * 3, sent="|channel-snd-ts-offset=4")

    for payload, reserved in arrived:
        assert 0 <= time_in(payload, 4) - offered_ns <= SLACK_NS
        assert payload[:4] + payload[12:] == b"x" * 1292
        assert reserved == 0


def test_each_datagram_of_a_long_message_has_the_time_of_sending(pair):
    arrived, offered_ns = run(pair, [b"x" * 5000], sent="|channel-snd-ts-offset=reserved")

    assert len(arrived) == 4
    assert all(0 <= reserved - offered_ns <= SLACK_NS for _, reserved in arrived)


def test_a_frame_too_short_for_a_timestamp_is_not_changed(pair):
    arrived, _ = run(
        pair, [b"short"], sent="|channel-snd-ts-offset=0", received="|channel-rcv-ts-offset=2147483647"
    )

    assert arrived == [(b"short", 0)]


@pytest.mark.parametrize("key", ["channel-rcv-ts-offset", "media-rcv-ts-offset"])
def test_the_time_of_reception_is_in_each_frame_that_begins_a_message(pair, key):
    arrived, offered_ns = run(pair, [b"x" * 10] * 3, received=f"|{key}=reserved")

    assert [payload for payload, _ in arrived] == [b"x" * 10] * 3
    for _, reserved in arrived:
        assert LATENCY_NS <= reserved - offered_ns <= LATENCY_NS + SLACK_NS


def test_only_the_first_fragment_of_a_long_message_has_the_time_of_reception(pair):
    arrived, offered_ns = run(pair, [b"x" * 5000], received="|channel-rcv-ts-offset=reserved")

    times = [reserved for _, reserved in arrived]
    assert LATENCY_NS <= times[0] - offered_ns <= LATENCY_NS + SLACK_NS
    assert times[1:] == [0, 0, 0]


def test_all_three_times_are_in_one_frame(pair):
    arrived, offered_ns = run(
        pair,
        [b"x" * 40],
        sent="|channel-snd-ts-offset=reserved",
        received="|channel-rcv-ts-offset=0|media-rcv-ts-offset=32",
    )

    ((payload, reserved),) = arrived
    assert 0 <= reserved - offered_ns <= SLACK_NS
    assert time_in(payload, 0) - reserved >= LATENCY_NS
    assert time_in(payload, 32) - reserved >= LATENCY_NS
    assert payload[8:32] == b"x" * 24


def test_a_retransmission_has_a_new_time_of_sending(pair):
    subscription = pair.add_subscription(ENDPOINT, 1001)
    publication = pair.add_publication(f"{ENDPOINT}|channel-snd-ts-offset=reserved", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    publication.offer(b"lost")
    pair.run_for(10 * MS)
    pair.network.set_link(SimulatedLink(latency_ns=LATENCY_NS), destination=pair.RECEIVER)
    healed_ns = pair.clock.epoch_ns()
    publication.offer(b"after the gap")
    times = []
    pair.run_until(
        lambda: (subscription.poll(lambda _, header: times.append(header.reserved_value), 10), times)[1]
    )

    assert times[0] > healed_ns


@pytest.mark.parametrize("key", ["channel-rcv-ts-offset", "media-rcv-ts-offset"])
@pytest.mark.parametrize("is_subscriptions", [True, False], ids=["subscription", "destination"])
def test_destinations_take_the_times_of_reception_from_their_subscription(pair, key, is_subscriptions):
    option = f"|{key}=reserved"
    subscription = pair.add_subscription(
        "aeron:udp?control-mode=manual" + (option if is_subscriptions else ""), 1001
    )
    for channel in (ENDPOINT, "aeron:udp?endpoint=10.0.0.2:20122"):
        pair.result(subscription.add_destination_async(channel + ("" if is_subscriptions else option)))
    arrived = []
    publications = [
        pair.add_exclusive_publication(channel, 1001)
        for channel in (ENDPOINT, "aeron:udp?endpoint=10.0.0.2:20122")
    ]
    pair.run_until(lambda: all(publication.is_connected for publication in publications))
    offered_ns = pair.clock.epoch_ns()
    for publication in publications:
        assert publication.offer(b"x" * 10) > 0

    pair.run_until(
        lambda: (subscription.poll(lambda _, h: arrived.append(h.reserved_value), 10), len(arrived) == 2)[1]
    )

    if is_subscriptions:
        assert all(LATENCY_NS <= time_ns - offered_ns <= LATENCY_NS + SLACK_NS for time_ns in arrived)
    else:
        assert arrived == [0, 0]


@pytest.mark.parametrize(
    "key", ["channel-rcv-ts-offset", "media-rcv-ts-offset"], ids=["by the driver", "by the kernel"]
)
@pytest.mark.parametrize(("first", "second"), [("reserved", None), (None, "8"), ("0", "8")])
def test_subscriptions_that_share_an_endpoint_agree_on_times_of_reception(pair, key, first, second):
    pair.add_subscription(ENDPOINT + (f"|{key}={first}" if first else ""), 1001)

    with pytest.raises(
        AeronError,
        match=f"option conflicts with existing subscription: {key}={second or '-1 .not specified.'} +existingChannel=",
    ):
        pair.add_subscription(ENDPOINT + (f"|{key}={second}" if second else ""), 1002)


def test_publications_that_share_an_endpoint_agree_on_times_of_sending(pair):
    pair.add_publication(f"{ENDPOINT}|channel-snd-ts-offset=reserved", 1001)
    pair.add_publication(f"{ENDPOINT}|channel-snd-ts-offset=reserved", 1002)

    with pytest.raises(
        AeronError, match=r"option conflicts .*: channel-snd-ts-offset=-1 \(not specified\) existingChannel="
    ):
        pair.add_publication(ENDPOINT, 1003)
