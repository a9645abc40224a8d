"""Relay thread: handles a protocol such as TLS for connections of one endpoint, and owns their TCP sockets.

Sessions are Python code and need the GIL, which sender and receiver must not wait for. They therefore have one end of a
pair of plain sockets for each connection, and this thread has the other end (`aeron_media._native.relays`). It sleeps
in epoll while nothing arrives.

Not here: relaying one connection (`relayed_connection`), and what agents and the thread exchange (`control_socket`).
Invariant: a watched socket is closed only at the end of a turn, so that no pending event applies to a later socket.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
from collections.abc import Callable
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import PEER_VANISHED, end_if_vanished
from aeron_media._native.source_counts import SourceCounts
from aeron_media.connections.relay.agent_side import AgentSide
from aeron_media.connections.relay.control_socket import ControlSocket
from aeron_media.connections.relay.faults import FaultKind
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relayed_connection import (
    CLOSING_LIMIT_S,
    Phase,
    RelayedConnection,
)
from aeron_media.connections.relay.watches import Watches, hangs
from aeron_media.connections.relay.wire_listener import WireListener

#: Maximum number of accepted connections that are in their handshake, wait to be handed over, or wait for their peer to
#: close; others wait in the kernel's backlog. Invented: the default of max-connections=.
MAX_HANDSHAKES: Final = 256
#: Handshakes of one source at a time, with connections that wait for their peer. Further connections of the source are
#: closed while half of MAX_HANDSHAKES is taken. Invented: a quarter, so that one host that never completes its
#: handshakes cannot keep others out. Honest handshakes take milliseconds.
MAX_HANDSHAKES_PER_SOURCE: Final = 64
#: Time in one turn of the thread for connections with a backlog; those with new bytes come first. Invented: a few turns
#: of connections.
BACKLOG_LIMIT_S: Final = 0.004

Connect = Callable[[SocketAddress], socket.socket]


class RelayThread:
    """Thread for the connections that `listener` accepts and those that agents request over the control socket.

    All methods but the constructor, `close` and `end_vanished` run on the thread. `connect` opens the socket of a
    requested connection.
    """

    def __init__(
        self,
        params: RelayParams,
        *,
        listener: socket.socket | None = None,
        connect: Connect | None = None,
    ) -> None:
        self._params = params
        self._faults = params.faults
        self._listener = None if listener is None else WireListener(listener, params.faults)
        self._connect = connect
        self._control = ControlSocket()
        #: The agents' end of the control socket; any thread may use it.
        self.agent_end = self._control.agent_end
        self._connections: set[RelayedConnection] = set()
        self._in_handshake: set[RelayedConnection] = set()
        self._sources = SourceCounts(MAX_HANDSHAKES_PER_SOURCE)
        # Connections in the phase WAITING: the peer still has to read or to answer.
        self._waiting_for_peer: set[RelayedConnection] = set()
        # Connections with work that epoll does not report, first the one that has waited for the longest time.
        self._unfinished: dict[RelayedConnection, None] = {}
        # Connections with a deadline, so that a turn does not examine the others.
        self._timed: set[RelayedConnection] = set()
        # Connections to close at the end of the turn: their descriptors must not be reused while events are pending.
        self._done: list[RelayedConnection] = []
        self._by_descriptor: dict[int, RelayedConnection] = {}
        self._watches = Watches()
        self._is_closing = False
        self._closing_deadline = 0.0
        # A daemon: a peer that does not read must not keep the process alive.
        self.thread = threading.Thread(target=self._run, name=f"aeron-{params.name}", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop accepting and dialing; the thread drops handshakes, and ends with the last connection.

        After CLOSING_LIMIT_S it drops connections that agents have not closed or whose data is not delivered.
        """
        # Shutdown frees the port at once for sockets with SO_REUSEADDR, while the descriptor stays with the thread.
        if self._listener is not None:
            _shut_down(self._listener.socket)
        _shut_down(self.agent_end)

    # The loop of the thread

    def end_vanished(self, timeout_ms: int, text: str) -> None:
        """End connections to peers that have vanished, and keep faults with this text; called by the conductor.

        The thread then finds the end of the connection. Should it close the socket meanwhile, and the descriptor become
        that of another one, that one is ended only if the same is true of it.
        """
        for connection in list(self._connections):
            descriptor = connection.wire.fileno()
            if descriptor < 0:
                continue
            since_ms = end_if_vanished(descriptor, timeout_ms, connection.unanswered_since_ms)
            if since_ms == PEER_VANISHED:
                self._faults.keep(text, connection.peer)
                since_ms = 0
            connection.unanswered_since_ms = since_ms

    def _run(self) -> None:
        try:
            while not self._is_closing or self._connections:
                self._turn()
        except Exception as error:  # no caller could handle it
            self._faults.keep(
                f"{self.thread.name} has ended because of an internal error ({type(error).__name__}); its connections "
                "are closed: add the channel again, and report this error to the project",
                detail=ascii(error),
            )
        finally:
            for connection in list(self._connections):
                self._drop(connection)
            self._close_done()
            if self._listener is not None:
                self._listener.socket.close()
            self._control.socket.close()
            self._watches.close()

    def _turn(self) -> None:
        self._watch_own()
        ready = self._watches.wait(self._timeout())
        now = self._params.now()
        unfinished = list(self._unfinished)
        for descriptor, events in ready:
            # An earlier event of this turn may have dropped the connection.
            if descriptor in self._by_descriptor:
                self._on_connection(self._by_descriptor[descriptor], descriptor, events, now)
            elif descriptor == self._control.socket.fileno():
                self._on_control(events, now)
            elif self._listener is not None and descriptor == self._listener.socket.fileno():
                self._accept(now)
        self._continue(unfinished, now)
        for connection in [each for each in self._timed if _is_overdue(each, now)]:
            connection.on_overdue(now)
            self._settle(connection)
        if self._is_closing and now >= self._closing_deadline:
            for connection in list(self._connections):
                self._drop(connection)
        self._close_done()

    def _continue(self, unfinished: list[RelayedConnection], now: float) -> None:
        """Serve connections that need a turn without an event, for about BACKLOG_LIMIT_S, but at least one."""
        end = self._params.now() + BACKLOG_LIMIT_S
        for connection in unfinished:
            # An event of this turn may have dropped the connection, or finished its work.
            if connection in self._unfinished:
                connection.work(now)
                self._settle(connection)
                if self._params.now() >= end:
                    return

    def _timeout(self) -> float | None:
        if self._unfinished:
            return 0.0
        deadlines = [each.deadline for each in self._timed if each.deadline is not None]
        if self._is_closing:
            deadlines.append(self._closing_deadline)
        elif self._listener is not None and self._listener.paused_until:
            deadlines.append(self._listener.paused_until)
        return max(0.0, min(deadlines) - self._params.now()) if deadlines else None

    def _watch_own(self) -> None:
        if self._is_closing:
            return
        self._watches.set(self._control.socket, self._control.events())
        if self._listener is not None:
            # Not accepting is the back pressure for new peers: the kernel keeps them in its backlog.
            waits = self._listener.is_paused(self._params.now()) or self._unaccounted() >= MAX_HANDSHAKES
            self._watches.set(self._listener.socket, None if waits else select.EPOLLIN)

    def _unaccounted(self) -> int:
        """Return the number of connections that the endpoint's own limit does not count."""
        return len(self._in_handshake) + len(self._control.unannounced) + len(self._waiting_for_peer)

    # From a new connection to its removal

    def _accept(self, now: float) -> None:
        assert self._listener is not None
        accepted = self._listener.accept(now)
        if accepted is not None:
            wire, peer = accepted
            # Many peers behind one address may connect at once: refuse them only while half of MAX_HANDSHAKES is taken.
            if self._sources.has_space(peer) or self._unaccounted() < MAX_HANDSHAKES // 2:
                self._begin(wire, AgentSide(), peer, now)
            else:
                wire.close()
                text = (
                    f"more than {MAX_HANDSHAKES_PER_SOURCE} handshakes of one source at a time, while half of the "
                    f"{MAX_HANDSHAKES} of all sources are taken: connect again later"
                )
                self._faults.keep(text, peer, FaultKind.OTHER)

    def _on_control(self, events: int, now: float) -> None:
        if events & select.EPOLLOUT:
            self._control.announce_waiting()
        self._take_requests(now)

    def _take_requests(self, now: float) -> None:
        try:
            while (requested := self._control.take_request()) is not None:
                descriptor, peer, inode = requested
                if descriptor >= 0:
                    self._dial(socket.socket(fileno=descriptor), peer, inode, now)
                elif (connection := self._control.find(inode)) is not None:
                    connection.abort()
                    self._settle(connection)
        except OSError as error:
            # EPIPE: the endpoint has closed its end of the control socket.
            if error.errno == errno.EPIPE and not self._is_closing:
                self._begin_to_close(now)

    def _dial(self, plain: socket.socket, peer: SocketAddress, inode: int, now: float) -> None:
        try:
            assert self._connect is not None
            wire = self._connect(peer)
        except OSError as error:
            # The agent waits for the result of the connection as the first byte on the pair.
            _refuse(plain, error.errno or errno.EIO)
            return
        self._begin(wire, AgentSide(plain, inode), peer, now)

    def _begin(self, wire: socket.socket, agent: AgentSide, peer: SocketAddress, now: float) -> None:
        wire.setblocking(False)
        # A session writes whole records: Nagle's algorithm would only delay the last short one.
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            session = self._params.new_session(peer)
        except (OSError, ValueError) as error:
            self._faults.keep(str(error), peer)
            wire.close()
            if agent.socket is not None:
                _refuse(agent.socket, errno.EPROTO)
            return
        connection = RelayedConnection(wire, agent, session, peer, self._params)
        connection.deadline = now + self._params.handshake_limit_s
        self._connections.add(connection)
        self._in_handshake.add(connection)
        self._by_descriptor[wire.fileno()] = connection
        if agent.socket is None:
            self._sources.add(peer)
            connection.work(now)
        else:
            connection.phase = Phase.CONNECTING
            agent.socket.setblocking(False)
            self._by_descriptor[agent.socket.fileno()] = connection
            self._control.add(connection)
        self._settle(connection)

    def _on_connection(self, connection: RelayedConnection, descriptor: int, events: int, now: float) -> None:
        if descriptor == connection.wire.fileno():
            if hangs(events):
                # Unread bytes may remain; `work` reads them turn by turn.
                connection.wire_hangs = True
                self._watches.set(connection.wire, None)
            connection.work(now)
        elif hangs(events):
            assert connection.agent.socket is not None
            self._watches.set(connection.agent.socket, None)
            del self._by_descriptor[descriptor]
            # An abort request was sent before the hang-up: process it first.
            self._take_requests(now)
            if connection.phase is Phase.DONE:
                return
            connection.on_agent_hangs(now)
        else:
            connection.work(now)
        self._settle(connection)

    def _settle(self, connection: RelayedConnection) -> None:
        """Update the sets and watches after a connection may have changed its phase."""
        if connection.phase is Phase.DONE:
            self._drop(connection)
            return
        if connection.phase is Phase.RELAYING and connection in self._in_handshake:
            self._on_handshake_complete(connection)
        if connection.phase is Phase.WAITING and connection not in self._waiting_for_peer:
            self._on_waiting_for_peer(connection)
        # Removed first, so that it goes to the end of the queue.
        self._unfinished.pop(connection, None)
        if connection.needs_turn:
            self._unfinished[connection] = None
        if connection.deadline is None:
            self._timed.discard(connection)
        else:
            self._timed.add(connection)
        if not connection.wire_hangs:
            self._watches.set(connection.wire, connection.wire_events())
        if connection.agent.socket is not None and connection.agent.socket.fileno() in self._by_descriptor:
            self._watches.set(connection.agent.socket, connection.agent_events())

    def _forget_source(self, connection: RelayedConnection) -> None:
        """Stop counting a connection for its source; called while it is in one of the two sets."""
        is_counted = connection in self._in_handshake or connection in self._waiting_for_peer
        if is_counted and self._listener is not None:
            self._sources.remove(connection.peer)

    def _on_handshake_complete(self, connection: RelayedConnection) -> None:
        self._forget_source(connection)
        self._in_handshake.discard(connection)
        assert connection.agent.socket is not None
        self._by_descriptor[connection.agent.socket.fileno()] = connection
        if connection.agent.other_end is not None:
            self._control.announce(connection)

    def _on_waiting_for_peer(self, connection: RelayedConnection) -> None:
        # Count the connection for its source again, unless it is still counted since its handshake: it takes one of
        # MAX_HANDSHAKES until its deadline if the peer does not answer.
        if connection not in self._in_handshake and self._listener is not None:
            self._sources.add(connection.peer)
        self._in_handshake.discard(connection)
        self._waiting_for_peer.add(connection)
        # An abort from now on must not prevent the peer from reading the reason.
        self._control.remove(connection)
        if connection.agent.socket is not None and connection.agent.socket.fileno() in self._by_descriptor:
            self._watches.set(connection.agent.socket, None)
            del self._by_descriptor[connection.agent.socket.fileno()]

    def _drop(self, connection: RelayedConnection) -> None:
        for sock in (connection.wire, connection.agent.socket):
            if sock is not None:
                self._watches.set(sock, None)
                self._by_descriptor.pop(sock.fileno(), None)
        self._control.remove(connection)
        self._connections.discard(connection)
        self._forget_source(connection)
        self._in_handshake.discard(connection)
        self._waiting_for_peer.discard(connection)
        self._unfinished.pop(connection, None)
        self._timed.discard(connection)
        self._done.append(connection)

    def _close_done(self) -> None:
        for connection in self._done:
            connection.close()
        self._done.clear()

    def _begin_to_close(self, now: float) -> None:
        self._is_closing = True
        self._closing_deadline = now + CLOSING_LIMIT_S
        self._watches.set(self._control.socket, None)
        if self._listener is not None:
            self._watches.set(self._listener.socket, None)
        # No agent has sent or received data over these connections yet.
        for connection in [*self._in_handshake, *self._control.unannounced]:
            self._drop(connection)


def _is_overdue(connection: RelayedConnection, now: float) -> bool:
    return connection.deadline is not None and now >= connection.deadline


def _refuse(plain: socket.socket, code: int) -> None:
    # Sending fails if the agent has closed its end of the pair.
    with contextlib.suppress(OSError):
        plain.send(bytes([code]))
    plain.close()


def _shut_down(sock: socket.socket) -> None:
    # Fails if the socket is already shut down.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
