"""One relayed connection, without its thread."""

from __future__ import annotations

import select
import socket

import pytest
from aeron_media.connections.relay.agent_side import AgentSide
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relayed_connection import (
    CHUNK_LENGTH,
    TURN_LIMIT_S,
    Phase,
    RelayedConnection,
)
from aeron_media.connections.relay.session import Session
from relayed_ends import LOOPBACK


def params(now=lambda: 0.0):
    return RelayParams("test", None, RelayFaults(), handshake_limit_s=10, message_limit_s=30, now=now)


class PlainSession(Session):
    """Records the bytes that it is fed."""

    protocol = "nothing"
    reads_per_turn = 2

    def __init__(self):
        self.fed = []
        self._has_ended = False

    def feed(self, data):
        self.fed.append(data)
        self._has_ended = not data

    def do_handshake(self):
        return True

    def read(self, length):
        return b"" if self._has_ended else None

    def write(self, data):
        pass

    def end(self):
        return True

    def take_outgoing(self):
        return b""


class HoldingSession(PlainSession):
    """Holds received bytes until a message is complete, at a full stop."""

    def __init__(self):
        super().__init__()
        self._held = b""

    @property
    def held_length(self):
        return len(self._held)

    def feed(self, data):
        super().feed(data)
        self._held += data

    def read(self, length):
        if not self._held.endswith(b"."):
            return super().read(length)
        held, self._held = self._held, b""
        return held


class SlowSession(PlainSession):
    """Takes 1 ms to process each byte; reads nothing from them."""

    def __init__(self):
        super().__init__()
        self.now = 100.0
        self._backlog = 0

    @property
    def has_backlog(self):
        return self._backlog > 0

    def feed(self, data):
        super().feed(data)
        self._backlog = len(data)

    def read(self, length):
        if not self._backlog:
            return super().read(length)
        self._backlog -= 1
        self.now += 0.001
        return None


class BrokenSession(PlainSession):
    """Raises an unexpected exception."""

    def read(self, length):
        raise ZeroDivisionError("not by nothing")


@pytest.fixture
def flooded():
    """A connection with its session; its peer has sent five reads and closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname())
        wire, _ = server.accept()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * CHUNK_LENGTH)
    peer.sendall(bytes(5 * CHUNK_LENGTH))
    peer.close()
    # All bytes and the end have arrived.
    assert len(wire.recv(5 * CHUNK_LENGTH + 1, socket.MSG_PEEK | socket.MSG_WAITALL)) == 5 * CHUNK_LENGTH
    wire.setblocking(False)
    session = PlainSession()
    connection = RelayedConnection(wire, AgentSide(), session, LOOPBACK, params())
    yield connection, session
    connection.close()


def test_the_bytes_of_a_closed_peer_are_read_turn_by_turn(flooded):
    connection, session = flooded
    connection.wire_hangs = True

    turns = []
    while connection.phase is not Phase.DONE and (not turns or connection.needs_turn):
        before = len(session.fed)
        connection.work(0.0)
        turns.append(len(session.fed) - before)

    assert max(turns) == 2
    assert b"".join(session.fed) == bytes(5 * CHUNK_LENGTH)
    assert session.fed[-1] == b""


def test_after_its_turn_an_open_peer_is_waited_for(flooded):
    connection, session = flooded

    connection.work(0.0)

    assert len(session.fed) == 2
    assert not connection.needs_turn


def test_dropped_bytes_are_read_turn_by_turn_too(flooded):
    connection, session = flooded
    connection.work(0.0)
    connection.wire_hangs = True
    connection.agent.other_end.close()

    connection.on_agent_hangs(0.0)

    assert len(session.fed) == 4
    assert connection.phase is Phase.DONE


def test_a_session_that_raises_ends_only_its_own_connection():
    wire, peer = socket.socketpair()
    session_params = params()
    connection = RelayedConnection(wire, AgentSide(), BrokenSession(), LOOPBACK, session_params)

    connection.work(0.0)

    assert connection.phase is Phase.DONE
    fault = session_params.faults.take()
    assert fault.reason == (
        "internal error (ZeroDivisionError); the connection is closed: report this error to the project"
    )
    assert fault.detail == "ZeroDivisionError('not by nothing')"
    connection.close()
    assert peer.recv(1) == b""
    peer.close()


@pytest.fixture
def holding():
    """A connection with a session that holds messages, the socket of the peer, and the faults."""
    wire, peer = socket.socketpair()
    wire.setblocking(False)
    session_params = params()
    connection = RelayedConnection(wire, AgentSide(), HoldingSession(), LOOPBACK, session_params)
    yield connection, peer, session_params.faults
    connection.close()
    peer.close()


def test_an_incomplete_message_must_make_progress(holding):
    connection, peer, faults = holding
    peer.sendall(b"begun")
    connection.work(100.0)
    assert connection.deadline == 130.0
    peer.sendall(b" and")
    connection.work(120.0)
    assert connection.deadline == 150.0
    # An event without new bytes does not extend the deadline.
    connection.work(140.0)
    assert connection.deadline == 150.0

    connection.on_overdue(150.0)

    assert faults.take().reason == (
        "incomplete message: the rest did not arrive within 30 s, so the connection is closed: check the peer and "
        "the network"
    )
    assert connection.agent.other_end.recv(1) == b""
    assert peer.recv(1) == b""


def test_a_complete_message_has_no_deadline(holding):
    connection, peer, _ = holding
    peer.sendall(b"begun")
    connection.work(100.0)
    peer.sendall(b" and done.")
    connection.work(120.0)
    assert connection.deadline is None
    assert connection.agent.other_end.recv(100) == b"begun and done."


@pytest.fixture
def slow():
    """A connection with a slow session, and the socket of its peer."""
    wire, peer = socket.socketpair()
    wire.setblocking(False)
    session = SlowSession()
    connection = RelayedConnection(wire, AgentSide(), session, LOOPBACK, params(lambda: session.now))
    yield connection, session, peer
    connection.close()
    peer.close()


def test_a_backlog_is_processed_turn_by_turn(slow):
    connection, session, peer = slow
    peer.sendall(bytes(100))

    turns = []
    while not turns or connection.needs_turn:
        before = session.now
        connection.work(0.0)
        turns.append(session.now - before)

    assert not session.has_backlog
    assert max(turns) <= TURN_LIMIT_S + 0.002
    assert len(turns) >= 25


def test_a_peer_with_a_backlog_is_not_read_from(slow):
    connection, session, peer = slow
    peer.sendall(bytes(100))
    connection.work(0.0)
    peer.sendall(bytes(100))
    assert not connection.wire_events() & select.EPOLLIN

    connection.work(0.0)

    assert len(session.fed) == 1


def test_a_backlog_is_dropped_turn_by_turn_too(slow):
    connection, session, peer = slow
    peer.sendall(bytes(100))
    connection.work(0.0)
    connection.phase = Phase.WAITING

    before = session.now
    connection.work(0.0)

    assert session.has_backlog
    assert session.now - before <= TURN_LIMIT_S + 0.002
    assert connection.needs_turn
