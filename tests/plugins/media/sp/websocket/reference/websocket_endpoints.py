"""WebSocket listeners and connections of this implementation, and a connecting peer that uses the codec on a socket."""

from __future__ import annotations

import socket
from functools import partial

from aeron_media.connections.tls.contexts import TlsContexts
from aeron_media.connections.tls.parameters import TlsParameters
from aeron_media.sp.websocket.connections import WsConnections
from aeron_media.sp.websocket.params import WsParams
from plain_websocket import (
    BINARY,
    CLOSE,
    MASK,
    frame,
    frames_of,
    headers_of,
    request,
    whole_frames_of,
)
from relayed_ends import RelayedEnds, receive, wait_for
from websocket_ends import GREETING

MIB = 1 << 20


def params(path="/x", host="127.0.0.1:80", max_message_length=MIB, subprotocol="pair1.sp.nanomsg.org"):
    return WsParams(subprotocol, host, path, max_message_length)


class Endpoints(RelayedEnds):
    """WebSocket listeners and connections."""

    def __init__(self, certificates=None):
        super().__init__()
        self._certificates = certificates

    def contexts(self, *, server_side):
        if self._certificates is None:
            return None
        cert, key = self._certificates.server
        given = {"cert": cert, "key": key} if server_side else {"ca": self._certificates.ca}
        return TlsContexts(
            TlsParameters(tls="true", **given),
            server_side=server_side,
            server_name=None if server_side else "127.0.0.1",
        )

    def listen(self, limits=None, **given):
        network = WsConnections(params(**given), self.contexts(server_side=True), **(limits or {}))
        return network, self.listen_on(network)

    def caller(self, limits=None, **given):
        network = WsConnections(params(**given), self.contexts(server_side=False), **(limits or {}))
        return network, self.caller_of(network)

    def pair(self, **given):
        """Return two connected ends that have read their greetings."""
        _, listener = self.listen(**given)
        _, caller = self.caller(**given)
        caller.connect(listener.local_address())
        wait_for(caller.is_connected)
        taken = self.taken(listener)
        for probe in (caller, taken):
            assert receive(probe, 8) == GREETING
            send_all(probe, GREETING)
        return caller, taken


def send_all(probe, data):
    sent = 0
    while sent < len(data):
        sent += wait_for(partial(probe.send, data[sent : sent + 65536]))


def head_from(sock):
    """Return a request or a response, without the bytes after it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    return head


class HandMade:
    """A connecting peer that uses the codec on a socket."""

    def __init__(self, listener, given=None):
        self.sock = socket.create_connection(listener.local_address().as_tuple(), timeout=10)
        self.sock.sendall(request("/x") if given is None else given)
        self.line, self.headers = headers_of(head_from(self.sock))

    def send(self, *messages):
        self.sock.sendall(b"".join(frame(BINARY, message, mask=MASK) for message in messages))

    def until_close(self):
        """Return the frames up to a close frame."""
        data = b""
        while not (frames := whole_frames_of(data)) or frames[-1].opcode != CLOSE:
            data += self.sock.recv(65536)
        return frames

    def rest(self):
        """Return the frames until the connection ends, without a reset."""
        data = b""
        while piece := self.sock.recv(65536):
            data += piece
        return frames_of(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
