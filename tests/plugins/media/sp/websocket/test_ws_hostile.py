"""Invalid input: an agent gets complete messages within the limit, then an end or a fault."""

from __future__ import annotations

import os
import random
import struct

import pytest
from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import WsSession
from plain_websocket import BINARY, CONTINUATION, MASK, PING, PONG, answer, close, frame, headers_of, request
from websocket_ends import GREETING

EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "300"))
LIMIT = 1000


def recorded(head, mask):
    """Return the valid input of one connection."""
    return b"".join(
        [
            head,
            frame(BINARY, b"\0\0\0\1hello", mask=mask),
            frame(PING, b"?", mask=mask),
            frame(BINARY, b"\0\0\0\1" + bytes(300), fin=False, mask=mask),
            frame(PONG, b"", mask=mask),
            frame(CONTINUATION, bytes(600), mask=mask),
            frame(BINARY, b"", mask=mask),
            close(1000, "bye", mask=mask),
        ]
    )


def mutated(stream, chance):
    """Return the input with some bytes flipped, removed, doubled, or replaced by special values."""
    data = bytearray(stream)
    for _ in range(chance.choice([1, 1, 1, 2, 5, 30])):
        at = chance.randrange(len(data))
        match chance.randrange(6):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at : at + chance.randrange(1, 20)]
            case 2:
                data[at:at] = data[at : at + chance.randrange(1, 200)]
            case 3:
                data[at] = chance.choice([0, 0x7E, 0x7F, 0x80, 0x81, 0x88, 0x89, 0xFE, 0xFF])
            case 4:
                data[at : at + 8] = struct.pack(">Q", chance.choice([0, LIMIT + 1, 1 << 40, (1 << 64) - 1]))
            case 5:
                data[at:at] = chance.randbytes(chance.randrange(1, 100))
    return bytes(data)


def fed_in_pieces(session, stream, chance):
    """Return what an agent reads, and the fault text, empty without a fault."""
    is_shaken = False
    received = bytearray()
    at = 0
    while at < len(stream):
        length = chance.choice([1, 5, 100, 65536])
        session.feed(stream[at : at + length])
        at += length
        try:
            if not is_shaken:
                is_shaken = session.do_handshake()
            while is_shaken and ((piece := session.read(65536)) or session.has_backlog):
                received += piece or b""
        except SessionError as error:
            session.take_outgoing()
            return bytes(received), str(error)
        if chance.random() < 0.5:
            session.take_outgoing()
    session.feed(b"")
    return bytes(received), ""


def messages_of(received):
    """Return the messages that an agent has read, which must be complete."""
    if not received:
        return []
    assert received[:8] == GREETING
    received = received[8:]
    messages = []
    while received:
        (length,) = struct.unpack(">Q", received[:8])
        assert length <= LIMIT
        assert len(received) >= 8 + length
        messages.append(received[8 : 8 + length])
        received = received[8 + length :]
    return messages


@pytest.mark.parametrize("server_side", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_connection_ends_with_complete_messages_and_a_fault_text(server_side, seed):
    print(f"seed {seed}, {EXAMPLES} examples")
    chance = random.Random(f"{seed} {server_side}")
    outcomes = set()
    for _ in range(EXAMPLES):
        session = WsSession(WsParams("pair1.sp.nanomsg.org", "a", "/", LIMIT), server_side=server_side)
        if server_side:
            stream = recorded(request(), MASK)
        else:
            _, headers = headers_of(session.take_outgoing())
            stream = recorded(answer(headers["sec-websocket-key"]), None)

        received, fault = fed_in_pieces(session, mutated(stream, chance), chance)

        messages_of(received)
        assert fault.isprintable()
        assert len(fault) < 400
        outcomes.add(fault)
    assert len(outcomes) > 5


@pytest.mark.parametrize("server_side", [True, False])
def test_what_is_no_websocket_at_all_fails(server_side):
    chance = random.Random(1)
    for _ in range(EXAMPLES):
        session = WsSession(WsParams("pair1.sp.nanomsg.org", "a", "/", LIMIT), server_side=server_side)
        noise = chance.randbytes(20_000)
        received, fault = fed_in_pieces(session, noise, chance)
        assert received == b""
        assert fault
