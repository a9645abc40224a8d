"""WebSocket on loopback: this implementation at both ends, or a peer that is simulated by the codec."""

from __future__ import annotations

import errno
import os
import select
import socket
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from aeron_media.connections.relay import relayed_connection
from aeron_media.connections.tls.contexts import TlsContexts
from aeron_media.connections.tls.parameters import TlsParameters
from aeron_media.sp.websocket.connections import WsConnections
from aeron_media.sp.websocket.params import WsParams
from plain_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    MASK,
    answer,
    close,
    frame,
    frames_of,
    headers_of,
    request,
    whole_frames_of,
)
from relayed_ends import RelayedEnds, failure, fault, receive, relay_threads, wait_for
from websocket_ends import GREETING, plain

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ConfigurationError
from aeron_core.testing.connection_probe import accept

MIB = 1 << 20
REFUSAL = "this endpoint takes no peer now"


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


@pytest.fixture
def endpoints():
    made = Endpoints()
    yield made
    made.close()


@pytest.fixture(params=["ws", "wss"])
def any_endpoints(request, certificates):
    made = Endpoints(certificates if request.param == "wss" else None)
    yield made
    made.close()


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


def test_our_streams_see_what_they_see_of_tcp(any_endpoints):
    caller, taken = any_endpoints.pair()
    send_all(caller, plain(b"", b"\0\0\0\1hello"))
    assert receive(taken, 8 + 17) == plain(b"", b"\0\0\0\1hello")
    send_all(taken, plain(b"\0\0\0\1world"))
    assert receive(caller, 17) == plain(b"\0\0\0\1world")


@pytest.mark.parametrize("length", [65536, MIB])
def test_long_messages_arrive_as_they_were(any_endpoints, length):
    caller, taken = any_endpoints.pair()
    message = os.urandom(length)
    for one, other in ((caller, taken), (taken, caller)):
        assert sent_through(one, other, plain(message)) == plain(message)


def sent_through(one, other, data):
    """Send and receive alternately, because the buffers cannot hold all bytes; return what was received."""
    sent, received = 0, bytearray()
    while len(received) < len(data):
        sent += one.send(data[sent : sent + 65536]) if sent < len(data) else 0
        received += other.receive() or b""
    return bytes(received)


def test_a_full_connection_accepts_no_more_bytes_and_loses_none(any_endpoints):
    caller, taken = any_endpoints.pair()
    chunk = plain(*[os.urandom(1000) for _ in range(50)])
    sent = bytearray()
    last = time.monotonic()
    # The connection is full if it accepts nothing for a while.
    while time.monotonic() - last < 0.5:
        if count := caller.send(chunk[len(sent) % len(chunk) :]):
            at = len(sent) % len(chunk)
            sent += chunk[at : at + count]
            last = time.monotonic()
    assert len(sent) < 32 * MIB
    whole = len(sent) - len(sent) % 1008
    assert receive(taken, whole) == bytes(sent[:whole])


def test_a_listener_returns_the_address_of_the_peer(endpoints):
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        probe, address = wait_for(lambda: accept(listener))
        assert address.as_tuple() == peer.sock.getsockname()
        probe.close()


def test_what_was_sent_before_a_close_is_delivered_and_then_the_close(endpoints):
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        taken = endpoints.taken(listener)
        # More than is read at once: closing without reading the rest would reset the connection.
        peer.send(*[bytes(1000)] * 500)
        send_all(taken, GREETING + plain(b"last"))
        taken.close()
        message, closes = peer.until_close()
        assert message.payload == b"last"
        assert (closes.opcode, closes.code) == (CLOSE, 1000)
        peer.sock.sendall(close(1000, mask=MASK))
        assert peer.sock.recv(1) == b""


def test_a_peer_that_does_not_answer_a_close_is_cut(endpoints, monkeypatch):
    monkeypatch.setattr(relayed_connection, "CLOSING_LIMIT_S", 0.1)
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        taken = endpoints.taken(listener)
        send_all(taken, GREETING + plain(b"last"))
        taken.close()
        assert peer.until_close()[-1].code == 1000
        with pytest.raises(ConnectionResetError):
            peer.sock.recv(100)


