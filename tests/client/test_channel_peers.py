"""Peers of a channel, read while the driver changes them."""

from types import SimpleNamespace

import pytest

from aeron_core._native import peers, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.channel_peers import ChannelPeer, ChannelPeers

ADDRESS = b"10.0.0.2:40000"
ENDPOINT_ID = 7
# The constant of `peers` is a negative number in Python: C converts it to an int.
CONNECTED = 0x80000000


def value_of(session_id, space=100):
    return session_id << peers.PEER_SESSION_SHIFT | CONNECTED | space


class Reader:
    """Counters of a driver with one peer; calls `interfere` while a client reads the peer's key."""

    def __init__(self, value):
        self.peer = AtomicCounter(AtomicBuffer.allocate(wire.COUNTER_VALUE_LENGTH), 0)
        self.peer.set(value)
        self.interfere = lambda: None

    def __iter__(self):
        yield SimpleNamespace(id=0, registration_id=ENDPOINT_ID, type_id=peers.COUNTER_TYPE_PEER)

    def registration_id(self, counter_id):
        return ENDPOINT_ID

    def find(self, type_id, registration_id):
        return 0

    def counter(self, counter_id):
        return self.peer

    def key(self, counter_id):
        self.interfere()
        return (len(ADDRESS).to_bytes(4, "little") + ADDRESS).ljust(wire.COUNTER_KEY_MAX_LENGTH, b"\0")


@pytest.mark.parametrize("session_id", [0, 5, -1])
def test_a_peer_whose_space_changes_while_it_is_read_is_listed(session_id):
    reader = Reader(value_of(session_id))
    reader.interfere = lambda: reader.peer.set(value_of(session_id, 50))

    assert ChannelPeers(reader, 1, 1).connected() == [ChannelPeer(session_id, ADDRESS.decode())]


@pytest.mark.parametrize("session_id", [0, 5, -1])
@pytest.mark.parametrize("after", [0, value_of(6)], ids=["no peer", "another peer"])
def test_a_peer_that_leaves_while_it_is_read_is_not_listed(session_id, after):
    reader = Reader(value_of(session_id))
    reader.interfere = lambda: reader.peer.set(after)

    assert ChannelPeers(reader, 1, 1).connected() == []


def test_a_peer_that_joins_while_it_is_read_is_not_listed_with_a_key_that_may_be_older():
    reader = Reader(0)
    reader.interfere = lambda: reader.peer.set(value_of(0))

    assert ChannelPeers(reader, 1, 1).connected() == []
