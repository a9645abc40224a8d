"""Forged status messages to a publication with dynamic destinations."""

import pytest

from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, encode_frame
from aeron_core.testing.pair import MS, S

PUBLISHED = "aeron:udp?control=10.0.0.1:20120|control-mode=dynamic"
SUBSCRIBED = "aeron:udp?endpoint=10.0.0.2:20121|control=10.0.0.1:20120|control-mode=dynamic"
START = "|session-id=77|init-term-id=7|term-id=7|term-offset=0"
TERM = 64 * 1024
SEND_SETUP = 0x80


@pytest.fixture
def publication(pair):
    subscription = pair.add_subscription(SUBSCRIBED, 1001)
    publication = pair.add_exclusive_publication(PUBLISHED + START, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication


@pytest.fixture
def stranger(pair, publication):
    return SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.SENDER, 20120))


def sm(**fields):
    preset = {
        "session_id": 77,
        "stream_id": 1001,
        "consumption_term_id": 7,
        "receiver_window": 1024,
        "receiver_id": 9,
    }
    return encode_frame(StatusMessage(**preset | fields))


def destination_count(pair):
    return pair.sender.find_counter("mdc-num-dest").value


@pytest.mark.parametrize(
    ("fields", "counter"),
    [
        pytest.param({"consumption_term_id": 6}, "status_messages_rejected", id="before the first term"),
        pytest.param({"consumption_term_id": 500}, "status_messages_rejected", id="a term that is far away"),
        pytest.param(
            {"consumption_term_offset": TERM // 2 + 32}, "status_messages_rejected", id="beyond the window"
        ),
        pytest.param({"receiver_window": TERM}, "status_messages_rejected", id="a window of a whole term"),
        pytest.param({"consumption_term_offset": 1}, "invalid_packets", id="an odd offset"),
        pytest.param({"receiver_window": -1}, "invalid_packets", id="a negative window"),
    ],
)
def test_a_source_that_cannot_receive_the_stream_is_not_added_as_a_destination(
    pair, stranger, fields, counter
):
    for _ in range(5):
        stranger.send(sm(**fields))
        pair.run_for(1 * S)

    assert pair.sender.counted(counter) == 5
    assert destination_count(pair) == 1
    assert stranger.receive() == []


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="where the stream is"),
        pytest.param({"session_id": 0, "stream_id": 0, "flags": SEND_SETUP}, id="any stream, for its setup"),
        pytest.param({"consumption_term_id": 500, "flags": SEND_SETUP}, id="the stream, for its setup"),
        pytest.param({"session_id": 78}, id="a stream that is not there"),
    ],
)
def test_a_source_that_can_receive_the_stream_is_added_as_a_destination(pair, stranger, fields):
    stranger.send(sm(**fields))
    pair.run_for(10 * MS)

    assert destination_count(pair) == 2
    assert pair.sender.counted("status_messages_rejected") == 0


def test_implausible_status_messages_do_not_keep_a_destination(pair, stranger):
    stranger.send(sm())
    pair.run_for(10 * MS)
    assert destination_count(pair) == 2

    for _ in range(7):
        stranger.send(sm(consumption_term_id=500))
        pair.run_for(1 * S)

    assert destination_count(pair) == 1
