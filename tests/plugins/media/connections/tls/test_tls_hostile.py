"""Peers that violate TLS: only their own connection ends, early, and others are served."""

from __future__ import annotations

import errno
import os
import socket
import ssl

import pytest
from aeron_media.connections.relay import relay_thread
from relayed_ends import failure, fault, receive, wait_for
from tls_ends import dial, identity

from aeron_core._native.address import SocketAddress

#: The longest record: 16 KiB and what encryption may add. Source: RFC 8446, section 5.2.
MAX_RECORD_LENGTH = 16384 + 256
HANDSHAKE, APPLICATION_DATA = 22, 23


def record(kind, content, length=None):
    length = len(content) if length is None else length
    return bytes([kind, 3, 3]) + length.to_bytes(2, "big") + content


def raw(client):
    """Return the TCP socket below a TLS connection."""
    return socket.socket(fileno=os.dup(client.fileno()))


def connect(listener):
    return socket.create_connection(listener.local_address().as_tuple(), timeout=10)


def assert_serves(endpoints, listener, context):
    with dial(listener, context) as client:
        client.sendall(b"behaves")
        assert receive(endpoints.taken(listener), 7) == b"behaves"


@pytest.mark.parametrize("length", [MAX_RECORD_LENGTH + 1, 0xFFFF])
def test_a_record_that_is_too_long_ends_only_its_connection(endpoints, certificates, python_context, length):
    network, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client, raw(client) as wire:
        taken = endpoints.taken(listener)
        wire.sendall(record(APPLICATION_DATA, bytes(1000), length))
        assert failure(taken.receive) == errno.ECONNRESET
        assert fault(network).reason.startswith("TLS failed, for a reason that the event log has: ")
    assert_serves(endpoints, listener, python_context())


@pytest.mark.parametrize("length", [MAX_RECORD_LENGTH + 1, 0xFFFF])
def test_a_handshake_record_that_is_too_long_is_refused(endpoints, certificates, python_context, length):
    network, listener = endpoints.listen(**identity(certificates.server))
    with connect(listener) as wire:
        # OpenSSL refuses one that exceeds its buffer at the header, and one that fits when it is complete.
        wire.sendall(record(HANDSHAKE, bytes(MAX_RECORD_LENGTH + 1), length))
        assert fault(network).reason.startswith("TLS failed, for a reason that the event log has: ")
    assert_serves(endpoints, listener, python_context())


class HostileServer:
    """A server that a test plays."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(10)
        self.address = SocketAddress.of(*self.listener.getsockname())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


@pytest.fixture
def server():
    with HostileServer() as made:
        yield made


HOSTILE_ANSWERS = [
    record(HANDSHAKE, bytes(MAX_RECORD_LENGTH + 1)),
    record(HANDSHAKE, b"", 0xFFFF) + bytes(0xFFFF),
    record(HANDSHAKE, b"\2\xff\xff\xff" + bytes(16380)),
    record(HANDSHAKE, b"") * 10_000,
    record(APPLICATION_DATA, bytes(1000)),
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"2A\0\0\0\1",
    bytes(100_000),
]


@pytest.mark.parametrize("answer", HOSTILE_ANSWERS, ids=range(len(HOSTILE_ANSWERS)))
def test_a_server_that_answers_the_handshake_with_garbage_is_left(endpoints, certificates, server, answer):
    network, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(server.address)
    with server.listener.accept()[0] as wire:
        wire.sendall(answer)
        assert failure(caller.is_connected) in (errno.ECONNRESET, errno.EPROTO)
        assert fault(network).reason.startswith(
            ("TLS failed, for a reason that the event log has: ", "the peer")
        )


@pytest.mark.parametrize("length", [MAX_RECORD_LENGTH + 1, 0xFFFF])
def test_a_record_of_a_server_that_is_too_long_ends_the_connection(endpoints, certificates, server, length):
    network, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(server.address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.server)
    accepted = server.listener.accept()[0]
    accepted.settimeout(10)
    with context.wrap_socket(accepted, server_side=True) as peer, raw(peer) as wire:
        wait_for(caller.is_connected)
        wire.sendall(record(APPLICATION_DATA, bytes(1000), length))
        assert failure(caller.receive) == errno.ECONNRESET
        assert fault(network).reason.startswith("TLS failed, for a reason that the event log has: ")


def test_a_forged_record_ends_only_its_connection(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client, raw(client) as wire:
        taken = endpoints.taken(listener)
        client.sendall(b"genuine")
        assert receive(taken, 7) == b"genuine"
        wire.sendall(record(APPLICATION_DATA, bytes(500)))
        assert failure(taken.receive) == errno.ECONNRESET
        assert fault(network).reason.startswith("TLS failed, for a reason that the event log has: ")
    assert_serves(endpoints, listener, python_context())


def test_a_handshake_message_of_16_mib_is_refused_when_it_begins(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with connect(listener) as wire:
        wire.sendall(record(HANDSHAKE, b"\1\xff\xff\xff" + bytes(16380)))
        assert fault(network).reason.startswith("TLS failed, for a reason that the event log has: ")
    assert_serves(endpoints, listener, python_context())


def test_a_flood_of_empty_records_ends_its_connection(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with connect(listener) as wire:
        wire.sendall(record(HANDSHAKE, b"") * 10_000)
        assert fault(network).reason.startswith(
            ("TLS failed, for a reason that the event log has: ", "the peer")
        )
    assert_serves(endpoints, listener, python_context())


def test_records_of_one_byte_arrive_in_order(endpoints, certificates, python_context):
    _, listener = endpoints.listen(**identity(certificates.server))
    data = os.urandom(3000)
    with dial(listener, python_context()) as client:
        taken = endpoints.taken(listener)
        for at in range(len(data)):
            client.sendall(data[at : at + 1])
        assert receive(taken, len(data)) == data


def test_one_source_does_not_take_all_handshakes(endpoints, certificates, monkeypatch):
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES_PER_SOURCE", 2)
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES", 4)
    network, listener = endpoints.listen(**identity(certificates.server))
    stalled = [connect(listener) for _ in range(3)]
    assert stalled[2].recv(1) == b""
    assert fault(network).reason.startswith("more than 2 handshakes of one source at a time")
    assert network.take_fault() is None
    for each in stalled:
        each.close()


def test_one_source_does_not_take_all_handshakes_by_ignoring_refusals(endpoints, certificates, monkeypatch):
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES_PER_SOURCE", 2)
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES", 4)
    network, listener = endpoints.listen(**identity(certificates.server))
    refused = [connect(listener) for _ in range(2)]
    for each in refused:
        # It gets an alert, and stays open.
        each.sendall(b"2W\0\0\0\1")
        assert fault(network).reason.startswith("the peer does not speak TLS")

    with connect(listener) as further:
        assert further.recv(1) == b""

    assert fault(network).reason.startswith("more than 2 handshakes of one source at a time")
    for each in refused:
        each.close()


def test_a_source_whose_handshakes_have_ended_may_connect_again(
    endpoints, certificates, python_context, monkeypatch
):
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES_PER_SOURCE", 1)
    monkeypatch.setattr(relay_thread, "MAX_HANDSHAKES", 1)
    network, listener = endpoints.listen(**identity(certificates.server))
    with connect(listener) as plain:
        plain.sendall(b"2W\0\0\0\1")
        assert fault(network).reason.startswith("the peer does not speak TLS")
    for _ in range(3):
        assert_serves(endpoints, listener, python_context())
