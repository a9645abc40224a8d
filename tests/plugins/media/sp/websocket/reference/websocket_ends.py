"""Sessions at one end of a connection, without a socket, and their output."""

from __future__ import annotations

import struct

from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import WsSession
from plain_websocket import MASK, answer, frames_of, headers_of, request

GREETING = b"\0SP\0\0\x11\0\0"
LONG = 1 << 30


class End:
    """A session after its handshake. `mask`: the mask of the frames of its peer."""

    def __init__(self, *, server_side=True, max_message_length=1 << 20):
        self.now = 100.0
        params = WsParams(
            "pair1.sp.nanomsg.org", "example.com", "/", max_message_length, ttl=8, accepts_zero_hops=False
        )
        self.session = WsSession(params, server_side=server_side, now=lambda: self.now)
        self.mask = MASK if server_side else None
        if server_side:
            self.session.feed(request())
            assert self.session.do_handshake()
            self.session.take_outgoing()
        else:
            _, headers = headers_of(self.session.take_outgoing())
            assert not self.session.do_handshake()
            self.session.feed(answer(headers["sec-websocket-key"]))
            assert self.session.do_handshake()
        assert self.session.read(LONG) == GREETING

    def receive(self, data):
        """Feed bytes of the peer; return what the agent reads then, None for an end."""
        self.session.feed(data)
        return self.read()

    def read(self):
        pieces = b""
        while (piece := self.session.read(LONG)) is not None or self.session.has_backlog:
            if piece == b"":
                return pieces or None
            pieces += piece or b""
        return pieces

    def fault(self, data):
        """Feed invalid bytes of the peer; return the fault text and its detail."""
        self.session.feed(data)
        try:
            while self.session.read(LONG) or self.session.has_backlog:
                pass
        except SessionError as error:
            return str(error), error.detail
        return "", ""

    def sent(self):
        """Return the outgoing frames."""
        return frames_of(b"".join(iter(self.session.take_outgoing, b"")))


def plain(*messages):
    """Return messages in the TCP mapping of SP, as an agent reads them."""
    return b"".join(struct.pack(">Q", len(message)) + message for message in messages)


def content(length):
    """Return a payload whose bytes differ."""
    return bytes(range(256)) * (length // 256) + bytes(range(length % 256))