@pytest.mark.parametrize("greets", [True, False])
def test_a_peer_that_is_refused_reads_why(endpoints, greets):
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        assert peer.line.startswith("HTTP/1.1 101")
        peer.send(b"\0\0\0\1lost")
        taken = endpoints.taken(listener)
        send_all(taken, GREETING if greets else b"")
        taken.close()
        (closes,) = peer.until_close()
        assert (closes.code, closes.reason) == (1008, REFUSAL)


def test_a_refused_connection_fails_with_the_reason(any_endpoints):
    _, listener = any_endpoints.listen()
    network, caller = any_endpoints.caller()
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    taken = any_endpoints.taken(listener)
    send_all(taken, GREETING)
    taken.close()
    assert receive(caller, 8) == GREETING
    assert failure(caller.receive) == errno.ECONNRESET
    reason = fault(network).reason
    assert reason.startswith(f"the peer closed the connection with code 1008: '{REFUSAL}'; see RFC 6455")


def test_a_half_close_reaches_the_other_end(any_endpoints):
    caller, taken = any_endpoints.pair()
    send_all(caller, plain(b"last"))
    caller.end()
    assert receive(taken, 12) == plain(b"last")
    wait_for(lambda: taken.receive() == b"")
    taken.close()
    wait_for(lambda: caller.receive() == b"")


@pytest.mark.parametrize("sends_close", [True, False])
def test_a_peer_that_leaves_has_ended(endpoints, sends_close):
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        taken = endpoints.taken(listener)
        assert receive(taken, 8) == GREETING
        peer.send(b"last")
        if sends_close:
            peer.sock.sendall(close(1000, mask=MASK))
            assert peer.until_close()[0].code == 1000
    assert receive(taken, 12) == plain(b"last")
    wait_for(lambda: taken.receive() == b"")


def test_a_connection_that_is_cut_within_a_message_gives_whole_ones_and_a_failure(endpoints):
    _, listener = endpoints.listen()
    with HandMade(listener) as peer:
        taken = endpoints.taken(listener)
        peer.send(b"whole")
        assert receive(taken, 8 + 13) == GREETING + plain(b"whole")
        peer.sock.sendall(frame(BINARY, bytes(1000), mask=MASK)[:500])
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert failure(taken.receive) == errno.ECONNRESET


def test_a_message_that_is_too_long_is_refused_while_it_is_being_sent(endpoints):
    network, listener = endpoints.listen(max_message_length=100)
    with HandMade(listener) as peer:
        taken = endpoints.taken(listener)
        peer.sock.sendall(frame(BINARY, bytes(300_000), mask=MASK))
        (closes,) = peer.rest()
        assert (closes.code, closes.reason) == (1009, "a message of more than 100 bytes")
        assert receive(taken, 8) == GREETING
        assert failure(taken.receive) == errno.ECONNRESET
        found = fault(network)
        assert found.reason == "the peer sent a message of more than 100 bytes: max-message= sets it"
        assert found.source == "{}:{}".format(*peer.sock.getsockname())


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (request("/"), 404),
        (request("/x", subprotocol="pair.sp.nanomsg.org"), 400),
        (request("/x", line="GET {} HTTP/1.0"), 505),
        (request("/x", line="POST {} HTTP/1.1"), 405),
    ],
)
def test_a_request_that_is_refused_is_answered_and_reaches_no_agent(endpoints, given, status):
    network, listener = endpoints.listen()
    with HandMade(listener, given) as peer:
        assert peer.line.startswith(f"HTTP/1.1 {status}")
        assert peer.rest() == []
        assert f": answered with {status}; " in fault(network).reason
    assert accept(listener) is None


def test_a_connection_to_an_unknown_path_fails_with_the_reason(any_endpoints):
    _, listener = any_endpoints.listen(path="/x")
    network, caller = any_endpoints.caller(path="/y")
    caller.connect(listener.local_address())
    assert failure(caller.is_connected) == errno.EPROTO
    found = fault(network)
    assert found.reason.startswith("the peer answered 404 to /y, not 101: ")
    assert found.source == str(listener.local_address())


def test_a_connection_to_a_peer_of_another_protocol_fails(endpoints):
    network, caller = endpoints.caller()
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller.connect(SocketAddress.of(*server.getsockname()))
        with server.accept()[0] as peer:
            peer.sendall(GREETING)
            assert failure(caller.is_connected) == errno.EPROTO
    assert fault(network).reason.startswith("the peer does not speak HTTP: ")


