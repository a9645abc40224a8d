"""Peers of a WebSocket that are refused, stall, leave or are cut."""

from __future__ import annotations

import errno
import socket

import pytest
from aeron_media.connections.relay import relayed_connection
from plain_websocket import (
    BINARY,
    MASK,
    close,
    frame,
    request,
)
from relayed_ends import failure, fault, receive, wait_for
from websocket_endpoints import Endpoints, HandMade, send_all
from websocket_ends import GREETING, plain

from aeron_core._native.address import SocketAddress
from aeron_core.testing.connection_probe import accept

REFUSAL = "this endpoint takes no peer now"


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
