"""Frames with the ids of a running stream from addresses that are not part of it, while its subscriber is slow."""

import random

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedPeer, data_frame, encode_frame, frames_of, make_messages
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
OTHER_CHANNEL = "aeron:udp?endpoint=10.0.0.2:20131"
STREAM = {"session_id": 77, "stream_id": 1001}
TERM = 64 * 1024
HALF_TERM = TERM // 2
ROUNDS = 150
MIN = -(2**63)
MAX = 2**63 - 1


class SlowStream:
    """A stream whose publisher is faster than its subscriber, so that flow control determines what is sent."""

    def __init__(self, pair, published=CHANNEL, subscribed=CHANNEL):
        self.pair = pair
        self._subscription = pair.add_subscription(subscribed, 1001)
        start = "session-id=77|init-term-id=0|term-id=0|term-offset=0"
        publication = pair.add_exclusive_publication(f"{published}|{start}", 1001)
        pair.run_until(lambda: publication.is_connected and self._subscription.is_connected)
        self._feed = Feed(publication, make_messages(400, seed=5, max_length=1300))
        self._read = []

    def step(self):
        self._feed.offer()
        self._subscription.poll(lambda buffer, _: self._read.append(bytes(buffer)), 2)

    def endures(self, peer, make):
        """Send the frames that `make` returns each millisecond; return whether all messages arrive."""
        for _ in range(ROUNDS):
            self.pair.run_for(1 * MS, each=self.step)
            for frame in make(self):
                peer.send(frame)
        return self.arrives_whole()

    def arrives_whole(self):
        self.pair.run_for(2 * S, each=self.step)
        return self._read == self._feed.messages

    @property
    def sent_position(self):
        frames = frames_of(DataHeader, self.pair.sent())
        return max((frame.term_id * TERM + frame.term_offset for frame in frames), default=0)

    @property
    def receiver_id(self):
        return frames_of(StatusMessage, self.pair.answered())[-1].receiver_id


@pytest.fixture
def pair(start_pair):
    # Not connected: the socket of a sender receives datagrams from any address.
    return start_pair(driver_connect=False, one_way_latency_interval_ns=1 * S)


@pytest.fixture
def stream(pair):
    return SlowStream(pair)


@pytest.fixture
def to_sender(pair):
    return stranger_to_sender(pair)


def stranger_to_sender(pair, port=49152):
    return SimulatedPeer(pair.network, "10.0.0.7", 40000, (pair.SENDER, port))


@pytest.fixture
def to_receiver(pair):
    return SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))


