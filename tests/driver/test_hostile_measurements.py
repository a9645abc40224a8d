"""Forged round-trip measurements and forged replies."""

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedLink, SimulatedPeer, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

STREAM = {"session_id": 77, "stream_id": 1001}


@pytest.fixture
def pair(start_pair):
    # Not connected: the socket of a sender receives datagrams from any address.
    return start_pair(driver_connect=False)


MEASUREMENT = encode_frame(
    Rttm(flags=wire.RTTM_FLAG_REPLY, echo_timestamp=-1, reception_delta=2**62, **STREAM)
)


def test_a_flood_of_measurements_gets_a_bounded_number_of_replies_to_the_receivers_only(
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


def test_a_receiver_sends_a_bounded_number_of_replies_to_its_sender_only(pair, stream, to_receiver):
    to_receiver.send(*[MEASUREMENT] * 200)
    stream.run_for(5 * MS)

    assert len(frames_of(Rttm, pair.answered())) == 64
    assert pair.receiver.counted("invalid_packets") == 200 - 64
    assert to_receiver.receive() == []
    assert stream.arrives_once_and_in_order()


ECHOES = (0, -1, 2**63 - 1, -(2**63), 2**62)


def test_replies_without_a_measurement_are_counted_and_ignored(pair, stream, to_receiver):
    receiver_id = frames_of(StatusMessage, pair.answered())[0].receiver_id
    for echo in ECHOES:
        answer = Rttm(receiver_id=receiver_id, echo_timestamp=echo, reception_delta=-echo - 1, **STREAM)
        to_receiver.send(*[encode_frame(answer)] * 50)

    assert stream.arrives_once_and_in_order()
    assert pair.receiver.counted("invalid_packets") == 50 * len(ECHOES)
    assert pair.receiver.errors() == []


def test_a_forged_round_trip_is_at_most_the_age_of_a_measurement(start_pair, visit):
    pair = start_pair(driver_connect=False, congestion_control="cubic", cubic_measure_rtt=True)
    stream = visit(pair)
    stream.run_for(10 * MS)
    receiver_id = frames_of(StatusMessage, pair.answered())[0].receiver_id
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))
    # As for a stream without real replies: the next real one would correct the forged measurement.
    pair.network.set_link(SimulatedLink(loss=1), source=pair.SENDER, destination=pair.RECEIVER)
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
    pair.network.set_link(SimulatedLink(), source=pair.SENDER, destination=pair.RECEIVER)
    assert stream.arrives_once_and_in_order()
