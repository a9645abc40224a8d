"""Relay thread: handles a protocol such as TLS for the connections of one endpoint, and owns their TCP sockets.

Sessions are Python code and need the GIL, which agents never hold. An agent therefore has one end of a pair of plain
sockets for each connection, and this thread has the other end (`aeron_media._native.relays`). It sleeps in epoll while
nothing arrives.

Not here: relaying one connection (`relayed_connection`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_media._native.relays import hand_over, take_over
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relayed_connection import (
    CLOSING_LIMIT_S,
    Phase,
    RelayedConnection,
    hangs,
)
from aeron_media.connections.relay.watches import Watches

#: Connections that may be in their handshake or closing at the same time; others wait in the kernel's backlog.
#: Invented: the default of max-connections=.
MAX_HANDSHAKES: Final = 256
#: Before a listener that failed is polled again, for example when no more files may be open. Invented.
LISTENER_PAUSE_S: Final = 0.1

Connect = Callable[[SocketAddress], socket.socket]


class RelayThread:
    """Relays the connections that `listener` accepts and those that agents request over the control socket.

    All methods but the constructor and `close` run on the thread.
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
        self._listener = listener
        self._connect = connect
        #: The agents' end of the control socket; any thread may use it.
        # SEQPACKET keeps the boundaries of requests; a Unix socket can carry descriptors.
        self.agent_end, self._control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._connections: set[RelayedConnection] = set()
        self._in_handshake: set[RelayedConnection] = set()
        # Connections that their agents have closed, while the peer still has to read or to answer.
        self._waiting_for_peer: set[RelayedConnection] = set()
        # Connections with unread bytes that epoll no longer reports.
        self._unread: set[RelayedConnection] = set()
        # Connections with a deadline.
        self._timed: set[RelayedConnection] = set()
        # Connections whose handshake is complete; they are handed over when the control socket has space.
        self._unannounced: deque[RelayedConnection] = deque()
        # Connections to close at the end of the turn: their descriptors must not be reused while events are pending.
        self._done: list[RelayedConnection] = []
        self._by_descriptor: dict[int, RelayedConnection] = {}
        # Connections by the inode of the agent's end, which identifies them in abort requests.
        self._by_agent: dict[int, RelayedConnection] = {}
        self._paused_until = 0.0
        self._watches = Watches()
        self._is_closing = False
        self._closing_deadline = 0.0
        # A daemon: a peer that does not read must not keep the process alive.
        self.thread = threading.Thread(target=self._run, name=f"aeron-{params.name}", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop accepting; the thread ends once agents have closed their ends and their data is delivered."""
        # Shutdown frees the port at once, while the descriptor stays with the thread.
        if self._listener is not None:
            _shut_down(self._listener)
        _shut_down(self.agent_end)

    # The thread

    def _run(self) -> None:
        try:
            while not self._is_closing or self._connections:
                self._turn()
        except Exception as error:  # no caller could handle it
            self._faults.keep(f"{self.thread.name} has ended because of an internal error: {error!r}")
        finally:
            for connection in list(self._connections):
                self._drop(connection)
            self._close_done()
            if self._listener is not None:
                self._listener.close()
            self._control.close()
            self._watches.close()

    def _turn(self) -> None:
        self._watch_own()
        ready = self._watches.wait(self._timeout())
        now = time.monotonic()
        for descriptor, events in ready:
            # An earlier event of this turn may have dropped the connection.
            if descriptor in self._by_descriptor:
                self._on_connection(self._by_descriptor[descriptor], descriptor, events, now)
            elif descriptor == self._control.fileno():
                self._on_control(events, now)
            elif self._listener is not None and descriptor == self._listener.fileno():
                self._accept(now)
        for connection in list(self._unread):
            connection.work(now)
            self._settle(connection)
        for connection in [each for each in self._timed if _is_overdue(each, now)]:
            connection.on_overdue(now)
            self._settle(connection)
        if self._is_closing and now >= self._closing_deadline:
            for connection in list(self._connections):
                self._drop(connection)
        self._close_done()

    def _timeout(self) -> float | None:
        if self._unread:
            return 0.0
        deadlines = [each.deadline for each in self._timed if each.deadline is not None]
        if self._is_closing:
            deadlines.append(self._closing_deadline)
        elif self._paused_until:
            deadlines.append(self._paused_until)
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _watch_own(self) -> None:
        if self._is_closing:
            return
        self._watches.set(self._control, select.EPOLLIN | (select.EPOLLOUT if self._unannounced else 0))
        if self._listener is not None:
            if self._paused_until and time.monotonic() >= self._paused_until:
                self._paused_until = 0.0
            unaccounted = len(self._in_handshake) + len(self._unannounced) + len(self._waiting_for_peer)
            # Not accepting is the back pressure for new peers: the kernel keeps them in its backlog.
            waits = self._paused_until or unaccounted >= MAX_HANDSHAKES
            self._watches.set(self._listener, None if waits else select.EPOLLIN)

    # Connections

    def _accept(self, now: float) -> None:
        assert self._listener is not None
        try:
            wire, name = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            # EINVAL: `close` has shut the listener down. Other errors last, such as too many open files,
            # while the listener stays readable: without a pause the thread would spin.
            if not self._is_closing and error.errno != errno.EINVAL:
                self._faults.keep(f"cannot accept connections: {error.strerror}")
            self._paused_until = now + LISTENER_PAUSE_S
            return
        host, port, *rest = name
        self._begin(wire, None, SocketAddress.of(host, port, rest[1] if rest else 0), now)

    def _on_control(self, events: int, now: float) -> None:
        if events & select.EPOLLOUT:
            while self._unannounced and self._announce(self._unannounced[0]):
                self._unannounced.popleft()
        self._take_requests(now)

    def _take_requests(self, now: float) -> None:
        try:
            while (requested := take_over(self._control.fileno())) is not None:
                descriptor, peer, inode = requested
                if descriptor >= 0:
                    self._dial(socket.socket(fileno=descriptor), peer, inode, now)
                elif inode in self._by_agent:
                    self._by_agent[inode].abort()
                    self._settle(self._by_agent[inode])
        except OSError as error:
            # The endpoint has closed its end of the control socket.
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
        self._begin(wire, plain, peer, now, inode)

    def _begin(
        self,
        wire: socket.socket,
        plain: socket.socket | None,
        peer: SocketAddress,
        now: float,
        inode: int = 0,
    ) -> None:
        wire.setblocking(False)
        # A session writes whole records: Nagle's algorithm would only delay the last short one.
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            session = self._params.new_session(peer)
        except (OSError, ValueError) as error:
            self._faults.keep(str(error), peer)
            wire.close()
            if plain is not None:
                _refuse(plain, errno.EPROTO)
            return
        connection = RelayedConnection(wire, plain, session, peer, self._params)
        connection.deadline = now + self._params.handshake_limit_s
        self._connections.add(connection)
        self._in_handshake.add(connection)
        self._by_descriptor[wire.fileno()] = connection
        if plain is None:
            connection.work(now)
        else:
            connection.phase = Phase.CONNECTING
            plain.setblocking(False)
            self._by_descriptor[plain.fileno()] = connection
            connection.agent_inode = inode
            self._by_agent[inode] = connection
        self._settle(connection)

    def _on_connection(self, connection: RelayedConnection, descriptor: int, events: int, now: float) -> None:
        if descriptor == connection.wire.fileno():
            if hangs(events):
                # Unread bytes may remain; `work` reads them turn by turn.
                connection.wire_hangs = True
                self._watches.set(connection.wire, None)
            connection.work(now)
        elif hangs(events):
            assert connection.plain is not None
            self._watches.set(connection.plain, None)
            del self._by_descriptor[descriptor]
            # An abort request was sent before the hang-up: process it first.
            self._take_requests(now)
            if connection.phase is Phase.DONE:
                return
            connection.on_plain_hangs(now)
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
        if connection.is_unread:
            self._unread.add(connection)
        else:
            self._unread.discard(connection)
        if connection.deadline is None:
            self._timed.discard(connection)
        else:
            self._timed.add(connection)
        if not connection.wire_hangs:
            self._watches.set(connection.wire, connection.wire_events())
        if connection.plain is not None and connection.plain.fileno() in self._by_descriptor:
            self._watches.set(connection.plain, connection.plain_events())

    def _on_handshake_complete(self, connection: RelayedConnection) -> None:
        self._in_handshake.discard(connection)
        assert connection.plain is not None
        self._by_descriptor[connection.plain.fileno()] = connection
        if connection.agent_end is not None:
            connection.agent_inode = os.fstat(connection.agent_end.fileno()).st_ino
            self._by_agent[connection.agent_inode] = connection
        if connection.agent_end is not None and (self._unannounced or not self._announce(connection)):
            self._unannounced.append(connection)

    def _on_waiting_for_peer(self, connection: RelayedConnection) -> None:
        self._in_handshake.discard(connection)
        self._waiting_for_peer.add(connection)
        # An abort from now on must not prevent the peer from reading the reason.
        self._by_agent.pop(connection.agent_inode, None)
        if connection in self._unannounced:
            self._unannounced.remove(connection)
        if connection.plain is not None and connection.plain.fileno() in self._by_descriptor:
            self._watches.set(connection.plain, None)
            del self._by_descriptor[connection.plain.fileno()]

    def _announce(self, connection: RelayedConnection) -> bool:
        """Hand the agent's end of a connection over; return False if the control socket is full."""
        assert connection.agent_end is not None
        try:
            if not hand_over(self._control.fileno(), connection.agent_end.fileno(), connection.peer):
                return False
        except OSError:
            # The endpoint is closed. Closing the agent's end below ends the connection.
            pass
        connection.agent_end.close()
        connection.agent_end = None
        return True

    def _drop(self, connection: RelayedConnection) -> None:
        for sock in (connection.wire, connection.plain):
            if sock is not None:
                self._watches.set(sock, None)
                self._by_descriptor.pop(sock.fileno(), None)
        # The inode may have been reused for another connection.
        if self._by_agent.get(connection.agent_inode) is connection:
            del self._by_agent[connection.agent_inode]
        self._connections.discard(connection)
        self._in_handshake.discard(connection)
        self._waiting_for_peer.discard(connection)
        self._unread.discard(connection)
        self._timed.discard(connection)
        if connection in self._unannounced:
            self._unannounced.remove(connection)
        self._done.append(connection)

    def _close_done(self) -> None:
        for connection in self._done:
            connection.close()
        self._done.clear()

    def _begin_to_close(self, now: float) -> None:
        self._is_closing = True
        self._closing_deadline = now + CLOSING_LIMIT_S
        self._watches.set(self._control, None)
        if self._listener is not None:
            self._watches.set(self._listener, None)
        # No agent has exchanged data over these yet.
        for connection in [*self._in_handshake, *self._unannounced]:
            self._drop(connection)


def _is_overdue(connection: RelayedConnection, now: float) -> bool:
    return connection.deadline is not None and now >= connection.deadline


def _refuse(plain: socket.socket, code: int) -> None:
    # The agent may have closed its end.
    with contextlib.suppress(OSError):
        plain.send(bytes([code]))
    plain.close()


def _shut_down(sock: socket.socket) -> None:
    # Fails if it is already shut down.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
