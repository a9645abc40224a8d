"""Datagrams that no Aeron peer would send, into drivers with a running stream: counted, logged once, dropped."""

import random

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import (
    Feed,
    Link,
    SimulatedPeer,
    Sink,
    data_frame,
    encode_frame,
    frames_of,
    make_messages,
)
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM = {"session_id": 77, "stream_id": 1001}
TERM = 64 * 1024
STRANGER = "10.0.0.9:40000"

TOO_SHORT = "packet is shorter than its frame type needs"
BAD_LENGTH = "frame length is too short, beyond the packet or its term, or not aligned"
BAD_VERSION = "frame version is not 0"
BAD_TYPE = "frame type is not known"
BAD_FIELD = "a field of the frame is out of its range"


class Stream:
    """A stream between the drivers of a pair, which must deliver everything whatever strangers send."""

    def __init__(self, pair):
        self.pair = pair
        subscription = pair.add_subscription(CHANNEL, 1001)
        publication = pair.add_exclusive_publication(
            f"{CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0", 1001
        )
        pair.run_until(lambda: publication.is_connected and subscription.is_connected)
        self._feed = Feed(publication, make_messages(300, seed=5, max_length=4000))
        self._sink = Sink(subscription)

    def step(self):
        self._feed.offer()
        self._sink.poll()

    def run_for(self, duration_ns):
        self.pair.run_for(duration_ns, each=self.step)

    def arrives_once_and_in_order(self):
        self.pair.run_until(lambda: (self.step(), len(self._sink.all) >= 300)[1])
        self.pair.run_for(100 * MS, each=self.step)
        return self._sink.all == self._feed.messages


@pytest.fixture
def pair(start_pair):
    # Not connected: a sender's socket hears strangers.
    return start_pair(driver_connect=False)


@pytest.fixture
def stream(pair):
    return Stream(pair)


@pytest.fixture
def to_receiver(pair):
    return SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))


@pytest.fixture
def to_sender(pair):
    return SimulatedPeer(pair.network, "10.0.0.7", 40000, (pair.SENDER, 49152))


def header(frame_type, *, length=40, version=0, flags=0):
    return length.to_bytes(4, "little", signed=True) + bytes([version, flags, frame_type, 0])


def setup(**fields):
    return encode_frame(
        Setup(**{"session_id": 9, "stream_id": 1001, "term_length": TERM, "mtu": 1408} | fields)
    )


def sm(**fields):
    return encode_frame(StatusMessage(**STREAM | {"receiver_id": 9, "receiver_window": 1024} | fields))


def nak(**fields):
    return encode_frame(Nak(**STREAM | fields))


