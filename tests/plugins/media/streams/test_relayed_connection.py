"""One relayed connection, without its thread."""

from __future__ import annotations

import socket

import pytest
from aeron_media.streams.relay_faults import RelayFaults
from aeron_media.streams.relayed_connection import CHUNK_LENGTH, Phase, RelayedConnection
from aeron_media.streams.session import Session
from relayed_ends import LOOPBACK


class PlainSession(Session):
    """Says what it hears."""

    protocol = "nothing"
    reads_per_turn = 2

    def __init__(self):
        self.fed = []
        self._has_ended = False

    def feed(self, data):
        self.fed.append(data)
        self._has_ended = not data

    def shake(self):
        return True

    def read(self, length):
        return b"" if self._has_ended else None

    def write(self, data):
        pass

    def end(self):
        return True

    def take_outgoing(self):
        return b""


class BrokenSession(PlainSession):
    """Has a fault that nobody has thought of."""

    def read(self, length):
        raise ZeroDivisionError("not by nothing")


@pytest.fixture
def flooded():
    """A connection whose peer has sent five reads and left, and its session."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname())
        wire, _ = server.accept()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * CHUNK_LENGTH)
    peer.sendall(bytes(5 * CHUNK_LENGTH))
    peer.close()
    # All of it, and the end, have come.
    assert len(wire.recv(5 * CHUNK_LENGTH + 1, socket.MSG_PEEK | socket.MSG_WAITALL)) == 5 * CHUNK_LENGTH
    wire.setblocking(False)
    session = PlainSession()
    connection = RelayedConnection(wire, None, session, LOOPBACK, RelayFaults())
    yield connection, session
    connection.close()


def test_a_peer_that_has_left_is_read_to_its_end_turn_by_turn(flooded):
    connection, session = flooded
    connection.wire_hangs = True

    turns = []
    while connection.phase is not Phase.DONE and (not turns or connection.is_unread):
        before = len(session.fed)
        connection.work(0.0)
        turns.append(len(session.fed) - before)

    assert max(turns) == 2
    assert b"".join(session.fed) == bytes(5 * CHUNK_LENGTH)
    assert session.fed[-1] == b""


def test_a_peer_that_may_send_more_is_waited_for_after_its_turn(flooded):
    connection, session = flooded

    connection.work(0.0)

    assert len(session.fed) == 2
    assert not connection.is_unread


def test_what_is_thrown_away_is_read_turn_by_turn_too(flooded):
    connection, session = flooded
    connection.work(0.0)
    connection.wire_hangs = True
    connection.agent_end.close()

    connection.on_plain_hangs(0.0)

    assert len(session.fed) == 4
    assert connection.phase is Phase.DONE


def test_a_session_that_is_broken_ends_its_connection_alone():
    wire, peer = socket.socketpair()
    faults = RelayFaults()
    connection = RelayedConnection(wire, None, BrokenSession(), LOOPBACK, faults)

    connection.work(0.0)

    assert connection.phase is Phase.DONE
    assert faults.take().reason == "a fault of this program: ZeroDivisionError('not by nothing')"
    connection.close()
    assert peer.recv(1) == b""
    peer.close()
