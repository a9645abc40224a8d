"""Two TLS sessions, and an attacker between them: what arrives is what was sent, or the session fails.

The first byte of an input: 1 for WebSocket over TLS at the server. Then steps, an operation and a block each.
"""

from __future__ import annotations

import ssl
from functools import cache

import trustme
from aeron_media.connections.relay.session import Session, SessionError
from aeron_media.connections.relay.session_stack import SessionStack
from aeron_media.connections.tls.session import MAX_UNREAD_LENGTH, TlsSession
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import WsSession
from plain_websocket import BINARY, MASK, frame, request

from targets._script import Script, block
from targets._texts import check_text

MAX_STEPS = 32
LIMIT = 1000
#: Operations: move the wire's bytes, with a block over them at an offset, in place of them, or cut; write; end.
#: No bytes in place of them are the end of the connection.
MOVE, PATCH, REPLACE, CUT, WRITE, END = range(6)
#: In addition to the operation: the bytes go to the client, or the client acts.
CLIENT = 8
#: WebSocket over TLS at the server.
STACKED = 1


@cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    return server, client


def seeds() -> list[bytes]:
    there, back = block(b"", MOVE), block(b"", MOVE | CLIENT)
    shaken = there + back + there + back
    return [
        b"\0" + shaken + block(b"hello", WRITE | CLIENT) + there + block(b"bye", WRITE) + back,
        b"\0" + shaken + block(b"", END | CLIENT) + there + block(b"", END) + back,
        b"\0" + shaken + block(b"cut", WRITE | CLIENT) + block(b"\x80", CUT) + block(b"", REPLACE),
        bytes([STACKED])
        + shaken
        + block(request(), WRITE | CLIENT)
        + there
        + back
        + block(frame(BINARY, b"\0\0\0\1x", mask=MASK), WRITE | CLIENT)
        + there
        + back,
    ]


class End:
    """One session, what it has read and written, and whether it has failed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_shaken = self.has_failed = self.has_ended = self.is_cut = False
        self.received, self.written = b"", b""

    def feed(self, data: bytes) -> None:
        if self.has_failed or self.is_cut:
            return
        self.is_cut = not data
        try:
            self.session.feed(data)
            self.is_shaken = self.is_shaken or self.session.do_handshake()
            while self.is_shaken and ((piece := self.session.read(4096)) or self.session.has_backlog):
                self.received += piece or b""
        except SessionError as error:
            self.has_failed = True
            check_text(error)
            check_text(Exception(error.detail or "none"))

    def act(self, operation: int, data: bytes) -> None:
        if self.has_failed or not self.is_shaken or self.has_ended:
            return
        try:
            if operation == WRITE:
                self.session.write(data)
                self.written += data
            else:
                self.has_ended = self.session.end()
        except SessionError:
            self.has_failed = True

    def outgoing(self) -> bytes:
        try:
            data = self.session.take_outgoing()
        except SessionError:
            self.has_failed = True
            return b""
        assert len(data) <= MAX_UNREAD_LENGTH + (1 << 16)
        return data


def check(data: bytes) -> bool:
    script = Script(data)
    is_stacked = bool(script.number() & STACKED)
    server_context, client_context = contexts()
    tls = TlsSession(server_context, server_side=True)
    upper = WsSession(WsParams("pair1.sp.nanomsg.org", "a", "/", LIMIT), server_side=True)
    server = End(SessionStack(tls, upper) if is_stacked else tls)
    client = End(TlsSession(client_context, server_side=False, server_name="localhost"))
    start(client)
    for operation, argument in script.blocks(MAX_STEPS):
        here, there = (client, server) if operation & CLIENT else (server, client)
        kind = operation & 7
        if kind in {WRITE, END}:
            here.act(kind, argument)
        elif kind <= CUT:
            data = tampered(there.outgoing(), kind, argument)
            if data or kind == REPLACE:
                here.feed(data)
    if not is_stacked:
        assert client.written.startswith(server.received)
        assert server.written.startswith(client.received)
    return server.is_shaken and not server.has_failed


def start(client: End) -> None:
    """Begin the handshake of a client, which sends first."""
    assert not client.session.do_handshake()


def tampered(data: bytes, kind: int, argument: bytes) -> bytes:
    if kind == REPLACE:
        return argument
    if kind == CUT:
        return data[: len(data) * (argument[0] if argument else 128) // 256]
    if kind == PATCH and data:
        at = int.from_bytes(argument[:2], "little") % len(data)
        return data[:at] + argument[2:] + data[at + len(argument[2:]) :]
    return data