UNREADABLE = [
    pytest.param(b"", TOO_SHORT, id="empty"),
    pytest.param(b"1234567", TOO_SHORT, id="less than a header"),
    pytest.param(header(0x01, version=1) + bytes(32), BAD_VERSION, id="version"),
    pytest.param(header(0x08) + bytes(32), BAD_TYPE, id="type"),
    pytest.param(header(0xFF) + bytes(32), BAD_TYPE, id="reserved type"),
    pytest.param(b"\xff" * 1408, BAD_VERSION, id="all ones"),
]


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        *UNREADABLE,
        pytest.param(data_frame(bytes(100))[:40], BAD_LENGTH, id="data, cut"),
        pytest.param(data_frame()[:31], TOO_SHORT, id="data, cut in its header"),
        pytest.param(header(0x01, length=-1) + bytes(24), BAD_LENGTH, id="data of negative length"),
        pytest.param(setup()[:39], TOO_SHORT, id="setup, cut"),
        pytest.param(header(0x05, length=41) + bytes(32), BAD_LENGTH, id="setup, too long"),
        pytest.param(setup(term_length=0), BAD_FIELD, id="no term length"),
        pytest.param(setup(term_length=TERM + 32), BAD_FIELD, id="odd term length"),
        pytest.param(setup(term_length=TERM // 2), BAD_FIELD, id="short term length"),
        pytest.param(setup(term_length=-(2**31)), BAD_FIELD, id="negative term length"),
        pytest.param(setup(term_offset=TERM), BAD_FIELD, id="term offset beyond the term"),
        pytest.param(setup(term_offset=-32), BAD_FIELD, id="negative term offset"),
        pytest.param(setup(term_offset=1), BAD_FIELD, id="odd term offset"),
        pytest.param(setup(mtu=0), BAD_FIELD, id="no mtu"),
        pytest.param(setup(mtu=2**31 - 32), BAD_FIELD, id="long mtu"),
        pytest.param(setup(mtu=1400), BAD_FIELD, id="odd mtu"),
    ],
)
def test_a_receiver_counts_and_logs_what_it_cannot_read(pair, stream, to_receiver, datagram, reason):
    for _ in range(3):
        to_receiver.send(*[datagram] * 2)
        stream.run_for(1100 * MS)

    assert pair.receiver.counted("invalid_packets") == 6
    (record,) = pair.receiver.errors()
    assert record.text == f"(0) datagram from {STRANGER} on {CHANNEL}: {reason}"
    assert record.observation_count == pair.receiver.counted("errors") == 3
    assert stream.arrives_once_and_in_order()


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        *UNREADABLE,
        pytest.param(sm()[:35], TOO_SHORT, id="status message, cut"),
        pytest.param(header(0x03, length=2**31 - 1) + bytes(32), BAD_LENGTH, id="status message, too long"),
        pytest.param(sm(consumption_term_offset=1), BAD_FIELD, id="odd consumption offset"),
        pytest.param(sm(consumption_term_offset=-32), BAD_FIELD, id="negative consumption offset"),
        pytest.param(sm(receiver_window=-1), BAD_FIELD, id="negative window"),
        pytest.param(sm(receiver_window=2**30), BAD_FIELD, id="window beyond any term"),
        pytest.param(nak()[:27], TOO_SHORT, id="nak, cut"),
        pytest.param(nak(term_offset=-32, length=64), BAD_FIELD, id="nak before the term"),
        pytest.param(nak(term_offset=32, length=2**31 - 1), BAD_FIELD, id="nak beyond the term"),
        pytest.param(nak(length=-32), BAD_FIELD, id="nak of negative length"),
        pytest.param(header(0x04, length=40) + bytes(31), TOO_SHORT, id="error, cut"),
        pytest.param(
            header(0x04) + bytes(28) + (2**31 - 1).to_bytes(4, "little"), BAD_FIELD, id="error, long text"
        ),
    ],
)
def test_a_sender_counts_and_logs_what_it_cannot_read(pair, stream, to_sender, datagram, reason):
    for _ in range(3):
        to_sender.send(*[datagram] * 2)
        stream.run_for(1100 * MS)

    assert pair.sender.counted("invalid_packets") == 6
    (record,) = pair.sender.errors()
    assert record.text == (
        f"(0) datagram from 10.0.0.7:40000 on {CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0: {reason}"
    )
    assert record.observation_count == pair.sender.counted("errors") == 3
    assert stream.arrives_once_and_in_order()


def test_every_stranger_is_named(pair, stream):
    for host in ("10.0.0.8", "10.0.0.9"):
        SimulatedPeer(pair.network, host, 40000, (pair.RECEIVER, 20121)).send(b"?")
        stream.run_for(1100 * MS)

    assert [record.text.split()[3] for record in pair.receiver.errors()] == ["10.0.0.8:40000", STRANGER]


def first_frame(**fields):
    return data_frame(bytes(64), **STREAM | fields)


def second_frame(**fields):
    return data_frame(**STREAM) + data_frame(bytes(32), **STREAM | {"term_offset": 32} | fields)


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        pytest.param(first_frame(frame_length=2**31 - 1), BAD_LENGTH, id="first frame too long"),
        pytest.param(first_frame(frame_length=-(2**31)), BAD_LENGTH, id="first frame negative"),
        pytest.param(second_frame(frame_length=1000), BAD_LENGTH, id="second frame too long"),
        pytest.param(second_frame(term_offset=0), BAD_FIELD, id="second frame of the offset of the first"),
        pytest.param(first_frame(term_offset=TERM), BAD_FIELD, id="offset beyond the term"),
        pytest.param(first_frame(term_offset=-64), BAD_FIELD, id="negative offset"),
        pytest.param(first_frame(term_offset=8), BAD_FIELD, id="odd offset"),
        pytest.param(first_frame(term_offset=TERM - 32), BAD_LENGTH, id="beyond the end of the term"),
        *[
            pytest.param(frame(frame_length=length), BAD_LENGTH, id=f"{frame.__name__} of {length}")
            for frame in (first_frame, second_frame)
            for length in (1, 8, 31)
        ],
        *[
            pytest.param(data_frame(frame_length=length, **STREAM), BAD_LENGTH, id=f"only frame of {length}")
            for length in (1, 8, 31)
        ],
    ],
)
def test_data_that_does_not_fit_its_term_is_counted_and_logged_once(
    pair, stream, to_receiver, datagram, reason
):
    to_receiver.send(datagram)
    stream.run_for(1100 * MS)
    to_receiver.send(datagram)
    stream.run_for(1100 * MS)

    assert pair.receiver.counted("invalid_packets") == 2
    (record,) = pair.receiver.errors()
    assert record.text == f"(0) datagram from {STRANGER} on {CHANNEL}: {reason}"
    assert stream.arrives_once_and_in_order()


