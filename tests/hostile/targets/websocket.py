"""A WebSocket session: an agent gets complete messages within the limit, then an end or a fault.

The first byte of an input: 1 for a client session, 2 for input after a valid handshake, 4 and 8 for the length of the
pieces in which it arrives.
"""

from __future__ import annotations

import struct

from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import WsSession
from plain_websocket import BINARY, CONTINUATION, MASK, PING, PONG, answer, close, frame, headers_of, request

LIMIT = 1000
GREETING = b"\0SP\0\0\x11\0\0"
PARAMS = WsParams("pair1.sp.nanomsg.org", "a", "/", LIMIT)
MAX_READS = 10_000
CLIENT, SHAKEN = 1, 2


def frames(mask: bytes | None) -> bytes:
    return b"".join(
        [
            frame(BINARY, b"\0\0\0\1hello", mask=mask),
            frame(PING, b"?", mask=mask),
            frame(BINARY, b"\0\0\0\1" + bytes(130), fin=False, mask=mask),
            frame(PONG, b"", mask=mask),
            frame(CONTINUATION, bytes(20), mask=mask),
            frame(BINARY, b"", mask=mask),
            close(1000, "bye", mask=mask),
        ]
    )


def seeds() -> list[bytes]:
    return [
        bytes([0]) + request() + frames(MASK),
        bytes([SHAKEN]) + frames(MASK),
        bytes([SHAKEN | 4]) + frames(MASK),
        bytes([SHAKEN | CLIENT | 8]) + frames(None),
    ]


def check(data: bytes) -> bool:
    mode, content = (data[0] if data else 0), data[1:]
    session = WsSession(PARAMS, server_side=not mode & CLIENT)
    if mode & SHAKEN:
        key = headers_of(session.take_outgoing())[1]["sec-websocket-key"] if mode & CLIENT else ""
        content = (answer(key) if mode & CLIENT else request()) + content
    step = {0: 65536, 4: 100, 8: 5, 12: 1}[mode & 12]
    received, sent, fault = bytearray(), 0, ""
    is_shaken = False
    try:
        for at in [*range(0, len(content), step), len(content)]:
            session.feed(content[at : at + step])
            is_shaken = is_shaken or session.do_handshake()
            if is_shaken:
                received += read_all(session)
            assert session.held_length <= LIMIT + 200
            sent += len(session.take_outgoing())
    except SessionError as error:
        fault = f"{error}{error.detail}"
        assert fault.isprintable()
        assert len(fault) < 400
        sent += len(session.take_outgoing())
    # An answer to each frame at most, whose shortest has two bytes, and one to the handshake.
    assert sent <= 70 * len(content) + 2000
    check_messages(bytes(received))
    return is_shaken and not fault


def read_all(session: WsSession) -> bytes:
    received = b""
    for _ in range(MAX_READS):
        piece = session.read(65536)
        if not piece and not session.has_backlog:
            return received
        received += piece or b""
    raise AssertionError(f"{MAX_READS} reads have not reached the end")


def check_messages(received: bytes) -> None:
    if not received:
        return
    assert received[:8] == GREETING
    received = received[8:]
    while received:
        (length,) = struct.unpack(">Q", received[:8])
        assert length <= LIMIT
        assert len(received) >= 8 + length
        received = received[8 + length :]
