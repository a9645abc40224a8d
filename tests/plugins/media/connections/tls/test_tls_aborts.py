"""Unsent bytes of a TLS connection when it is closed or aborted."""

from __future__ import annotations

import socket
import ssl
import time

import pytest
from relayed_ends import fault, wait_for
from tls_ends import dial, identity


def filled(probe):
    """Send until all buffers are full; return how many bytes were accepted."""
    lengths = []

    def is_full():
        while sent := probe.send(b"x" * 65536):
            lengths.append(sent)
            full_since_s[0] = time.monotonic()
        return time.monotonic() - full_since_s[0] > 0.2

    full_since_s = [time.monotonic()]
    wait_for(is_full)
    return sum(lengths)


def read_to_its_end(receive):
    """Return how many bytes arrive, and whether the connection ends without an error."""
    length = 0
    try:
        while data := wait_for(lambda: (received := receive()) is not None and (received,))[0]:
            length += len(data)
    except OSError:
        return length, False
    return length, True


@pytest.mark.parametrize("aborts", [False, True])
def test_bytes_held_by_a_relay_are_delivered_unless_the_connection_is_aborted(
    endpoints, certificates, python_context, aborts
):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        ours = endpoints.taken(listener)
        # The client does not read yet: the last bytes stay in the relay.
        length = filled(ours)

        ours.close(aborts=aborts)

        came, is_in_order = read_to_its_end(lambda: client.recv(65536))
        assert is_in_order is not aborts
        assert came < length if aborts else came == length


def test_an_outgoing_connection_can_be_aborted(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server))
    _, ours = endpoints.caller(ca=certificates.ca)
    ours.connect(listener.local_address())
    theirs = endpoints.taken(listener)
    wait_for(ours.is_connected)
    length = filled(ours)

    ours.close(aborts=True)

    came, is_in_order = read_to_its_end(theirs.receive)
    assert not is_in_order
    assert came < length


def test_a_refused_peer_reads_the_reason_even_if_this_end_is_aborted(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        ours = endpoints.taken(listener)
        # The client does not read yet: the alert cannot be sent at once.
        filled(ours)
        # Bypass `ssl`: a record that was encrypted with no key of this connection.
        socket.socket.sendall(client, b"\x17\x03\x03\0\x20" + bytes(32))
        fault(network)

        ours.close(aborts=True)

        with pytest.raises(ssl.SSLError, match=r"(?i)bad.record.mac"):
            # A normal end would stop the loop without an exception.
            all(iter(lambda: client.recv(65536), b""))
