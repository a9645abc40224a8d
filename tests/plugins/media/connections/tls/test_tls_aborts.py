"""What becomes of what a connection with TLS holds when it ends, or is aborted."""

from __future__ import annotations

import socket
import ssl
import time

import pytest
from relayed_ends import fault, wait_for
from tls_ends import dial, identity


def filled(probe):
    """Send until nothing more goes in, here or on the way; return how many bytes that were."""
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
    """Return how many bytes come, and whether that was all in order."""
    length = 0
    try:
        while data := wait_for(lambda: (received := receive()) is not None and (received,))[0]:
            length += len(data)
    except OSError:
        return length, False
    return length, True


@pytest.mark.parametrize("aborts", [False, True])
def test_what_a_relay_holds_is_delivered_unless_its_end_is_aborted(
    endpoints, certificates, python_context, aborts
):
    _, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        ours = endpoints.taken(listener)
        # Nobody reads: what goes in last cannot go out.
        length = filled(ours)

        ours.close(aborts=aborts)

        came, is_in_order = read_to_its_end(lambda: client.recv(65536))
        assert is_in_order is not aborts
        assert came < length if aborts else came == length


def test_a_connection_that_a_stream_has_made_can_be_aborted(endpoints, certificates):
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


def test_a_peer_that_is_refused_reads_why_even_if_our_end_is_aborted(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    with dial(listener, python_context()) as client:
        ours = endpoints.taken(listener)
        # Nobody reads: the alert cannot go out at once.
        filled(ours)
        # Past `ssl`: a record that no key of this connection has made.
        socket.socket.sendall(client, b"\x17\x03\x03\0\x20" + bytes(32))
        fault(network)

        ours.close(aborts=True)

        with pytest.raises(ssl.SSLError, match=r"(?i)bad.record.mac"):
            # An end in order would stop this.
            all(iter(lambda: client.recv(65536), b""))