@pytest.mark.parametrize("term_id", [-1, -(2**31), 2**31 - 1, 1000])
def test_data_of_absurd_terms_changes_nothing(pair, stream, to_receiver, term_id):
    to_receiver.send(*[data_frame(bytes(32), term_id=term_id, **STREAM)] * 100)
    to_receiver.send(*[data_frame(term_id=term_id, flags=0xFF, frame_length=0, **STREAM)] * 100)

    assert stream.arrives_once_and_in_order()
    assert pair.receiver.errors() == []


@pytest.mark.parametrize(
    "datagram",
    [
        pytest.param(sm(), id="status message"),
        pytest.param(nak(length=1024), id="nak"),
        pytest.param(encode_frame(ErrorFrame(**STREAM)), id="error"),
        pytest.param(encode_frame(Rttm(receiver_id=12345, **STREAM)), id="measurement of another receiver"),
        pytest.param(setup(stream_id=2000), id="setup of another stream"),
        pytest.param(data_frame(b"x", stream_id=2000), id="data of another stream"),
        pytest.param(setup(session_id=77, term_length=2 * TERM, active_term_id=500), id="other setup"),
    ],
)
def test_a_receiver_ignores_what_is_not_for_it(pair, stream, to_receiver, datagram):
    to_receiver.send(*[datagram] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.receiver.counted("invalid_packets") == 0
    assert pair.receiver.errors() == []
    assert to_receiver.receive() == []
    assert len(pair.receiver.find_counters("rcv-hwm")) == 1


@pytest.mark.parametrize(
    ("datagram", "counter"),
    [
        (sm(stream_id=2000), "status_messages_received"),
        (sm(session_id=78), "status_messages_received"),
        (sm(consumption_term_id=-1), "status_messages_rejected"),
        (sm(consumption_term_id=2**31 - 1), "status_messages_rejected"),
        (sm(consumption_term_id=500), "status_messages_rejected"),
        (sm(receiver_window=TERM), "status_messages_rejected"),
        (encode_frame(ErrorFrame(receiver_id=9, **STREAM)), "error_frames_received"),
    ],
    ids=["stream", "session", "term before", "last term", "far term", "window", "receiver"],
)
def test_a_sender_is_not_moved_by_whom_it_does_not_know(pair, stream, to_sender, datagram, counter):
    before = pair.sender.counted(counter)
    to_sender.send(*[datagram] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted(counter) >= before + 50
    assert pair.sender.errors() == []
    assert pair.sender.client_errors == []


def flood_with_receivers(pair, to_sender):
    # Nothing was published yet, so that all of them say where the stream is.
    for start in range(0, 5000, 500):
        to_sender.send(*[sm(receiver_id=100 + start + n) for n in range(500)])
        pair.run_for(10 * MS)


def test_a_flood_of_receivers_is_heard_up_to_a_limit_and_logged_once(pair, stream, to_sender):
    flood_with_receivers(pair, to_sender)

    # One of those who are heard is the real receiver.
    assert pair.sender.counted("status_messages_rejected") == 5000 - 4095
    (record,) = pair.sender.errors()
    assert record.text == (
        "(11) more than 4096 receivers, session id=77 stream id=1001: status messages of others are ignored"
    )
    assert record.observation_count == 1
    assert stream.arrives_once_and_in_order()


def test_a_receiver_is_heard_again_once_those_of_a_flood_are_silent(pair, stream, to_sender):
    flood_with_receivers(pair, to_sender)
    pair.run_for(6 * S)
    rejected = pair.sender.counted("status_messages_rejected")

    to_sender.send(sm(receiver_id=9))
    pair.run_for(1 * MS)

    assert pair.sender.counted("status_messages_rejected") == rejected


@pytest.mark.parametrize(
    "datagram",
    [
        pytest.param(nak(stream_id=2000, length=1024), id="another stream"),
        pytest.param(nak(term_id=500, length=1024), id="a term that is far away"),
        pytest.param(nak(term_id=-1, length=1024), id="a term before the first"),
        pytest.param(nak(term_id=-(2**31), length=TERM), id="the farthest term"),
        pytest.param(nak(length=0), id="nothing"),
    ],
)
def test_a_nak_for_what_was_never_sent_resends_nothing(pair, stream, to_sender, datagram):
    to_sender.send(*[datagram] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted("retransmits_sent") == 0


def test_a_flood_of_naks_doubles_data_on_the_wire_only(pair, stream, to_sender):
    for _ in range(100):
        stream.run_for(1 * MS)
        for frame in frames_of(DataHeader, pair.sent()[-8:]):
            length = TERM - frame.term_offset
            to_sender.send(nak(term_id=frame.term_id, term_offset=frame.term_offset, length=length))

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted("retransmits_sent") > 100


MEASUREMENT = encode_frame(
    Rttm(flags=wire.RTTM_FLAG_REPLY, echo_timestamp=-1, reception_delta=2**62, **STREAM)
)


def test_a_flood_of_measurements_is_answered_within_bounds_and_to_the_receivers_alone(
    pair, stream, to_sender, to_receiver
):
    to_sender.send(*[MEASUREMENT] * 200)
    stream.run_for(5 * MS)

    assert len(frames_of(Rttm, pair.sent())) == 64
    assert pair.sender.counted("invalid_packets") == 200 - 64
    assert to_sender.receive() == to_receiver.receive() == []
    assert stream.arrives_once_and_in_order()


def test_measurements_are_answered_again_once_the_flood_is_over(pair, stream, to_sender):
    to_sender.send(*[MEASUREMENT] * 200)
    stream.run_for(20 * MS)

    to_sender.send(*[MEASUREMENT] * 10)
    stream.run_for(5 * MS)

    assert len(frames_of(Rttm, pair.sent())) == 64 + 10


def test_a_receiver_answers_measurements_within_bounds_and_to_its_sender_alone(pair, stream, to_receiver):
    to_receiver.send(*[MEASUREMENT] * 200)
    stream.run_for(5 * MS)

    assert len(frames_of(Rttm, pair.answered())) == 64
    assert pair.receiver.counted("invalid_packets") == 200 - 64
    assert to_receiver.receive() == []
    assert stream.arrives_once_and_in_order()


ECHOES = (0, -1, 2**63 - 1, -(2**63), 2**62)


def test_answers_to_measurements_that_nobody_made_are_counted_and_change_nothing(pair, stream, to_receiver):
    receiver_id = frames_of(StatusMessage, pair.answered())[0].receiver_id
    for echo in ECHOES:
        answer = Rttm(receiver_id=receiver_id, echo_timestamp=echo, reception_delta=-echo - 1, **STREAM)
        to_receiver.send(*[encode_frame(answer)] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.receiver.counted("invalid_packets") == 50 * len(ECHOES)
    assert pair.receiver.errors() == []


def test_a_round_trip_that_is_forged_is_as_long_ago_as_a_question_at_most(start_pair):
    pair = start_pair(driver_connect=False, congestion_control="cubic", cubic_measure_rtt=True)
    stream = Stream(pair)
    stream.run_for(10 * MS)
    receiver_id = frames_of(StatusMessage, pair.answered())[0].receiver_id
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))
    # As of a stream without a real answer, the next of which would undo what is forged.
    pair.network.set_link(Link(loss=1), source=pair.SENDER, destination=pair.RECEIVER)
    questions = (pair.now_ns, pair.now_ns - 1, pair.now_ns - 5 * S, *ECHOES)

    shown = []
    for echo in questions:
        for delta in (0, 1, -1, 2**63 - 1, -(2**63), 10 * MS):
            stranger.send(
                encode_frame(
                    Rttm(receiver_id=receiver_id, echo_timestamp=echo, reception_delta=delta, **STREAM)
                )
            )
            stream.run_for(100_000)
            shown.append(pair.receiver.find_counter("rcv-cc-cubic-rtt").value)

    assert all(0 <= rtt_ns < 20 * MS for rtt_ns in shown)
    pair.network.set_link(Link(), source=pair.SENDER, destination=pair.RECEIVER)
    assert stream.arrives_once_and_in_order()


def test_a_flood_of_setups_makes_no_more_images_than_the_session_limit(start_pair):
    pair = start_pair(driver_connect=False, stream_session_limit=4)
    stream = Stream(pair)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))

    stranger.send(*[setup(session_id=1000 + n) for n in range(100)])
    stream.run_for(200 * MS)

    assert len(pair.receiver.find_counters("rcv-hwm")) == 4
    (record,) = pair.receiver.errors()
    assert record.text == f"(11) exceeded session limit, stream id=1001 from {STRANGER}"
    assert stream.arrives_once_and_in_order()


