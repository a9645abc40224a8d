"""TLS on loopback: Python's `ssl` at one end of a connection, or this implementation at both."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
import time
from pathlib import Path

import pytest
from aeron_media._native.relays import hand_over
from aeron_media.connections.relay import relay_thread, relayed_connection
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.tls.connections import TlsConnections
from aeron_media.connections.tls.contexts import TlsContexts
from relayed_ends import LOOPBACK, failure, fault, receive, wait_for
from tls_ends import Endpoints, dial, identity, parameters
from vanished_hosts import vanish

from aeron_core.spi.endpoints import Fault
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept


def test_bytes_that_python_sends_over_tls_are_received_plain(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        taken = endpoints.taken(listener)
        client.sendall(b"window")
        assert receive(taken, 6) == b"window"
        taken.send(b"ack")
        assert client.recv(10) == b"ack"


def test_a_listener_returns_the_address_of_the_peer(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        probe, peer = wait_for(lambda: accept(listener))
        assert peer.as_tuple() == client.getsockname()
        probe.close()


def test_both_ends_of_this_implementation_work_together(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    _, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    taken = endpoints.taken(listener)
    caller.send(b"window")
    assert receive(taken, 6) == b"window"
    taken.send(b"ack")
    assert receive(caller, 3) == b"ack"


def test_a_full_connection_accepts_no_more_bytes_and_loses_none(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    _, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    taken = endpoints.taken(listener)
    chunk = os.urandom(50_000)
    sent = bytearray()
    last = time.monotonic()
    # The connection is full if it accepts nothing for a while.
    while time.monotonic() - last < 0.5:
        if count := caller.send(chunk):
            sent += chunk[:count]
            last = time.monotonic()
    assert len(sent) < 32 << 20
    assert receive(taken, len(sent)) == bytes(sent)


def test_a_half_close_leaves_the_other_direction_open(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    _, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    taken = endpoints.taken(listener)
    caller.send(b"last")
    caller.end()
    assert receive(taken, 4) == b"last"
    wait_for(lambda: taken.receive() == b"")
    taken.send(b"still open")
    assert receive(caller, 10) == b"still open"
    taken.end()
    wait_for(lambda: caller.receive() == b"")


@pytest.mark.parametrize("sends_close", [True, False])
def test_a_peer_that_closes_is_an_end(endpoints, certificates, python_context, sends_close):
    _, listener = endpoints.listen(**identity(certificates.server))
    client = dial(listener, python_context())
    taken = endpoints.taken(listener)
    client.sendall(b"all")
    assert receive(taken, 3) == b"all"
    if sends_close:
        taken.end()
        client.unwrap()
    client.close()
    wait_for(lambda: taken.receive() == b"")


def test_bytes_sent_before_a_close_are_delivered_with_an_end(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        taken = endpoints.taken(listener)
        taken.send(b"ack")
        taken.close()
        assert client.recv(10) == b"ack"
        # Raises if the connection is reset instead of ended.
        client.suppress_ragged_eofs = False
        assert client.recv(10) == b""


def test_a_close_with_something_unread_delivers_what_was_sent_before(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        taken = endpoints.taken(listener)
        client.sendall(b"unread")
        # Read the first byte only; the others stay unread.
        assert wait_for(ConnectionProbe(taken.connection, length=1).receive) == b"u"
        taken.send(b"ack")
        taken.close()
        client.suppress_ragged_eofs = False
        assert client.recv(10) == b"ack"
        assert client.recv(10) == b""


def test_a_reset_connection_is_a_failure_and_not_an_end(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    client = dial(listener, python_context())
    taken = endpoints.taken(listener)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    assert failure(taken.receive) == errno.ECONNRESET


def test_an_address_without_a_listener_refuses_the_connection(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    _, caller = endpoints.caller(ca=certificates.ca)
    address = listener.local_address()
    listener.close()
    caller.connect(address)
    assert failure(caller.is_connected) == errno.ECONNREFUSED


def test_a_connection_closed_before_it_fails_does_not_affect_others(certificates):
    def connect(peer):
        raise OSError(errno.ENETUNREACH, "no route")

    relay = relay_thread.RelayThread(RelayParams("tls", None, None, 10), connect=connect)
    for closes in (True, False):
        ours, theirs = socket.socketpair()
        if closes:
            ours.close()
        hand_over(relay.agent_end.fileno(), theirs.fileno(), LOOPBACK)
        theirs.close()
    ours.settimeout(10)
    assert ours.recv(1) == bytes([errno.ENETUNREACH])
    ours.close()
    relay.close()
    relay.thread.join(10)
    assert not relay.thread.is_alive()


def test_a_peer_that_stalls_in_the_handshake_is_disconnected(endpoints, certificates):
    network, listener = endpoints.listen(
        {"handshake_timeout_ns": 50_000_000}, **identity(certificates.server)
    )
    with socket.create_connection(listener.local_address().as_tuple(), timeout=10) as stalled:
        with pytest.raises(ConnectionResetError):
            stalled.recv(1)
        assert fault(network).reason == "no TLS handshake within 0.05 s: check that the peer uses TLS"


def test_the_number_of_handshakes_is_bounded_and_others_wait(
    endpoints, certificates, python_context, monkeypatch
):
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES", 2)
    _, listener = endpoints.listen({"handshake_timeout_ns": 200_000_000}, **identity(certificates.server))
    stalled = [socket.create_connection(listener.local_address().as_tuple()) for _ in range(2)]
    with dial(listener, python_context()) as client:
        client.sendall(b"window")
        assert receive(endpoints.taken(listener), 6) == b"window"
    for each in stalled:
        each.close()


def test_a_peer_that_connects_and_disconnects_is_no_fault(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    socket.create_connection(listener.local_address().as_tuple()).close()
    with dial(listener, python_context()):
        endpoints.taken(listener)
    assert network.take_fault() is None


def test_a_peer_without_tls_is_reported_with_its_address(endpoints, certificates):
    network, listener = endpoints.listen(**identity(certificates.server))
    with socket.create_connection(listener.local_address().as_tuple()) as plain:
        plain.sendall(b"2W\0\0\0\1" * 4)
        found = fault(network)
        assert found.reason == "the peer does not speak TLS: use TLS at both ends, or at none"
        assert found.source == "{}:{}".format(*plain.getsockname())


def test_a_refused_peer_reads_the_reason_whatever_it_has_sent(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server), ca=certificates.ca)
    with dial(listener, python_context()) as client:
        client.sendall(bytes(200_000))
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
            client.recv(1)


def test_refused_peers_that_stay_connected_are_bounded_in_number_and_time(
    endpoints, certificates, python_context, monkeypatch
):
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES", 2)
    monkeypatch.setattr(relayed_connection, "CLOSING_LIMIT_S", 0.2)
    _, listener = endpoints.listen(**identity(certificates.server))
    refused = [socket.create_connection(listener.local_address().as_tuple(), timeout=10) for _ in range(2)]
    for each in refused:
        each.sendall(b"2W\0\0\0\1")
        assert each.recv(100) == b""
    begun = time.monotonic()
    with dial(listener, python_context()) as client:
        assert time.monotonic() - begun > 0.1
        client.sendall(b"window")
        assert receive(endpoints.taken(listener), 6) == b"window"
    for each in refused:
        each.close()


def test_idle_connections_use_no_cpu_time(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    clients = [dial(listener, python_context()) for _ in range(3)]
    taken = [endpoints.taken(listener) for _ in clients]
    # One connection has ended, the others have unread bytes.
    taken[0].end()
    clients[1].sendall(b"unread")
    taken[2].send(b"unread")
    select.select([], [], [], 0.1)
    before = time.process_time()
    select.select([], [], [], 0.3)
    assert time.process_time() - before < 0.1
    for client in clients:
        client.close()


def test_no_descriptor_is_left_open(certificates, python_context):
    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    def live():
        endpoints = Endpoints()
        _, listener = endpoints.listen(**identity(certificates.server))
        with dial(listener, python_context()):
            endpoints.taken(listener)
        # A connection that is not accepted.
        untaken = dial(listener, python_context())
        _, caller = endpoints.caller(ca=certificates.ca)
        caller.connect(listener.local_address())
        wait_for(caller.is_connected)
        untaken.close()
        endpoints.close()

    live()
    before = descriptors()
    live()
    assert descriptors() == before


def test_a_port_is_free_as_soon_as_its_listener_is_closed(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    address = listener.local_address()
    listener.close()
    network = TlsConnections(TlsContexts(parameters(**identity(certificates.server)), server_side=True))
    following = network.listen(ListenOptions(address))
    endpoints.closers.append(following.close)

    assert str(following.local_address()) == str(address)


def test_a_connection_to_a_peer_that_has_vanished_ends(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        taken = endpoints.taken(listener)
        vanish(client)
        taken.send(b"lost")

        def is_ended():
            network.end_vanished(500, "it has vanished")
            try:
                return taken.receive() == b""
            except OSError:
                return True

        assert wait_for(is_ended)
        assert network.take_fault() == Fault("it has vanished", "{}:{}".format(*client.getsockname()))
