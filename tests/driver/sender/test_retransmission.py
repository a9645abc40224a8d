"""Reaction of a publication to the frames of a receiver, which the test sends itself."""

import pytest

from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedPeer, encode_frame, frames_of
from aeron_core.testing.pair import MS

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
FRAME = 1024
MESSAGE = bytes(FRAME - 32)
SESSION = 77


@pytest.fixture
def sender(start_driver):
    return start_driver()


@pytest.fixture
def peer(sender):
    return SimulatedPeer(sender.network, "10.0.0.2", 20121, ("127.0.0.1", 49152))


@pytest.fixture
def publication(sender, peer):
    channel = f"{CHANNEL}|session-id={SESSION}|init-term-id=0|term-id=0|term-offset=0|mtu=1024"
    publication = sender.add_exclusive_publication(channel, 1001)
    peer.send(sm(window=32 * 1024))
    sender.run_until(lambda: publication.is_connected)
    Feed(publication, [MESSAGE] * 8).offer()
    sender.run_for(1 * MS)
    return publication


def sm(**fields):
    preset = {"session_id": SESSION, "stream_id": 1001, "receiver_id": 5, "receiver_window": 0}
    if "window" in fields:
        preset["receiver_window"] = fields.pop("window")
    return encode_frame(StatusMessage(**preset | fields))


def nak(offset, length, term_id=0):
    return encode_frame(
        Nak(session_id=SESSION, stream_id=1001, term_id=term_id, term_offset=offset, length=length)
    )


def resent(sender, action):
    before = len(sender.network.log)
    action()
    sender.run_for(1 * MS)
    frames = frames_of(DataHeader, [line.data for line in sender.network.log[before:]])
    return [frame.term_offset for frame in frames if frame.frame_length]


def test_a_nak_is_answered_at_once_with_the_requested_range(sender, peer, publication):
    assert resent(sender, lambda: peer.send(nak(FRAME, 2 * FRAME))) == [FRAME, 2 * FRAME]


def test_repeated_naks_within_the_linger_time_are_ignored(sender, peer, publication):
    again = nak(FRAME, 2 * FRAME)

    first = resent(sender, lambda: peer.send(again, again, again))
    within = resent(sender, lambda: (sender.run_for(7 * MS), peer.send(again)))
    after = resent(sender, lambda: (sender.run_for(5 * MS), peer.send(again)))

    assert (first, within, after) == ([FRAME, 2 * FRAME], [], [FRAME, 2 * FRAME])
    assert sender.driver.counted("naks_received") == 5


@pytest.mark.parametrize(
    ("offset", "length", "term_id"),
    [
        (8 * FRAME, FRAME, 0),  # not sent yet
        (0, FRAME, 1),  # a term that is not there yet
        (0, FRAME, -1),  # a term that never was
        (0, FRAME, -(2**31)),
        (0, 0, 0),
    ],
)
def test_data_that_was_never_sent_is_not_retransmitted(sender, peer, publication, offset, length, term_id):
    assert resent(sender, lambda: peer.send(nak(offset, length, term_id))) == []


@pytest.mark.parametrize(
    ("offset", "length"), [(1, 32), (-32, 64), (0, -32), (64 * 1024, 32), (32, 64 * 1024)]
)
def test_an_impossible_nak_is_an_invalid_packet(sender, peer, publication, offset, length):
    assert resent(sender, lambda: peer.send(nak(offset, length))) == []
    assert sender.driver.counted("invalid_packets") == 1


def test_a_nak_into_the_middle_of_a_frame_sends_nothing_from_beyond_the_term(sender, peer, publication):
    # There is payload at that offset, and a publisher may have made it look like a header.
    publication.offer(b"\xff\xff\xff\x7f" + bytes(28) + b"\x00\x04\x00\x00" * 240)
    sender.run_for(1 * MS)
    before = len(sender.network.log)

    peer.send(nak(8 * FRAME + 32, 4 * FRAME))
    sender.run_for(1 * MS)

    assert all(len(line.data) <= 1024 for line in sender.network.log[before:])
    assert sender.driver.errors() == []


def test_a_status_message_far_from_the_sender_position_is_rejected(sender, peer, publication):
    peer.send(sm(consumption_term_id=5, window=32 * 1024))
    sender.run_for(1 * MS)

    assert sender.driver.counted("status_messages_rejected") == 1
    assert sender.driver.find_counter("snd-lmt").value == 32 * 1024
