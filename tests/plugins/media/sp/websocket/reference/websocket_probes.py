"""The input and the documented answer of each row of docs/wire/sp-websocket.md."""

from __future__ import annotations

import struct
from pathlib import Path

from plain_websocket import BINARY, CLOSE, CONTINUATION, MASK, PING, PONG, TEXT, close, frame, masked, request

PAGE = Path(__file__).parents[6] / "docs" / "wire" / "sp-websocket.md"
HEADER = b"\0\0\0\1"
LIMIT = 1000


def _request(path="/x", **changes):
    return lambda host: request(path, **{"Host": host, **changes})


#: Requests by row; each is a function of the Host header.
REQUESTS = {
    "as above": _request(),
    "a list of subprotocols with ours in it": _request(subprotocol="chat, pair1.sp.nanomsg.org"),
    "another subprotocol": _request(subprotocol="pair.sp.nanomsg.org"),
    "no subprotocol": _request(subprotocol=None),
    "another path": _request("/y"),
    "our path and a query": _request("/x?y"),
    "another Host": _request(Host="elsewhere.example"),
    "no Host": _request(Host=None),
    "HTTP/1.0": _request(line="GET {} HTTP/1.0"),
    "POST": _request(line="POST {} HTTP/1.1"),
    "version 8": _request(Sec_WebSocket_Version="8"),
    "no version": _request(Sec_WebSocket_Version=None),
    "a key of 5 bytes": _request(Sec_WebSocket_Key="c2hvcnQ="),
    "no key": _request(Sec_WebSocket_Key=None),
    "Upgrade: h2c": _request(Upgrade="h2c"),
    "Connection: close": _request(Connection="close"),
    "permessage-deflate": _request(Sec_WebSocket_Extensions="permessage-deflate"),
    "no HTTP after GET": lambda _: b"GET\r\n\r\n",
    "more than 16 KiB": _request(More="a" * 17_000),
    "the 8 bytes of SP over TCP": lambda _: b"\0SP\0\0\x11\0\0",
}


def _message(length):
    return HEADER + bytes(length - len(HEADER))


def _masked(opcode, payload=b"", **more):
    return frame(opcode, payload, mask=MASK, **more)


FRAMES = {
    "a message": _masked(BINARY, _message(7)),
    "a message of 1000 bytes": _masked(BINARY, _message(1000)),
    "a message of 1001 bytes": _masked(BINARY, _message(1001)),
    "fragments of 1200 bytes": _masked(BINARY, _message(600), fin=False) + _masked(CONTINUATION, bytes(600)),
    "fragments, with a ping between them": _masked(BINARY, _message(7), fin=False)
    + _masked(PING, b"?")
    + _masked(CONTINUATION, b"more"),
    "a ping": _masked(PING, b"?"),
    "three pings at once": _masked(PING, b"1") + _masked(PING, b"2") + _masked(PING, b"3"),
    "a pong": _masked(PONG, b"!"),
    "text": _masked(TEXT, _message(7)),
    "an unmasked frame": frame(BINARY, _message(7)),
    "a reserved bit": _masked(BINARY, _message(7), rsv=4),
    "opcode 3": _masked(3),
    "a ping in fragments": _masked(PING, fin=False),
    "a ping of 126 bytes": _masked(PING, bytes(126)),
    "a continuation of nothing": _masked(CONTINUATION, _message(7)),
    "a message within a message": _masked(BINARY, _message(7), fin=False) + _masked(BINARY, _message(7)),
    "a length of 4 in two bytes": b"\x82\xfe\0\4" + MASK + masked(HEADER),
    "a length of 2^62": b"\x82\xff" + struct.pack(">Q", 1 << 62) + MASK,
    "a length of 2^63": b"\x82\xff" + struct.pack(">Q", 1 << 63) + MASK,
    "close 1000": close(1000, mask=MASK),
    "close 3000": close(3000, "why", mask=MASK),
    "close without a code": _masked(CLOSE),
    "close of one byte": _masked(CLOSE, b"\3"),
    "close 999": close(999, mask=MASK),
    "close 1006": close(1006, mask=MASK),
    "close with a reason that is no UTF-8": _masked(CLOSE, b"\3\xe8\xff"),
}


def answers(begin):
    """Return a table of the page: by row, the answers of this implementation and of nng."""
    (table,) = [
        part for part in PAGE.read_text(encoding="utf-8").split("\n\n") if part.startswith(f"| {begin}")
    ]
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.strip().splitlines()[2:]
    ]
    return {row: (ours, nngs) for row, ours, nngs in rows}


def answer_text(frames):
    """Return the description of an answer on the page."""
    parts = []
    for each in frames:
        if each.opcode == CLOSE:
            parts.append("close" if each.code is None else f"close {each.code}")
        else:
            parts.append({BINARY: "message", PONG: "pong"}[each.opcode])
    return ", ".join(parts) or "nothing"
