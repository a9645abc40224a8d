"""Floods of datagrams: the work and memory that they can cause in a driver are bounded."""

import pytest

from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM = {"session_id": 77, "stream_id": 1001}
TERM = 64 * 1024
STRANGER = "10.0.0.9:40000"


@pytest.fixture
def pair(start_pair):
    # Not connected: the socket of a sender receives datagrams from any address.
    return start_pair(driver_connect=False)


def setup(session_id, mtu=1408):
    return encode_frame(Setup(session_id=session_id, stream_id=1001, term_length=TERM, mtu=mtu))


def sm(receiver_id):
    return encode_frame(StatusMessage(receiver_id=receiver_id, receiver_window=1024, **STREAM))


def flood_with_receivers(pair, to_sender):
    # Nothing was published yet, so all of them carry the position of the stream.
    for start in range(0, 5000, 500):
        to_sender.send(*[sm(receiver_id=100 + start + n) for n in range(500)])
        pair.run_for(10 * MS)


def test_a_flood_of_receivers_is_tracked_up_to_a_limit_and_logged_once(pair, stream, to_sender):
    flood_with_receivers(pair, to_sender)

    # One of the tracked receivers is the real one.
    assert pair.sender.counted("status_messages_rejected") == 5000 - 4095
    (record,) = pair.sender.errors()
    assert record.text == (
        "(11) more than 4096 receivers of a stream: status messages of further receivers are ignored until a tracked "
        "one times out; divide a larger group among several streams"
    )
    assert record.observation_count == 1
    assert stream.arrives_once_and_in_order()


def test_a_receiver_is_tracked_again_once_those_of_a_flood_timed_out(pair, stream, to_sender):
    flood_with_receivers(pair, to_sender)
    pair.run_for(6 * S)
    rejected = pair.sender.counted("status_messages_rejected")

    to_sender.send(sm(receiver_id=9))
    pair.run_for(1 * MS)

    assert pair.sender.counted("status_messages_rejected") == rejected


def test_a_flood_of_naks_does_not_duplicate_received_messages(pair, stream, to_sender):
    for _ in range(100):
        stream.run_for(1 * MS)
        for frame in frames_of(DataHeader, pair.sent()[-8:]):
            length = TERM - frame.term_offset
            nak = Nak(term_id=frame.term_id, term_offset=frame.term_offset, length=length, **STREAM)
            to_sender.send(encode_frame(nak))

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted("retransmits_sent") > 100


def test_a_flood_of_setups_creates_no_more_images_than_the_session_limit(start_pair, visit):
    pair = start_pair(driver_connect=False, stream_session_limit=4)
    stream = visit(pair)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))

    stranger.send(*[setup(session_id=1000 + n) for n in range(100)])
    stream.run_for(200 * MS)

    assert len(pair.receiver.find_counters("rcv-hwm")) == 4
    (record,) = pair.receiver.errors()
    assert record.text == (
        "(11) exceeded session limit, stream-id=1001: at most 4 images of a stream id; raise stream_session_limit"
    )
    assert record.last_peer == STRANGER
    assert stream.arrives_once_and_in_order()


def test_a_sender_beyond_the_session_limit_is_refused_at_most_once_a_second(start_pair, visit):
    pair = start_pair(driver_connect=False, stream_session_limit=1)
    visit(pair)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))

    for _ in range(25):
        stranger.send(*[setup(session_id=1000)] * 10)
        pair.run_for(100 * MS)

    (record,) = pair.receiver.errors()
    assert record.observation_count == 3


def test_a_refused_sender_is_accepted_once_a_session_has_ended(start_pair):
    pair = start_pair(driver_connect=False, stream_session_limit=1)
    pair.add_subscription(CHANNEL, 1001)
    first, second = (pair.add_exclusive_publication(CHANNEL, 1001) for _ in range(2))
    pair.run_until(lambda: first.is_connected)
    pair.run_for(3 * S)
    assert not second.is_connected

    first.close()

    pair.run_until(lambda: second.is_connected)


def test_a_flood_of_sessions_does_not_block_a_new_stream(pair, stream, to_receiver):
    pair.add_subscription(f"{CHANNEL}|session-id=5", 2000)
    for start in range(0, 5000, 500):
        to_receiver.send(*[data_frame(b"x", session_id=100 + start + n, stream_id=2000) for n in range(500)])
        stream.run_for(1 * MS)

    publication = pair.add_publication(f"{CHANNEL}|session-id=5", 2000)

    pair.run_until(lambda: publication.is_connected)
    assert stream.arrives_once_and_in_order()


def test_sessions_without_a_setup_do_not_block_a_new_stream(pair, stream, to_receiver):
    pair.add_subscription(CHANNEL, 2000)
    for start in range(0, 5000, 500):
        to_receiver.send(*[data_frame(b"x", session_id=100 + start + n, stream_id=2000) for n in range(500)])
        stream.run_for(1 * MS)

    publication = pair.add_publication(CHANNEL, 2000)

    assert pair.run_until(lambda: publication.is_connected) > 900 * MS
    assert stream.arrives_once_and_in_order()


def test_logs_of_images_that_cannot_be_created_are_removed_during_a_flood(start_pair):
    pair = start_pair(resource_free_limit=1, awaited_images_limit=1000, awaited_images_source_limit=1000)
    pair.add_subscription(CHANNEL, 1001)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))
    counts = []

    stranger.send(*[setup(session_id=session_id, mtu=65504) for session_id in range(1000)])
    pair.run_for(20 * MS, each=lambda: counts.append(len(pair.receiver.log_files())))

    assert pair.receiver.counted("errors") == 1000
    assert 200 < max(counts) <= 256
    assert counts[-1] == 0