def test_a_sender_beyond_the_session_limit_is_refused_once_a_second_however_often_it_asks(start_pair):
    pair = start_pair(driver_connect=False, stream_session_limit=1)
    Stream(pair)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))

    for _ in range(25):
        stranger.send(*[setup(session_id=1000)] * 10)
        pair.run_for(100 * MS)

    (record,) = pair.receiver.errors()
    assert record.observation_count == 3


def test_a_refused_sender_is_let_in_once_there_is_room(start_pair):
    pair = start_pair(driver_connect=False, stream_session_limit=1)
    pair.add_subscription(CHANNEL, 1001)
    first, second = (pair.add_exclusive_publication(CHANNEL, 1001) for _ in range(2))
    pair.run_until(lambda: first.is_connected)
    pair.run_for(3 * S)
    assert not second.is_connected

    first.close()

    pair.run_until(lambda: second.is_connected)


def test_a_flood_of_sessions_does_not_keep_a_new_stream_away(pair, stream, to_receiver):
    pair.add_subscription(f"{CHANNEL}|session-id=5", 2000)
    for start in range(0, 5000, 500):
        to_receiver.send(*[data_frame(b"x", session_id=100 + start + n, stream_id=2000) for n in range(500)])
        stream.run_for(1 * MS)

    publication = pair.add_publication(f"{CHANNEL}|session-id=5", 2000)

    pair.run_until(lambda: publication.is_connected)
    assert stream.arrives_once_and_in_order()


