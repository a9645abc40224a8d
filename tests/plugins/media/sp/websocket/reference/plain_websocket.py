"""A minimal WebSocket codec after RFC 6455, without a library."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import NamedTuple

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
#: The example of section 1.2.
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
MASK = b"\x37\xfa\x21\x3d"


def request(path="/", subprotocol="pair1.sp.nanomsg.org", line="GET {} HTTP/1.1", **headers):
    """Return a request; headers are named with _ for -, None omits one."""
    fields = {
        "Host": "server.example.com",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Protocol": subprotocol,
        "Sec-WebSocket-Version": "13",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return _head(line.format(path), fields)


def answer(key=KEY, subprotocol="pair1.sp.nanomsg.org", line="HTTP/1.1 101 Switching Protocols", **headers):
    """Return the response to a request with a key."""
    digest = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
    fields = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
        "Sec-WebSocket-Protocol": subprotocol,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return _head(line, fields)


def _head(line, fields):
    lines = [line, *(f"{name}: {value}" for name, value in fields.items() if value is not None), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def headers_of(head):
    """Return the first line of a message head, and its headers by lower-case name."""
    first, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    return first, {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def masked(payload, mask=MASK):
    return bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def frame(opcode, payload=b"", *, mask=None, fin=True, rsv=0):
    """Return one frame, with the shortest encoding of its length."""
    bit = 0x80 if mask else 0
    length = len(payload)
    if length < 126:
        lengths = bytes([bit | length])
    elif length < 1 << 16:
        lengths = bytes([bit | 126]) + struct.pack(">H", length)
    else:
        lengths = bytes([bit | 127]) + struct.pack(">Q", length)
    first = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    return first + lengths + (mask + masked(payload, mask) if mask else payload)


def close(code, reason="", *, mask=None):
    return frame(CLOSE, struct.pack(">H", code) + reason.encode(), mask=mask)


class Frame(NamedTuple):
    opcode: int
    payload: bytes
    fin: bool
    mask: bytes | None

    @property
    def code(self):
        """The status code of a close frame, None without one."""
        return struct.unpack(">H", self.payload[:2])[0] if self.payload else None

    @property
    def reason(self):
        return self.payload[2:].decode()


def frames_of(data):
    """Return the frames of `data`, which must all be complete."""
    frames, rest = _parsed(data)
    assert rest == b""
    return frames


def whole_frames_of(data):
    """Return the complete frames of `data`."""
    return _parsed(data)[0]


def _parsed(data):
    frames = []
    while len(data) >= 2:
        first, second = data[:2]
        assert first & 0x70 == 0
        length, begin = second & 0x7F, 2
        if length >= 126:
            begin = 4 if length == 126 else 10
            if len(data) < begin:
                break
            least = 126 if length == 126 else 1 << 16
            length = int.from_bytes(data[2:begin], "big")
            assert length >= least
        mask = None
        if second & 0x80:
            mask, begin = data[begin : begin + 4], begin + 4
        if len(data) < begin + length:
            break
        payload = data[begin : begin + length]
        frames.append(
            Frame(first & 0x0F, masked(payload, mask) if mask else payload, bool(first & 0x80), mask)
        )
        data = data[begin + length :]
    return frames, data