def test_a_stream_of_ours_speaks_with_a_listener_made_by_hand(endpoints):
    _, caller = endpoints.caller()
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller.connect(SocketAddress.of(*server.getsockname()))
        with server.accept()[0] as peer:
            line, headers = headers_of(head_from(peer))
            assert (line, headers["host"]) == ("GET /x HTTP/1.1", "127.0.0.1:80")
            # The first message arrives together with the response.
            first = frame(BINARY, b"fir", fin=False) + frame(CONTINUATION, b"st")
            peer.sendall(answer(headers["sec-websocket-key"]) + first)
            wait_for(caller.is_connected)
            assert receive(caller, 8 + 13) == GREETING + plain(b"first")
            send_all(caller, GREETING + plain(b"second"))
            (message,) = frames_of(peer.recv(4 + 2 + 6, socket.MSG_WAITALL))
            assert (message.opcode, message.payload, len(message.mask)) == (BINARY, b"second", 4)


def test_a_peer_that_stalls_in_the_handshake_is_disconnected(endpoints):
    network, listener = endpoints.listen({"handshake_timeout_ns": 50_000_000})
    with socket.create_connection(listener.local_address().as_tuple(), timeout=10) as stalled:
        stalled.sendall(request("/x")[:-1])
        with pytest.raises(ConnectionResetError):
            stalled.recv(1)
        reason = fault(network).reason
        assert reason == "no WebSocket handshake within 0.05 s: check that the peer uses WebSocket"


def test_a_peer_that_stalls_within_a_message_is_parted_with(any_endpoints):
    network, listener = any_endpoints.listen({"message_timeout_ns": 50_000_000})
    _, caller = any_endpoints.caller()
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    # The first fragment is sent, the rest never follows.
    send_all(caller, GREETING + plain(bytes(100_000))[:70_000])
    taken = any_endpoints.taken(listener)
    assert receive(taken, 8) == GREETING
    assert failure(taken.receive) == errno.ECONNRESET
    given = fault(network).reason
    assert given.startswith("incomplete message: the rest did not arrive within 0.05 s, so the connection ")


def test_a_peer_that_leaves_in_the_handshake_is_named(endpoints):
    network, listener = endpoints.listen()
    with socket.create_connection(listener.local_address().as_tuple(), timeout=10) as peer:
        peer.sendall(request("/x")[:-1])
    reason = fault(network).reason
    assert reason.startswith("the peer closed the connection during the WebSocket handshake: ")


def test_a_peer_that_stalls_in_the_request_above_tls_is_reported_with_its_layer(certificates, python_context):
    endpoints = Endpoints(certificates)
    network, listener = endpoints.listen({"handshake_timeout_ns": 200_000_000})
    with python_context().wrap_socket(
        socket.create_connection(listener.local_address().as_tuple(), timeout=10), server_hostname="127.0.0.1"
    ):
        reason = fault(network).reason
        assert reason == "no WebSocket handshake within 0.2 s: check that the peer uses WebSocket"
    endpoints.close()


def test_idle_connections_use_no_cpu_time(endpoints):
    _, listener = endpoints.listen()
    peers = [HandMade(listener) for _ in range(3)]
    taken = [endpoints.taken(listener) for _ in peers]
    # One connection has ended, another has unread bytes.
    taken[0].end()
    peers[1].send(b"unread")
    send_all(taken[2], GREETING + plain(b"unread"))
    select.select([], [], [], 0.1)
    before = time.process_time()
    select.select([], [], [], 0.3)
    assert time.process_time() - before < 0.1
    for peer in peers:
        peer.sock.close()


def test_no_descriptor_is_left_open(certificates):
    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    def live():
        endpoints = Endpoints(certificates)
        endpoints.pair()
        endpoints.close()

    live()
    before = descriptors()
    live()
    assert descriptors() == before
    assert relay_threads() == []


def test_without_wsproto_the_error_names_the_extra_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("aeron_media.sp.websocket.")]:
        if name not in ("aeron_media.sp.websocket.params", "aeron_media.sp.websocket.connections"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wsproto", None)
    monkeypatch.setitem(sys.modules, "wsproto.connection", None)
    with pytest.raises(
        ConfigurationError, match=r"needs wsproto\S*, which is not installed: pip install 'aeron-core"
    ):
        WsConnections(params())