def test_sessions_whose_setup_never_came_do_not_keep_a_new_stream_away(pair, stream, to_receiver):
    pair.add_subscription(CHANNEL, 2000)
    for start in range(0, 5000, 500):
        to_receiver.send(*[data_frame(b"x", session_id=100 + start + n, stream_id=2000) for n in range(500)])
        stream.run_for(1 * MS)

    publication = pair.add_publication(CHANNEL, 2000)

    assert pair.run_until(lambda: publication.is_connected) > 900 * MS
    assert stream.arrives_once_and_in_order()


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_survives_whatever_strangers_send(pair, stream, to_receiver, to_sender, seed):
    chance = random.Random(seed)

    def strange():
        length = chance.choice([0, 7, 24, 28, 32, 36, 40, 44, 64, 1408, 65504])
        body = chance.choice([bytes, chance.randbytes])(length)
        # Another session: what has this one is data as good as the sender's.
        fields = chance.choice([bytes(8), chance.randbytes(8)]) + b"\x09\0\0\0" + (1001).to_bytes(4, "little")
        frame = header(
            chance.choice([*range(14), 255]),
            length=chance.choice([length, 0, -1, 2**31 - 1, chance.randrange(2000)]),
            version=chance.choice([0, 0, 0, 1]),
            flags=chance.randrange(256),
        )
        return (frame + fields + body)[: max(length, chance.randrange(60))]

    for _ in range(100):
        to_receiver.send(*[strange() for _ in range(10)])
        to_sender.send(*[strange() for _ in range(10)])
        stream.run_for(1 * MS)

    assert stream.arrives_once_and_in_order()
    pair.run_for(2 * S)
    for driver in pair.drivers:
        assert driver.counted("invalid_packets") > 100
        assert all("datagram from" in e.text or "mtu=" in e.text for e in driver.errors())