def at(position):
    return {"term_id": position // TERM, "term_offset": position % TERM // 32 * 32}


def far_data(payload, flags=wire.DATA_FLAGS_UNFRAGMENTED):
    """Return a maker of data at positions that are some terms away from what is sent."""
    return lambda stream: [
        data_frame(payload, flags=flags, **STREAM, **at(stream.sent_position + terms * TERM))
        for terms in (1, 2, 1000)
    ]


def old_data(stream):
    return [data_frame(bytes(64), **STREAM, **at(max(0, stream.sent_position - TERM)))]


def measurements(flags):
    return lambda stream: [
        encode_frame(Rttm(receiver_id=id_, flags=flags, echo_timestamp=echo, reception_delta=delta, **STREAM))
        for id_ in (0, stream.receiver_id)
        for echo in (0, -1, MIN, MAX)
        for delta in (0, -1, MIN, MAX)
    ]


def response_setup(_):
    return [encode_frame(ResponseSetup(response_session_id=5, **STREAM))]


def other_setup(_):
    return [encode_frame(Setup(term_length=TERM, mtu=1408, active_term_id=100, **STREAM))]


def rejection(stream):
    error = ErrorFrame(receiver_id=stream.receiver_id, error_code=13, **STREAM)
    error.text = "from a stranger"
    return [encode_frame(error)]


def status_message(distance, window, **fields):
    """Return a maker of a status message at a distance from what is sent, of the real receiver unless given."""

    def make(stream):
        position = at(max(0, stream.sent_position + distance))
        sm = StatusMessage(
            **{"receiver_id": stream.receiver_id} | fields,
            consumption_term_id=position["term_id"],
            consumption_term_offset=position["term_offset"],
            receiver_window=window,
            **STREAM,
        )
        return [encode_frame(sm)]

    return make


TO_RECEIVER = {
    "data far ahead": far_data(bytes(64)),
    "data that was consumed": old_data,
    "heartbeats far ahead": far_data(b""),
    "ends far ahead": far_data(b"", wire.DATA_FLAGS_UNFRAGMENTED | wire.DATA_FLAG_EOS),
    "measurements": measurements(wire.RTTM_FLAG_REPLY),
    "replies": measurements(0),
    "setup of responses": response_setup,
    "another setup": other_setup,
    "error": rejection,
    "status message": status_message(HALF_TERM, HALF_TERM),
}
TO_SENDER = {
    "measurements": measurements(wire.RTTM_FLAG_REPLY),
    "replies": measurements(0),
    "setup of responses": response_setup,
    "data far ahead": far_data(bytes(64)),
    "position too far ahead": status_message(TERM, HALF_TERM),
    "position too far behind": status_message(-TERM, HALF_TERM),
    "window beyond half a term": status_message(0, HALF_TERM + 32),
    "no window": status_message(0, 0),
    "receiver that leaves": status_message(0, 0, flags=wire.SM_FLAG_EOS),
}


def check_that_nothing_is_left(pair, stranger):
    for driver in pair.drivers:
        assert driver.errors() == []
        assert driver.client_errors == []
        assert len(driver.log_files()) == 1
    assert stranger.receive() == []


@pytest.mark.parametrize("name", TO_RECEIVER)
def test_a_receiver_endures_frames_of_its_stream_from_a_stranger(pair, stream, to_receiver, name):
    assert stream.endures(to_receiver, TO_RECEIVER[name])

    check_that_nothing_is_left(pair, to_receiver)
    # Replies are limited to 64 in 10 ms.
    assert len(pair.answered()) < ROUNDS // 10 * 64 + 200
    assert pair.sender.counted("retransmits_sent") == 0


@pytest.mark.parametrize("name", TO_SENDER)
def test_a_sender_endures_frames_of_its_stream_from_a_stranger(pair, stream, to_sender, name):
    assert stream.endures(to_sender, TO_SENDER[name])

    check_that_nothing_is_left(pair, to_sender)
    assert len(pair.sent()) < ROUNDS // 10 * 64 + 1000
    assert pair.sender.counted("retransmits_sent") == 0


def test_a_forged_rejection_is_reported_but_the_receiver_returns(pair, stream, to_sender):
    assert stream.endures(to_sender, rejection)

    # As in the reference, the text is that of the frame; different ones are limited, see `test_hostile_rejections`.
    (record,) = pair.sender.errors()
    assert record.text.startswith("(13) onPublicationError: registrationId=")
    assert record.observation_count < ROUNDS
    assert pair.receiver.errors() == []


FORGED_SPACE = {"window": (0, HALF_TERM), "position": (HALF_TERM - 64, HALF_TERM)}


@pytest.mark.parametrize("name", FORGED_SPACE)
def test_a_stranger_cannot_make_a_connected_sender_overrun_its_receiver(start_pair, name):
    pair = start_pair()
    stream, stranger = SlowStream(pair), stranger_to_sender(pair)

    assert stream.endures(stranger, status_message(*FORGED_SPACE[name]))

    check_that_nothing_is_left(pair, stranger)
    assert pair.receiver.counted("flow_control_over_runs") == 0


@pytest.mark.parametrize("name", FORGED_SPACE)
def test_an_invented_receiver_cannot_make_the_sender_of_a_group_overrun_another(start_pair, name):
    pair = start_pair()
    group = "aeron:udp?control=10.0.0.1:20120|control-mode=dynamic|fc=min"
    stream = SlowStream(pair, group, f"{CHANNEL}|control=10.0.0.1:20120")
    stranger = stranger_to_sender(pair, 20120)

    assert stream.endures(stranger, status_message(*FORGED_SPACE[name], receiver_id=9))

    assert pair.receiver.counted("flow_control_over_runs") == 0


NUMBERS = (0, 1, -1, 32, TERM, HALF_TERM, 2**31 - 1, -(2**31))
KINDS = (DataHeader, ErrorFrame, Nak, ResponseSetup, Rttm, Setup, StatusMessage)
WIDE = {"echo_timestamp", "reception_delta", "reserved_value", "receiver_id", "group_tag"}

CHOICES = {
    "flags": range(256),
    "frame_type": (wire.TYPE_DATA, wire.TYPE_PAD),
    "frame_length": (0, wire.DATA_HEADER_LENGTH),
    "has_group_tag": (False, True),
}


def random_frame(chance, receiver_id):
    """Return a frame of the stream whose other fields are random or extreme, sometimes cut."""
    frame = chance.choice(KINDS)(**STREAM)
    for name in frame.names():
        if name in CHOICES:
            setattr(frame, name, chance.choice(CHOICES[name]))
        elif name == "receiver_id" and chance.random() < 0.5:
            frame.receiver_id = receiver_id
        elif name in WIDE:
            setattr(frame, name, chance.choice([*NUMBERS, MIN, MAX]))
        elif name not in STREAM:
            setattr(frame, name, chance.choice([*NUMBERS, chance.randrange(0, 8 * TERM, 32)]))
    data = encode_frame(frame)
    return data if chance.random() < 0.9 else data[: chance.randrange(len(data))]


@pytest.mark.parametrize("seed", range(4))
def test_random_frames_of_a_stream_raise_nothing_and_harm_no_other_stream(
    pair, stream, to_sender, to_receiver, seed
):
    chance = random.Random(seed)
    other = SlowStream(pair, OTHER_CHANNEL, OTHER_CHANNEL)
    receiver_ids = [sm.receiver_id for sm in frames_of(StatusMessage, pair.answered())]

    for _ in range(ROUNDS):
        for peer in (to_sender, to_receiver):
            peer.send(*[random_frame(chance, chance.choice(receiver_ids)) for _ in range(10)])
        pair.run_for(1 * MS, each=lambda: (stream.step(), other.step()))

    assert other.arrives_whole()
    for driver in pair.drivers:
        assert all("duty cycle" not in record.text for record in driver.errors())
        assert len(driver.errors()) <= 2 * 65
