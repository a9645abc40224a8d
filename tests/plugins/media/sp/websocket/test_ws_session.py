"""WebSocket sessions: WebSocket on the wire, the TCP mapping of SP for the agent."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.frames import BYTES_PER_FRAME
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import EVENTS_PER_STEP, WsSession
from plain_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    MASK,
    PING,
    PONG,
    TEXT,
    close,
    frame,
    frames_of,
    request,
)
from websocket_ends import GREETING, LONG, End, content, plain

LENGTHS = [0, 1, 4, 125, 126, 127, 65535, 65536, 65537, 200_000]


# The side of the agent


@pytest.mark.parametrize(
    ("subprotocol", "number"), [("pair.sp.nanomsg.org", 16), ("pair1.sp.nanomsg.org", 17)]
)
def test_an_agent_first_reads_the_greeting_of_its_peer(subprotocol, number):
    session = WsSession(WsParams(subprotocol, "a", "/", 10), server_side=True)
    session.feed(request(subprotocol=subprotocol))
    assert session.do_handshake()
    assert session.read(LONG) == b"\0SP\0" + struct.pack(">HH", number, 0)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_message_of_the_peer_is_a_length_and_a_payload(end, length):
    assert end.receive(frame(BINARY, content(length), mask=end.mask)) == plain(content(length))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_message_of_the_agent_is_cut_into_fragments_of_64_kib(end, length):
    end.session.write(GREETING + plain(content(length)))

    fragments = end.sent()

    assert b"".join(fragment.payload for fragment in fragments) == content(length)
    assert [len(each.payload) for each in fragments[:-1]] == [65536] * (len(fragments) - 1)
    assert len(fragments[-1].payload) <= 65536
    assert [each.opcode for each in fragments] == [BINARY] + [CONTINUATION] * (len(fragments) - 1)
    assert [each.fin for each in fragments] == [False] * (len(fragments) - 1) + [True]


def test_the_connecting_end_masks_each_frame_differently_and_the_listening_end_none():
    message = GREETING + plain(bytes(8), bytes(8))
    for server_side in (True, False):
        end = End(server_side=server_side)
        end.session.write(message)
        masks = {each.mask for each in end.sent()}
        assert masks == {None} if server_side else len(masks) == 2


def test_a_long_message_begins_as_that_of_nng_does():
    end = End()
    end.session.write(GREETING + plain(bytes(70_000)))
    assert end.session.take_outgoing()[:10] == bytes.fromhex("027f0000000000010000")


def test_messages_of_the_agent_may_be_split_anywhere(end):
    output = GREETING + plain(b"", b"hop 1", content(300), b"end")
    for step in (1, 2, 3, 7, 8, 9, 50):
        one = End(server_side=end.mask is not None)
        frames = []
        for at in range(0, len(output), step):
            one.session.write(output[at : at + step])
            frames += one.sent()
        assert [each.payload for each in frames] == [b"", b"hop 1", content(300), b"end"]
        assert all(each.fin for each in frames)


def test_what_is_held_of_an_agent_is_less_than_a_fragment(end):
    end.session.write(GREETING + struct.pack(">Q", 100 << 20) + bytes(65535))
    assert end.session.take_outgoing() == b""
    end.session.write(b"1")
    (fragment,) = end.sent()
    assert (len(fragment.payload), fragment.fin) == (65536, False)


def recorded(mask):
    """Return valid input of a peer, and what an agent reads of it."""
    stream = b"".join(
        [
            frame(BINARY, b"one", mask=mask),
            frame(BINARY, b"", mask=mask),
            frame(BINARY, b"to", fin=False, mask=mask),
            frame(PING, b"between", mask=mask),
            frame(CONTINUATION, b"", fin=False, mask=mask),
            frame(CONTINUATION, b"get", fin=False, mask=mask),
            frame(PONG, b"unasked", mask=mask),
            frame(CONTINUATION, b"her", mask=mask),
            frame(BINARY, content(200), mask=mask),
            close(1000, "done", mask=mask),
        ]
    )
    return stream, plain(b"one", b"", b"together", content(200))


def test_input_may_be_split_anywhere(end):
    stream, expected = recorded(end.mask)
    for at in range(1, len(stream)):
        one = End(server_side=end.mask is not None)
        received = one.receive(stream[:at])
        assert (received or b"") + (one.receive(stream[at:]) or b"") == expected
        assert one.read() is None
        assert one.sent()[-1].code == 1000


def test_input_may_arrive_byte_by_byte(end):
    stream, expected = recorded(end.mask)
    received = b"".join(end.receive(stream[at : at + 1]) or b"" for at in range(len(stream)))
    assert received == expected


def test_bytes_that_arrive_with_the_end_of_the_handshake_are_not_lost():
    session = WsSession(WsParams("pair1.sp.nanomsg.org", "a", "/", 10), server_side=True)
    session.feed(request() + frame(BINARY, b"early", mask=MASK))
    assert session.do_handshake()
    assert session.read(LONG) == GREETING + plain(b"early")


def test_a_read_returns_about_the_requested_length(end):
    end.session.feed(frame(BINARY, bytes(92), mask=end.mask) * 100)
    read = []
    while piece := end.session.read(1000):
        read.append(len(piece))
    assert read == [1000] * 10


# Pings


def test_a_ping_is_answered_with_its_payload(end):
    end.receive(frame(PING, b"are you there", mask=end.mask))
    (pong,) = end.sent()
    assert (pong.opcode, pong.payload) == (PONG, b"are you there")


def test_of_pings_that_wait_together_the_last_one_is_answered(end):
    for number in range(200):
        end.receive(frame(PING, b"%d" % number, mask=end.mask))
    assert [each.payload for each in end.sent()] == [b"199"]


def test_a_ping_is_answered_between_the_fragments_of_a_message(end):
    end.session.write(GREETING + plain(bytes(100_000))[:70_000])
    end.receive(frame(PING, b"?", mask=end.mask))
    assert [each.opcode for each in end.sent()] == [BINARY, PONG]


def test_a_pong_is_ignored(end):
    assert end.receive(frame(PONG, b"unasked", mask=end.mask)) == b""
    assert end.sent() == []


# Invalid input: frames, close code, text of the fault.
VIOLATIONS = {
    "text": ([(TEXT, b"hop", {})], 1003, "a text message, which SP does not use"),
    "empty text": ([(TEXT, b"", {})], 1003, "a text message, which SP does not use"),
    "text that is no UTF-8": ([(TEXT, b"\xff\xff", {})], 1003, "a text message, which SP does not use"),
    "a reserved bit": ([(BINARY, b"hop", {"rsv": 4})], 1002, "Reserved bit set unexpectedly"),
    "all reserved bits": ([(BINARY, b"hop", {"rsv": 7})], 1002, "Reserved bit set unexpectedly"),
    "opcode 3": ([(3, b"", {})], 1002, "Invalid opcode 0x3"),
    "opcode 15": ([(15, b"", {})], 1002, "Invalid opcode 0xf"),
    "a ping in fragments": ([(PING, b"", {"fin": False})], 1002, "Invalid attempt to fragment control frame"),
    "a long ping": ([(PING, bytes(126), {})], 1002, "Control frame with payload len > 125"),
    "a continuation of nothing": ([(CONTINUATION, b"hop", {})], 1002, "unexpected CONTINUATION"),
    "a message within a message": (
        [(BINARY, b"a", {"fin": False}), (BINARY, b"b", {})],
        1002,
        "expected CONTINUATION",
    ),
    "a close of one byte": ([(CLOSE, b"\3", {})], 1002, "CLOSE with 1 byte payload"),
    "a close with 999": ([(CLOSE, struct.pack(">H", 999), {})], 1002, "CLOSE with invalid code"),
    "a close with 1006": ([(CLOSE, struct.pack(">H", 1006), {})], 1002, "CLOSE with local-only reason"),
    "a close that is no UTF-8": ([(CLOSE, b"\3\xe8\xff", {})], 1007, "Error decoding CLOSE reason"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_a_peer_must_not_send_is_answered_with_a_close(end, name):
    frames, code, text = VIOLATIONS[name]
    stream = b"".join(frame(opcode, payload, mask=end.mask, **more) for opcode, payload, more in frames)

    found, detail = end.fault(frame(BINARY, b"before", mask=end.mask) + stream + b"\x82\0")
    assert found.startswith("the peer sent a ")
    assert text in (found if code == 1003 else detail)

    (closes,) = end.sent()
    assert (closes.opcode, closes.code) == (CLOSE, code)
    assert text in closes.reason


def test_a_peer_that_dials_must_mask_and_one_that_listens_must_not(end):
    _, detail = end.fault(frame(BINARY, b"hop", mask=None if end.mask else MASK))
    assert ("unexpected unmasked" if end.mask else "unexpected masked") in detail
    assert end.sent()[0].code == 1002


@pytest.mark.parametrize(
    "lengths", [b"\x7e\0\x7d", b"\x7f" + struct.pack(">Q", 65535), b"\x7f" + struct.pack(">Q", 1 << 63)]
)
def test_a_length_that_is_longer_than_need_be_or_negative_is_refused(lengths):
    end = End(server_side=False, max_message_length=1 << 64)
    assert "ayload length" in end.fault(b"\x82" + lengths)[1]
    assert end.sent()[0].code == 1002


def test_messages_before_a_violation_reach_the_agent(end):
    end.session.feed(frame(BINARY, b"good", mask=end.mask) + frame(TEXT, b"bad", mask=end.mask))
    assert end.session.read(LONG) == plain(b"good")
    with pytest.raises(SessionError):
        end.session.read(LONG)


def test_nothing_is_received_or_sent_after_a_violation(end):
    end.fault(frame(TEXT, b"bad", mask=end.mask))
    end.sent()
    assert "text" in end.fault(frame(BINARY, b"good", mask=end.mask))[0]
    end.session.write(GREETING + plain(b"late"))
    end.session.end()
    assert end.session.take_outgoing() == b""


# Limits


@pytest.mark.parametrize("server_side", [True, False])
@pytest.mark.parametrize("lengths", [[100], [60, 40], [0, 99, 1], [100, 0]])
def test_a_message_of_the_maximum_length_is_accepted(server_side, lengths):
    end = End(server_side=server_side, max_message_length=100)
    frames = [
        frame(BINARY if at == 0 else CONTINUATION, bytes(each), fin=at == len(lengths) - 1, mask=end.mask)
        for at, each in enumerate(lengths)
    ]
    assert end.receive(b"".join(frames) * 2) == plain(bytes(100)) * 2


@pytest.mark.parametrize("server_side", [True, False])
@pytest.mark.parametrize(
    "lengths", [[101], [60, 41], [100, 1], [0, 200], [1, 1 << 16], [1 << 40], [(1 << 63) - 1]]
)
def test_a_longer_one_is_refused_by_the_header_of_the_frame_that_makes_it_so(server_side, lengths):
    end = End(server_side=server_side, max_message_length=100)
    *first, last = lengths
    stream = b"".join(
        frame(CONTINUATION if at else BINARY, bytes(each), fin=False, mask=end.mask)
        for at, each in enumerate(first)
    )
    bit = 0x80 if server_side else 0
    if last < 126:
        header = bytes([bit | last])
    elif last == 200:
        header = bytes([bit | 126]) + struct.pack(">H", last)
    else:
        header = bytes([bit | 127]) + struct.pack(">Q", last)
    # Before any byte of its payload.
    header = bytes([0x80 if first else 0x82]) + header + (MASK if server_side else b"")

    text, _ = end.fault(stream + header)
    assert text == "the peer sent a message of more than 100 bytes: max-message= sets it"
    (closes,) = end.sent()
    assert (closes.code, closes.reason) == (1009, "a message of more than 100 bytes")


def test_fragments_of_a_byte_cost_no_more_memory_than_the_message():
    end = End(max_message_length=1 << 20)
    end.receive(frame(BINARY, b"a", fin=False, mask=MASK))
    piece = frame(CONTINUATION, b"a", fin=False, mask=MASK) * 200
    tracemalloc.start()
    try:
        for _ in range(50):
            end.now += 2  # seconds, in which as many are admitted
            assert end.receive(piece) == b""
            assert end.session.take_outgoing() == b""
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 10 000 bytes have arrived.
    assert held < 50_000


def test_empty_fragments_without_end_cost_no_memory(end):
    end.receive(frame(BINARY, b"", fin=False, mask=end.mask))
    piece = frame(CONTINUATION, b"", fin=False, mask=end.mask) * 200
    tracemalloc.start()
    try:
        for _ in range(25):
            end.now += 2
            assert end.receive(piece) == b""
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 20_000


def test_frames_of_both_ends_are_understood_by_the_other():
    dials, listens = End(server_side=False), End()
    for one, other in ((dials, listens), (listens, dials)):
        one.session.write(GREETING + plain(b"", content(100_000)))
        assert other.receive(one.session.take_outgoing()) == plain(b"", content(100_000))
    dials.session.end()
    assert listens.receive(dials.session.take_outgoing()) is None
    assert dials.receive(listens.session.take_outgoing()) is None
    assert frames_of(dials.session.take_outgoing()) == []


# Bounded steps


def test_one_read_processes_a_bounded_number_of_frames(end):
    piece = bytes(BYTES_PER_FRAME)
    flood = frame(BINARY, fin=False, mask=end.mask) + 999 * frame(
        CONTINUATION, piece, fin=False, mask=end.mask
    )
    end.session.feed(flood + frame(CONTINUATION, b"at last", mask=end.mask))

    reads = 1
    while (data := end.session.read(LONG)) is None:
        assert end.session.has_backlog
        reads += 1

    assert data == plain(999 * piece + b"at last")
    assert reads == -(-1001 // EVENTS_PER_STEP)
    assert end.session.read(LONG) is None
    assert not end.session.has_backlog


def test_empty_messages_of_the_agent_are_sent_step_by_step(end):
    end.session.write(GREETING + plain(*[b""] * 1000))

    steps = [frames_of(piece) for piece in iter(end.session.take_outgoing, b"")]

    assert max(len(step) for step in steps) <= EVENTS_PER_STEP
    assert sum(len(step) for step in steps) == 1000
    assert end.session.end()
    assert end.sent()[-1].code == 1000
