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


def flood_with_images_that_cannot_be_created(pair):
    pair.add_subscription(LONG_CHANNEL, 1001)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20300))
    # One datagram exceeds the receiver window of so short a term.
    stranger.send(*[setup(session_id=session_id, mtu=65504) for session_id in range(400)])
    pair.run_for(200 * MS)


def test_errors_of_forged_sessions_take_at_most_a_quarter_of_the_log(pair):
    flood_with_images_that_cannot_be_created(pair)

    *single, rest = pair.receiver.errors()
    assert {record.observation_count for record in single} == {1}
    assert rest.text == f"(0) cannot create images of {LONG_CHANNEL}: {FURTHER} 1/4 {REMEDY}"
    assert rest.observation_count == 400 - len(single) > 100
    assert pair.receiver.counted("errors") == 400
    assert LOG_LENGTH // 5 < text_length(pair.receiver) < LOG_LENGTH // 4 + len(rest.text)


@pytest.mark.parametrize(
    ("datagram", "kind"),
    [
        pytest.param(b"?", f"datagram on {CHANNEL}", id="undecodable datagram"),
        pytest.param(
            setup(session_id=9, mtu=65504), f"cannot create images of {CHANNEL}", id="image without window"
        ),
    ],
)
def test_when_peers_have_used_up_their_part_their_errors_are_counted_by_kind(pair, datagram, kind):
    pair.add_subscription(CHANNEL, 1001)
    flood_with_images_that_cannot_be_created(pair)

    # Texts that are shorter than those of the flood may still fit.
    for port in range(41000, 41040):
        SimulatedPeer(pair.network, "10.0.0.9", port, (pair.RECEIVER, 20121)).send(datagram)
        pair.run_for(1100 * MS)

    record = pair.receiver.errors()[-1]
    assert record.text == f"(0) {kind}: {FURTHER} 1/4 {REMEDY}"
    assert record.observation_count > 5


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
