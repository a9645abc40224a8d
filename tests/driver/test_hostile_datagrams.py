"""Datagrams that no Aeron peer would send, into drivers with a running stream: counted, logged once, dropped."""

import random

import pytest

from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import (
    SimulatedPeer,
    data_frame,
    encode_frame,
)
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM = {"session_id": 77, "stream_id": 1001}
TERM = 64 * 1024
STRANGER = "10.0.0.9:40000"

TOO_SHORT = "packet is shorter than its frame type needs"
BAD_LENGTH = "frame length is too short, beyond the packet or its term, or not aligned"
BAD_VERSION = "frame version is not 0, or the channel of the sender has security="
BAD_TYPE = "frame type is not known"
BAD_FIELD = "a field of the frame is out of its range"
DROPPED = "the packet was dropped: check that its sender is an Aeron driver"


@pytest.fixture
def pair(start_pair):
    # Not connected: the socket of a sender receives datagrams from any address.
    return start_pair(driver_connect=False)


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
def test_a_receiver_counts_and_logs_undecodable_frames(pair, stream, to_receiver, datagram, reason):
    for _ in range(3):
        to_receiver.send(*[datagram] * 2)
        stream.run_for(1100 * MS)

    assert pair.receiver.counted("invalid_packets") == 6
    (record,) = pair.receiver.errors()
    assert (record.text, record.last_peer) == (f"(0) datagram on {CHANNEL}: {reason}; {DROPPED}", STRANGER)
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
def test_a_sender_counts_and_logs_undecodable_frames(pair, stream, to_sender, datagram, reason):
    for _ in range(3):
        to_sender.send(*[datagram] * 2)
        stream.run_for(1100 * MS)

    assert pair.sender.counted("invalid_packets") == 6
    (record,) = pair.sender.errors()
    assert record.text == (
        f"(0) datagram on {CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0: {reason}; {DROPPED}"
    )
    assert record.last_peer == "10.0.0.7:40000"
    assert record.observation_count == pair.sender.counted("errors") == 3
    assert stream.arrives_once_and_in_order()


def test_invalid_datagrams_of_many_sources_are_one_error_with_the_last_source(pair, stream):
    for host in ("10.0.0.8", "10.0.0.77", "10.0.0.9"):
        SimulatedPeer(pair.network, host, 40000, (pair.RECEIVER, 20121)).send(b"?")
        stream.run_for(1100 * MS)

    (record,) = pair.receiver.errors()
    assert (record.observation_count, record.last_peer) == (3, STRANGER)


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
    assert (record.text, record.last_peer) == (f"(0) datagram on {CHANNEL}: {reason}; {DROPPED}", STRANGER)
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
def test_a_receiver_ignores_frames_of_other_streams(pair, stream, to_receiver, datagram):
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
def test_a_sender_ignores_frames_of_unknown_streams_and_receivers(pair, stream, to_sender, datagram, counter):
    before = pair.sender.counted(counter)
    to_sender.send(*[datagram] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted(counter) >= before + 50
    assert pair.sender.errors() == []
    assert pair.sender.client_errors == []


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
def test_a_nak_for_data_that_was_never_sent_resends_nothing(pair, stream, to_sender, datagram):
    to_sender.send(*[datagram] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.sender.counted("retransmits_sent") == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_survives_random_foreign_datagrams(pair, stream, to_receiver, to_sender, seed):
    chance = random.Random(seed)

    def strange():
        length = chance.choice([0, 7, 24, 28, 32, 36, 40, 44, 64, 1408, 65504])
        body = chance.choice([bytes, chance.randbytes])(length)
        # Another session: forged data with the real session id is indistinguishable from that of the sender.
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
        assert all("datagram on" in e.text or "mtu=" in e.text for e in driver.errors())
