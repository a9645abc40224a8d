"""WebSocket on loopback: this implementation at both ends, or a peer that is simulated by the codec."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from pathlib import Path

import pytest
from aeron_media.sp.websocket.connections import WsConnections
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
)
from relayed_ends import receive, relay_threads, wait_for
from websocket_endpoints import MIB, Endpoints, HandMade, head_from, params, send_all
from websocket_ends import GREETING, plain

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ConfigurationError
from aeron_core.testing.connection_probe import accept


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


def test_a_half_close_reaches_the_other_end(any_endpoints):
    caller, taken = any_endpoints.pair()
    send_all(caller, plain(b"last"))
    caller.end()
    assert receive(taken, 12) == plain(b"last")
    wait_for(lambda: taken.receive() == b"")
    taken.close()
    wait_for(lambda: caller.receive() == b"")


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
