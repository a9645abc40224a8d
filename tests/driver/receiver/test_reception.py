"""Reaction of an image to the frames of a sender, which the test sends itself."""

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.testing import SimulatedPeer, Sink, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS

FRAME = 1024
MESSAGE = bytes(FRAME - 32)
FIELDS = {"session_id": 7, "stream_id": 1001}


@pytest.fixture
def receiver(start_driver):
    return start_driver()


@pytest.fixture
def peer(receiver):
    return SimulatedPeer(receiver.network, "10.0.0.9", 40000, ("127.0.0.1", 20121))


@pytest.fixture
def sink(receiver, peer):
    subscription = receiver.add_subscription("aeron:udp?endpoint=127.0.0.1:20121", 1001)
    setup = Setup(term_length=64 * 1024, mtu=1024, **FIELDS)
    peer.send(encode_frame(setup))
    receiver.run_until(lambda: subscription.is_connected)
    return Sink(subscription)


def data(offset, payload=MESSAGE, **fields):
    return data_frame(payload, term_offset=offset, **FIELDS | fields)


def test_data_beyond_half_a_term_is_an_over_run(receiver, peer, sink):
    peer.send(data(32 * 1024 - FRAME), data(32 * 1024))
    receiver.run_for(1 * MS)

    assert receiver.driver.counted("flow_control_over_runs") == 1
    assert receiver.driver.find_counter("rcv-hwm").value == 32 * 1024


def test_data_before_the_last_status_message_is_an_under_run(receiver, peer, sink):
    frames = [data(n * FRAME) for n in range(16)]
    peer.send(*frames)
    receiver.run_for(10 * MS, each=sink.poll)
    peer.send(frames[0])
    receiver.run_for(1 * MS, each=sink.poll)

    assert len(sink.all) == 16
    assert receiver.driver.counted("flow_control_under_runs") == 1


def test_duplicate_data_changes_nothing(receiver, peer, sink):
    peer.send(data(0, b"first"), data(0, b"other"))
    receiver.run_for(1 * MS, each=sink.poll)

    assert sink.all == [b"first"]


def test_a_heartbeat_beyond_the_data_reveals_a_gap(receiver, peer, sink):
    heartbeat = data_frame(frame_length=0, term_offset=2 * FRAME, **FIELDS)
    peer.send(data(0), heartbeat)
    receiver.run_for(1 * MS, each=sink.poll)

    assert {(nak.term_offset, nak.length) for nak in frames_of(Nak, peer.receive())} == {(FRAME, FRAME)}
    assert receiver.driver.counted("heartbeats_received") == 1


@pytest.mark.parametrize(("offset", "is_over_run"), [(63 * FRAME, False), (65 * FRAME, True)])
def test_a_heartbeat_more_than_half_a_term_beyond_the_window_is_an_over_run(
    receiver, peer, sink, offset, is_over_run
):
    peer.send(
        data_frame(
            frame_length=0, term_id=offset // (64 * FRAME), term_offset=offset % (64 * FRAME), **FIELDS
        )
    )
    receiver.run_for(1 * MS)

    assert receiver.driver.counted("flow_control_over_runs") == is_over_run
    assert receiver.driver.find_counter("rcv-hwm").value == (0 if is_over_run else offset)


@pytest.mark.parametrize(("offset", "is_over_run"), [(31 * FRAME, False), (32 * FRAME, True)])
def test_padding_must_begin_in_the_window_and_may_end_beyond_it(receiver, peer, sink, offset, is_over_run):
    length = 64 * FRAME - offset
    padding = data_frame(frame_type=wire.TYPE_PAD, frame_length=length, term_offset=offset, **FIELDS)
    peer.send(*(data(position) for position in range(0, offset, FRAME)), padding)
    receiver.run_for(1 * MS)

    assert receiver.driver.counted("flow_control_over_runs") == is_over_run
    assert receiver.driver.find_counter("rcv-hwm").value == offset + (0 if is_over_run else length)


@pytest.mark.parametrize("offset", [33, -32, 64 * 1024])
def test_data_at_an_impossible_offset_is_an_invalid_packet(receiver, peer, sink, offset):
    peer.send(data(offset))
    receiver.run_for(1 * MS)

    assert receiver.driver.counted("invalid_packets") == 1


def test_data_of_a_term_before_the_first_is_ignored(receiver, peer, sink):
    peer.send(data(0, term_id=-1), data(0, term_id=2**31 - 1))
    receiver.run_for(1 * MS)

    assert receiver.driver.find_counter("rcv-hwm").value == 0
    assert receiver.driver.errors() == []


def test_padding_is_skipped(receiver, peer, sink):
    padding = data(FRAME, b"", frame_type=wire.TYPE_PAD, frame_length=2 * FRAME)
    peer.send(data(0, b"a" * 992), padding, data(3 * FRAME, b"b"))
    receiver.run_for(1 * MS, each=sink.poll)

    assert [message[:1] for message in sink.all] == [b"a", b"b"]
