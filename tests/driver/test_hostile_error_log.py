"""Texts of peers and clients in the error log: they cannot use up the space of the driver's own errors."""

import pytest

from aeron_core.errors import RegistrationError
from aeron_core.protocol.frames.setup import Setup
from aeron_core.testing import SimulatedPeer, encode_frame
from aeron_core.testing.pair import MS

TERM = 64 * 1024
LOG_LENGTH = 4 * 1024 * 1024
FURTHER = "further errors, whose texts exceed"
REMEDY = "of this log; raise AERON_ERROR_BUFFER_LENGTH to record more texts"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
# The error of an image contains its channel, so a few hundred long ones exceed the limit.
LONG_CHANNEL = f"aeron:udp?endpoint=10.0.0.2:20300|alias={'x' * 3900}"


@pytest.fixture
def pair(start_pair):
    return start_pair(driver_connect=False)


def setup(**fields):
    preset = {"stream_id": 1001, "term_length": TERM, "mtu": 1408}
    return encode_frame(Setup(**preset | fields))


def text_length(driver):
    return sum(len(record.text.encode()) for record in driver.errors())


def flood_with_images_that_cannot_be_created(pair, count=100):
    pair.add_subscription(LONG_CHANNEL, 1001)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20300))
    # One datagram exceeds the receiver window of so short a term. The text contains the mtu, as the reference's does.
    for number in range(count):
        stranger.send(setup(session_id=number, mtu=65504 - 32 * number))
        pair.run_for(1 * MS)


def test_one_error_of_forged_sessions_is_one_entry_with_the_last_source(pair):
    pair.add_subscription(CHANNEL, 1001)
    for number in range(100):
        stranger = SimulatedPeer(pair.network, f"10.0.1.{number}", 40000, (pair.RECEIVER, 20121))
        stranger.send(setup(session_id=number, mtu=65504))
        pair.run_for(1 * MS)

    (record,) = pair.receiver.errors()
    assert record.text == (
        f"(22) Invalid argument: cannot create images of stream 1001 of {CHANNEL}: mtuLength=65504 > "
        f"initialWindowLength=32768: lower mtu of the sender, or raise rcv-wnd; the window is at most half of "
        f"the sender's term-length=65536"
    )
    assert (record.observation_count, record.last_peer) == (100, "10.0.1.99:40000")


def test_errors_of_forged_sessions_that_differ_take_a_bounded_part_of_the_log(pair):
    flood_with_images_that_cannot_be_created(pair)

    *single, rest = pair.receiver.errors()
    assert {record.observation_count for record in single} == {1}
    assert len(single) == 64
    kind = f"cannot create images of stream 1001 of {LONG_CHANNEL}"
    assert rest.text == f"(0) {kind}: further errors, of which this log keeps 64 texts"
    assert rest.observation_count == 36
    assert rest.last_peer == "10.0.0.9:40000"
    assert pair.receiver.counted("errors") == 100
    assert text_length(pair.receiver) < LOG_LENGTH // 8


def test_errors_of_peers_of_all_kinds_take_at_most_a_quarter_of_the_log(pair):
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20300))
    for stream_id in range(6):
        pair.add_subscription(LONG_CHANNEL, stream_id)
        for number in range(64):
            stranger.send(setup(session_id=number, stream_id=stream_id, mtu=65504 - 32 * number))
            pair.run_for(1 * MS)

    rest = pair.receiver.errors()[-1]
    assert rest.text == (f"(0) cannot create images of stream 5 of {LONG_CHANNEL}: {FURTHER} 1/4 {REMEDY}")
    assert rest.observation_count > 10
    assert LOG_LENGTH // 5 < text_length(pair.receiver) < LOG_LENGTH // 4 + 2 * len(rest.text)


def test_errors_of_other_kinds_are_kept_in_a_flood_of_one_kind(pair):
    pair.add_subscription(CHANNEL, 1001)
    flood_with_images_that_cannot_be_created(pair)

    SimulatedPeer(pair.network, "10.0.0.8", 41000, (pair.RECEIVER, 20121)).send(b"?")
    pair.run_for(1100 * MS)

    record = pair.receiver.errors()[-1]
    assert record.text.startswith(f"(0) datagram on {CHANNEL}: ")
    assert record.last_peer == "10.0.0.8:41000"


def test_a_known_error_of_a_peer_is_counted_in_its_entry_after_the_flood(pair):
    pair.add_subscription(CHANNEL, 1001)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40001, (pair.RECEIVER, 20121))
    stranger.send(b"?")
    pair.run_for(1100 * MS)
    flood_with_images_that_cannot_be_created(pair)

    stranger.send(b"?")
    pair.run_for(1100 * MS)

    assert pair.receiver.errors()[0].observation_count == 2


def refuse(pair, channel):
    with pytest.raises(RegistrationError):
        pair.add_subscription(channel, 1001)


def test_the_error_of_a_client_is_logged_after_a_flood_of_peers(pair):
    flood_with_images_that_cannot_be_created(pair)

    refuse(pair, "aeron:udp?endpoint=nowhere")

    assert "nowhere" in pair.receiver.errors()[-1].text


def test_refused_commands_take_at_most_half_of_the_log(pair):
    for number in range(700):
        refuse(pair, f"{LONG_CHANNEL}|session-id=no-{number}")

    rest = pair.receiver.errors()[-1]
    assert rest.text == f"(0) AddSubscription: {FURTHER} 1/2 {REMEDY}"
    assert rest.observation_count > 100
    assert LOG_LENGTH // 3 < text_length(pair.receiver) < LOG_LENGTH // 2 + len(rest.text)
