"""Relayed connection: a session on the wire, plain bytes on a socket pair towards an agent.

    CONNECTING ──TCP connected──► HANDSHAKE ──complete──► RELAYING ──agent closed──► CLOSING ──all sent──► DONE
    CLOSING ──all sent, answer expected──► WAITING ──answered──► DONE
    HANDSHAKE, RELAYING, CLOSING ──session fault──► WAITING ──peer closed──► DONE
    RELAYING ──message timed out──► WAITING; RELAYING ──both directions ended──► DONE
    CONNECTING, HANDSHAKE ──agent closed──► DONE; any other than RELAYING ──timed out──► DONE
    any ──lost, aborted──► DONE

If a TCP socket is closed while it has unread bytes, the kernel sends a reset and discards data in flight to the
peer. While CLOSING and WAITING the connection therefore keeps reading and drops what it reads.

Back pressure: at most one read is held per direction, and nothing is read until that is passed on. A half close is
relayed in its direction: the end of the session on the wire, a shutdown on the pair.

Not here: the protocol (`session`), the socket pair (`agent_side`), and waiting for the sockets (`relay_thread`).
Invariant: a socket that has hung up is no longer watched, because epoll would report it endlessly. Its unread bytes,
and a backlog, are processed turn by turn (`needs_turn`): a peer may pack ten thousand empty fragments into one read,
and processing them at once would delay all other connections of the thread. A turn ends after TURN_LIMIT_S.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import select
import socket
import struct
from typing import TYPE_CHECKING, Final

from aeron_media.connections.relay.faults import FaultKind
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.session import Session, SessionError, closed_in_handshake

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_media.connections.relay.agent_side import AgentSide

#: Bytes of one read: a few TLS records.
CHUNK_LENGTH: Final = 1 << 16
#: Reads from one agent per turn, so that the other connections are served.
READS_PER_TURN: Final = 16
#: Time after which a turn of one connection ends, so that the other connections are served. Invented: several times
#: what an honest peer needs, and short enough for a hundred busy peers.
TURN_LIMIT_S: Final = 0.002
#: Time to send the rest after the agent has closed its end. Invented: enough for a slow link, not for a stalled peer.
CLOSING_LIMIT_S: Final = 5.0
#: SO_LINGER of 0 s: close discards unsent data and sends a reset.
_ABORTS: Final = struct.pack("ii", 1, 0)


class Phase(enum.Enum):
    """The state of a connection; see the module."""

    CONNECTING = enum.auto()
    HANDSHAKE = enum.auto()
    RELAYING = enum.auto()
    CLOSING = enum.auto()
    WAITING = enum.auto()
    DONE = enum.auto()


class RelayedConnection:
    """One relayed connection; used by the relay thread, except for `unanswered_since_ms`."""

    def __init__(
        self,
        wire: socket.socket,
        agent: AgentSide,
        session: Session,
        peer: SocketAddress,
        params: RelayParams,
    ) -> None:
        self.wire = wire
        self.agent = agent
        self.peer = peer
        #: When the connection is given up, in seconds of the monotonic clock; None without a limit.
        self.deadline: float | None = None
        #: Result of the last `end_if_vanished`; used by the conductor only.
        self.unanswered_since_ms = 0
        self._session = session
        self._params = params
        self._faults = params.faults
        self.phase = Phase.HANDSHAKE
        self.wire_hangs = False
        #: Whether there is more to do without an event: a backlog, or unread bytes of a wire that has hung up.
        self.needs_turn = False
        self._turn_end = 0.0
        self._to_wire = memoryview(b"")
        self._has_received = False
        # Whether bytes have arrived since the last check of an incomplete message.
        self._has_progress = False
        self._peer_has_ended = False
        self._has_sent_end = False
        # Whether the session has failed, after which received bytes are dropped.
        self._has_failed = False

    # What the relay thread waits for

    def wire_events(self) -> int:
        """Return the epoll events of `wire` to wait for."""
        if self.phase is Phase.CONNECTING:
            return select.EPOLLOUT
        wanted = select.EPOLLOUT if self._to_wire else 0
        # Unread bytes stay in the kernel, which closes the TCP window: the peer is held back.
        is_full = self.phase is Phase.RELAYING and self.agent.unsent
        if not is_full and not self._peer_has_ended and not self.needs_turn:
            wanted |= select.EPOLLIN
        return wanted

    def agent_events(self) -> int:
        """Return the epoll events of the agent's socket to wait for; hang-ups are always reported."""
        if self.phase is not Phase.RELAYING:
            return 0
        wanted = select.EPOLLOUT if self.agent.unsent else 0
        if not self.agent.has_ended and not self._to_wire and not self.needs_turn:
            wanted |= select.EPOLLIN
        return wanted

    # Work that the relay thread starts

    def work(self, now: float) -> None:
        """Move as many bytes as possible without blocking, until the turn ends; errors end the connection."""
        self.needs_turn = False
        self._turn_end = self._params.now() + TURN_LIMIT_S
        try:
            if self.phase is Phase.CONNECTING:
                self._connect()
            if self.phase is Phase.HANDSHAKE:
                self._do_handshake()
            if self.phase is Phase.RELAYING:
                self._relay_inbound()
                # A peer may be silent between messages without limit, but not within one.
                self._update_message_deadline(now)
            if self.phase in (Phase.CLOSING, Phase.WAITING):
                self._discard_inbound()
            if self.phase in (Phase.RELAYING, Phase.CLOSING):
                self._relay_outbound()
            if self.phase is Phase.WAITING:
                self._wait_for_peer()
        except SessionError as error:
            self._refuse(error, now)
        except OSError as error:
            # A lost connection is not a fault: health checks, for example, connect and disconnect.
            self._fail(error.errno or errno.EIO)
        except Exception as error:  # must not end the other connections
            text = (
                f"internal error ({type(error).__name__}); the connection is closed: report this error to the "
                "project"
            )
            self._faults.keep(text, self.peer, detail=ascii(error))
            self._fail(errno.EIO)

    def on_agent_hangs(self, now: float) -> None:
        """Close the connection after the agent has closed its end, once the bytes that it sent are sent to the peer.

        After CLOSING_LIMIT_S, unsent bytes are discarded and the connection is reset. Before the handshake is complete,
        close immediately. No effect when CLOSING or WAITING.
        """
        if self.phase is Phase.RELAYING:
            self.phase = Phase.CLOSING
            self.deadline = now + CLOSING_LIMIT_S
            self.work(now)
        elif self.phase not in (Phase.CLOSING, Phase.WAITING):
            self.phase = Phase.DONE

    def abort(self) -> None:
        """End the connection with a reset on `close`: unsent data is discarded, and the peer sees an error, no end."""
        with contextlib.suppress(OSError):
            self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTS)
        self.phase = Phase.DONE

    def on_overdue(self, now: float) -> None:
        """End an overdue connection; store a fault if its handshake or a message is incomplete."""
        if self.phase is Phase.RELAYING:
            text = (
                f"incomplete message: the rest did not arrive within {self._params.message_limit_s:g} s, so the "
                "connection is closed: check the peer and the network"
            )
            self._refuse(SessionError(text, FaultKind.TIMEOUT), now)
            return
        if self.phase is Phase.HANDSHAKE:
            limit = self._params.handshake_limit_s
            protocol = self._session.protocol
            text = f"no {protocol} handshake within {limit:g} s: check that the peer uses {protocol}"
            self._faults.keep(text, self.peer, FaultKind.TIMEOUT)
        self._fail(errno.ETIMEDOUT)

    def close(self) -> None:
        """Close all sockets."""
        self.phase = Phase.DONE
        self.wire.close()
        self.agent.close()

    def _connect(self) -> None:
        # Writable: the connection attempt has ended, and SO_ERROR is its result.
        code = self.wire.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code != 0:
            raise OSError(
                code, f"cannot connect to {self.peer}: {os.strerror(code)}: check that the peer listens there"
            )
        self.phase = Phase.HANDSHAKE

    def _do_handshake(self) -> None:
        while not self._session.do_handshake():
            self._send()
            data = self._receive()
            if data is None:
                return
            if not data:
                if self._has_received:
                    self._faults.keep(closed_in_handshake(self._session), self.peer, FaultKind.OTHER)
                self._fail(errno.ECONNRESET)
                return
            self._has_received = True
            self._session.feed(data)
            if self._ends_turn():
                return
        self._send()
        self.deadline = None
        self.phase = Phase.RELAYING
        self.agent.connect()

    def _ends_turn(self) -> bool:
        """Return whether this turn has lasted TURN_LIMIT_S; if so, request another one."""
        if self._params.now() < self._turn_end:
            return False
        self.needs_turn = True
        return True

    def _relay_inbound(self) -> None:
        reads = 0
        while not self._peer_has_ended:
            if not self.agent.send():
                return
            data = self._session.read(CHUNK_LENGTH)
            if data:
                self.agent.unsent = memoryview(data)
            elif data is not None:
                # A half close: the agent may still send.
                self._peer_has_ended = True
                self.agent.shut_down(socket.SHUT_WR)
            elif not self._session.has_backlog:
                # Leave the rest to the next turn. While the wire is watched, epoll reports it again.
                if reads == self._session.reads_per_turn:
                    self.needs_turn = self.wire_hangs
                    return
                reads += 1
                received = self._receive()
                if received is None:
                    return
                self._has_progress = True
                self._session.feed(received)
            if self._ends_turn():
                return

    def _update_message_deadline(self, now: float) -> None:
        if self._session.held_length == 0 or self.agent.unsent or self._session.has_backlog:
            # There is no incomplete message, or this end holds back the peer.
            self.deadline = None
        elif self._has_progress or self.deadline is None:
            self.deadline = now + self._params.message_limit_s
        self._has_progress = False

    def _discard_inbound(self) -> None:
        reads = 0
        while not self._peer_has_ended:
            if self._discards_plain():
                if self._ends_turn():
                    return
                continue
            if self._peer_has_ended:
                return
            if reads == self._session.reads_per_turn:
                self.needs_turn = self.wire_hangs
                return
            reads += 1
            received = self._receive()
            if received is None:
                return
            self._peer_has_ended = not received
            self._feed_discarded(received)

    def _discards_plain(self) -> bool:
        """Drop plain bytes of the session, or detect their end; return whether there may be more."""
        if self._has_failed:
            return False
        try:
            data = self._session.read(CHUNK_LENGTH)
        except SessionError:
            self._has_failed = True
            return False
        self._peer_has_ended = data is not None and not data
        return bool(data) or (data is None and self._session.has_backlog)

    def _feed_discarded(self, received: bytes) -> None:
        if not received or self._has_failed:
            return
        try:
            self._session.feed(received)
        except SessionError:
            self._has_failed = True

    def _relay_outbound(self) -> None:
        reads = 0
        while self._send():
            if self.agent.has_ended:
                if not self._has_sent_end:
                    # A session with unread bytes may be unable to end. When CLOSING, the agent does not read
                    # them any more, so the end counts as sent.
                    self._has_sent_end = self._session.end() or self.phase is Phase.CLOSING
                    if self._has_sent_end:
                        continue
                if self._has_sent_end and (self._peer_has_ended or self.phase is Phase.CLOSING):
                    is_answered = self._peer_has_ended or not self._session.awaits_answer
                    self.phase = Phase.DONE if is_answered else Phase.WAITING
                return
            # A closed agent is not reported again: read what is left, until the turn ends.
            if reads == READS_PER_TURN and self.phase is not Phase.CLOSING:
                return
            if reads > 0 and self._ends_turn():
                return
            reads += 1
            data = self.agent.receive(CHUNK_LENGTH)
            if data is None:
                return
            if data:
                # The next read of the agent waits until these bytes are sent, which bounds the memory.
                self._session.write(data)
            else:
                self.agent.has_ended = True

    # Bytes on the wire, and the end of the connection

    def _send(self) -> bool:
        """Send outgoing bytes until the socket accepts no more or the turn ends; return whether all were sent."""
        is_first = True
        while True:
            if not self._to_wire:
                self._to_wire = memoryview(self._session.take_outgoing())
                if not self._to_wire:
                    return True
            if not is_first and self._ends_turn():
                return False
            is_first = False
            try:
                self._to_wire = self._to_wire[self.wire.send(self._to_wire) :]
            except BlockingIOError:
                return False

    def _receive(self) -> bytes | None:
        try:
            return self.wire.recv(CHUNK_LENGTH)
        except BlockingIOError:
            return None

    def _refuse(self, error: SessionError, now: float) -> None:
        """Store a session error as a fault, send its alert to the peer if possible, and wait for the peer to close."""
        self._faults.keep(str(error), self.peer, error.kind, error.detail)
        self._has_failed = True
        if self.agent.socket is not None:
            if self.phase is Phase.HANDSHAKE:
                self.agent.report(errno.EPROTO)
            self.agent.shut_down(socket.SHUT_RDWR)
        # The socket stays open for now: if it were closed with unread bytes, the kernel would send a reset, and the
        # peer might lose the alert.
        self.phase = Phase.WAITING
        self.deadline = now + CLOSING_LIMIT_S
        try:
            self._wait_for_peer()
        except (OSError, SessionError):
            self.phase = Phase.DONE

    def _wait_for_peer(self) -> None:
        if not self._send():
            return
        if self._peer_has_ended or (self.wire_hangs and not self.needs_turn):
            self.phase = Phase.DONE
        elif self._has_failed:
            # The peer reads the alert and the end, and then closes its side.
            self.wire.shutdown(socket.SHUT_WR)

    def _fail(self, code: int) -> None:
        if self.phase in (Phase.CONNECTING, Phase.HANDSHAKE) and self.agent.socket is not None:
            self.agent.report(code)
        else:
            self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTS)
        self.phase = Phase.DONE
