"""Floods of frames with little payload: the peer is closed once its budget is used up."""

from __future__ import annotations

import pytest
from plain_websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, close, frame
from websocket_ends import LONG, content, plain

FLOODS = {
    "pings": lambda mask: 300 * frame(PING, mask=mask),
    "pongs": lambda mask: 300 * frame(PONG, bytes(125), mask=mask),
    "empty fragments": lambda mask: (
        frame(BINARY, fin=False, mask=mask) + 300 * frame(CONTINUATION, fin=False, mask=mask)
    ),
    "fragments of a byte": lambda mask: (
        frame(BINARY, fin=False, mask=mask) + 300 * frame(CONTINUATION, b"a", fin=False, mask=mask)
    ),
    "messages in two fragments": lambda mask: (
        300 * (frame(BINARY, fin=False, mask=mask) + frame(CONTINUATION, mask=mask))
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_frames_with_little_content_is_refused(end, name):
    text, _ = end.fault(FLOODS[name](end.mask))

    assert text == (
        "the peer sent too many frames with little content: send longer fragments, or fewer pings"
    )
    (closes,) = (each for each in end.sent() if each.opcode == CLOSE)
    assert (closes.code, closes.reason) == (1008, "too many frames with little content")


DISCARDED = {
    "empty messages": lambda mask: 300 * frame(BINARY, mask=mask),
    "messages without a hop": lambda mask: 300 * frame(BINARY, b"\0\0\0\0", mask=mask),
    "messages with too many hops": lambda mask: 300 * frame(BINARY, b"\0\0\0\x09", mask=mask),
    "messages with reserved bits": lambda mask: 300 * frame(BINARY, b"\1\0\0\1", mask=mask),
}


@pytest.mark.parametrize("name", DISCARDED)
def test_a_flood_of_messages_that_are_discarded_is_refused(end, name):
    delivered = frame(BINARY, b"\0\0\0\1", mask=end.mask)
    text, _ = end.fault(delivered + DISCARDED[name](end.mask))

    assert text == (
        "the peer sent too many messages that are discarded, because of their hop count: see ttl= and accept-zero-hop="
    )
    (closes,) = end.sent()
    assert (closes.code, closes.reason) == (1008, "too many messages that are discarded")


def test_a_peer_that_has_used_its_budget_may_close(end):
    end.receive(256 * frame(PING, mask=end.mask) + close(1000, mask=end.mask))

    assert [each.code for each in end.sent() if each.opcode == CLOSE] == [1000]


def test_a_hundred_pings_a_second_are_answered(end):
    for _ in range(1_000):
        end.now += 0.5
        end.receive(50 * frame(PING, mask=end.mask))
        assert [each.opcode for each in end.sent()] == [PONG]


def test_a_frame_that_arrives_byte_by_byte_counts_once(end):
    for byte in frame(PING, b"slow", mask=end.mask):
        for _ in range(300):
            assert end.session.read(LONG) is None
        end.receive(bytes([byte]))

    assert [(each.opcode, each.payload) for each in end.sent()] == [(PONG, b"slow")]


def test_small_messages_that_are_delivered_cost_nothing(end):
    message = b"\0\0\0\1x"

    assert end.receive(2_000 * frame(BINARY, message, mask=end.mask)) == 2_000 * plain(message)


def test_time_without_frames_admits_no_larger_flood(end):
    end.now += 3600

    assert end.receive(256 * frame(PING, mask=end.mask)) == b""
    assert end.fault(frame(PING, mask=end.mask))[0].startswith("the peer sent too many frames")


@pytest.mark.parametrize("cut", [1, 63, 999, 1000])
def test_messages_that_a_peer_divides_anywhere_are_accepted(end, cut):
    message = content(1000)
    divided = frame(BINARY, message[:cut], fin=False, mask=end.mask) + frame(
        CONTINUATION, message[cut:], mask=end.mask
    )
    assert end.receive(2_000 * divided) == 2_000 * plain(message)
