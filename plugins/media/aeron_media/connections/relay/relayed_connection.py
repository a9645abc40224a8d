"""Relays one connection: a protocol on the wire, plain bytes on a pair of sockets whose other end an agent has.

    CONNECTING ──TCP is there──► SHAKING ──handshake──► RELAYING ──agent has closed──► CLOSING ──all sent──► DONE
    CLOSING ──all sent, and the peer is to answer──► PARTING ──it has──► DONE
    SHAKING, RELAYING ──at fault──► PARTING ──the peer has left──► DONE
    any ──lost, overdue, aborted, all said──► DONE

To close a socket with something unread has the kernel throw away what is on its way to the peer: who parts reads on,
and keeps nothing.

Backpressure: of each direction at most one read is held, and nothing is read while it cannot be passed on. An end in
one direction is an end in that direction: what the session says on the wire, a shutdown on the pair.

Not here: the protocol (`session`), and who waits for the sockets (`relay_thread`).
Invariant: a socket that has hung up is waited for no more, so none of them is reported without end. What one that has
hung up has still to say is read turn by turn (`is_unread`).
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
from aeron_media.connections.relay.session import Session, SessionError

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress

#: Bytes of one read, some TLS records.
CHUNK_LENGTH: Final = 1 << 16
#: Reads from one agent before other connections have their turn.
READS_PER_TURN: Final = 16
#: For what is left to be sent when the agent has closed its end. Our own number: a slow link, not a stalled peer.
CLOSING_LIMIT_S: Final = 5.0
#: To close it is to have the kernel throw away what it still holds, and tell the peer so.
_ABORTS: Final = struct.pack("ii", 1, 0)
_HANGS: Final = select.EPOLLHUP | select.EPOLLERR


class Phase(enum.Enum):
    """What a connection is at."""

    CONNECTING = enum.auto()
    SHAKING = enum.auto()
    RELAYING = enum.auto()
    CLOSING = enum.auto()
    PARTING = enum.auto()
    DONE = enum.auto()


class RelayedConnection:
    """Used by the relay's thread. `plain` is this end of the pair, None where one is to be made after the handshake."""

    def __init__(
        self,
        wire: socket.socket,
        plain: socket.socket | None,
        session: Session,
        peer: SocketAddress,
        params: RelayParams,
    ) -> None:
        self.wire = wire
        self.plain = plain
        #: The agent's end of a pair that was made here, until it is handed over.
        self.agent_end: socket.socket | None = None
        #: Of the agent's end, 0 until it is known.
        self.agent_inode = 0
        self.peer = peer
        #: When it is given up, None where it may take any time.
        self.deadline: float | None = None
        self._session = session
        self._params = params
        self._faults = params.faults
        self.phase = Phase.SHAKING
        self.wire_hangs = False
        #: There may be more to read from a wire that has hung up, which is not reported again.
        self.is_unread = False
        self._to_wire = memoryview(b"")
        self._to_plain = memoryview(b"")
        self._has_heard = False
        # Since a message that was begun was last looked at.
        self._has_heard_more = False
        self._peer_has_ended = False
        self._agent_has_ended = False
        self._has_said_so = False
        # The session is at fault, and hears no more.
        self._is_deaf = False

    # What the relay waits for

    def wire_events(self) -> int:
        """Return which events of `wire` to wait for, as epoll names them."""
        if self.phase is Phase.CONNECTING:
            return select.EPOLLOUT
        wanted = select.EPOLLOUT if self._to_wire else 0
        is_full = self.phase is Phase.RELAYING and self._to_plain
        if not is_full and not self._peer_has_ended:
            wanted |= select.EPOLLIN
        return wanted

    def plain_events(self) -> int:
        """Return which events of `plain` to wait for; that it hangs up is always told."""
        if self.phase is not Phase.RELAYING:
            return 0
        wanted = select.EPOLLOUT if self._to_plain else 0
        if not self._agent_has_ended and not self._to_wire:
            wanted |= select.EPOLLIN
        return wanted

    # What happens

    def work(self, now: float) -> None:
        """Move what can be moved."""
        self.is_unread = False
        try:
            if self.phase is Phase.CONNECTING:
                self._connect()
            if self.phase is Phase.SHAKING:
                self._shake()
            if self.phase is Phase.RELAYING:
                self._relay_inbound()
                self._look_for_silence(now)
            if self.phase in (Phase.CLOSING, Phase.PARTING):
                self._discard_inbound()
            if self.phase in (Phase.RELAYING, Phase.CLOSING):
                self._relay_outbound()
            if self.phase is Phase.PARTING:
                self._part()
        except SessionError as error:
            self._refuse(error, now)
        except OSError as error:
            # Who connects and leaves, as health checks do, is no fault.
            self._fail(error.errno or errno.EIO)
        except Exception as error:  # one connection's trouble must not end the others
            self._faults.keep(f"a fault of this program: {error!r}", self.peer)
            self._fail(errno.EIO)

    def on_plain_hangs(self, now: float) -> None:
        """Take it that the agent has closed its end; what it has sent before is still to be delivered."""
        if self.phase is Phase.RELAYING:
            self.phase = Phase.CLOSING
            self.deadline = now + CLOSING_LIMIT_S
            self.work(now)
        elif self.phase not in (Phase.CLOSING, Phase.PARTING):
            self.phase = Phase.DONE

    def abort(self) -> None:
        """Deliver nothing more, and have the peer see that its connection was not ended in order."""
        with contextlib.suppress(OSError):
            self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTS)
        self.phase = Phase.DONE

    def on_overdue(self, now: float) -> None:
        """Take it that the deadline has passed."""
        if self.phase is Phase.RELAYING:
            length, limit = self._session.held_length, self._params.message_limit_s
            text = f"a message of which {length} bytes have come was not gone on with for {limit:g} s"
            self._refuse(SessionError(text, FaultKind.TIMEOUT), now)
            return
        if self.phase is Phase.SHAKING:
            limit = self._params.handshake_limit_s
            text = f"no {self._session.protocol} handshake within {limit:g} s"
            self._faults.keep(text, self.peer, FaultKind.TIMEOUT)
        self._fail(errno.ETIMEDOUT)

    def close(self) -> None:
        """Close all sockets."""
        self.phase = Phase.DONE
        for sock in (self.wire, self.plain, self.agent_end):
            if sock is not None:
                sock.close()

    def _connect(self) -> None:
        code = self.wire.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code != 0:
            raise OSError(code, os.strerror(code))
        self.phase = Phase.SHAKING

    def _shake(self) -> None:
        while not self._session.shake():
            self._send()
            data = self._receive()
            if data is None:
                return
            if not data:
                if self._has_heard:
                    what = f"the {self._session.protocol} handshake"
                    self._faults.keep(
                        f"the peer has left in the middle of {what}", self.peer, FaultKind.OTHER
                    )
                self._fail(errno.ECONNRESET)
                return
            self._has_heard = True
            self._session.feed(data)
        self._send()
        self.deadline = None
        self.phase = Phase.RELAYING
        if self.plain is not None:
            self.plain.send(b"\0")
        else:
            self.plain, self.agent_end = socket.socketpair()
            self.plain.setblocking(False)

    def _relay_inbound(self) -> None:
        reads = 0
        while not self._peer_has_ended:
            if not self._give_plain():
                return
            data = self._session.read(CHUNK_LENGTH)
            if data:
                self._to_plain = memoryview(data)
            elif data is not None:
                self._peer_has_ended = True
                self._end_plain()
            else:
                if reads == self._session.reads_per_turn:
                    self.is_unread = self.wire_hangs
                    return
                reads += 1
                received = self._receive()
                if received is None:
                    return
                self._has_heard_more = True
                self._session.feed(received)

    def _look_for_silence(self, now: float) -> None:
        if self._session.held_length == 0 or self._to_plain:
            # Nothing was begun, or it is for us that the peer waits.
            self.deadline = None
        elif self._has_heard_more or self.deadline is None:
            self.deadline = now + self._params.message_limit_s
        self._has_heard_more = False

    def _discard_inbound(self) -> None:
        reads = 0
        while not self._peer_has_ended:
            if reads == self._session.reads_per_turn:
                self.is_unread = self.wire_hangs
                return
            reads += 1
            received = self._receive()
            if received is None:
                return
            self._peer_has_ended = not received or self._hears_end(received)

    def _hears_end(self, received: bytes) -> bool:
        """Return whether the peer says that it has no more to say."""
        if self._is_deaf:
            return False
        try:
            self._session.feed(received)
            while data := self._session.read(CHUNK_LENGTH):
                pass
        except SessionError:
            self._is_deaf = True
            return False
        return data is not None

    def _relay_outbound(self) -> None:
        reads = 0
        while self._send():
            if self._agent_has_ended:
                if not self._has_said_so:
                    self._has_said_so = self._session.end() or self.phase is Phase.CLOSING
                    if self._has_said_so:
                        continue
                if self._has_said_so and (self._peer_has_ended or self.phase is Phase.CLOSING):
                    is_answered = self._peer_has_ended or not self._session.awaits_answer
                    self.phase = Phase.DONE if is_answered else Phase.PARTING
                return
            # An agent that has closed is not reported again: all it has left must be read now.
            if reads == READS_PER_TURN and self.phase is not Phase.CLOSING:
                return
            reads += 1
            assert self.plain is not None
            try:
                data = self.plain.recv(CHUNK_LENGTH)
            except BlockingIOError:
                return
            except ConnectionResetError:
                # It has closed with something unread, and everything that it has sent was taken.
                data = b""
            if data:
                self._session.write(data)
            else:
                self._agent_has_ended = True

    # Sockets

    def _send(self) -> bool:
        """Send what is to be sent; return whether that was possible."""
        while True:
            if not self._to_wire:
                self._to_wire = memoryview(self._session.take_outgoing())
                if not self._to_wire:
                    return True
            try:
                self._to_wire = self._to_wire[self.wire.send(self._to_wire) :]
            except BlockingIOError:
                return False

    def _receive(self) -> bytes | None:
        try:
            return self.wire.recv(CHUNK_LENGTH)
        except BlockingIOError:
            return None

    def _give_plain(self) -> bool:
        assert self.plain is not None
        while self._to_plain:
            try:
                self._to_plain = self._to_plain[self.plain.send(self._to_plain) :]
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                # The agent reads no more, and has closed: that is told by itself.
                return False
        return True

    def _end_plain(self) -> None:
        assert self.plain is not None
        # The agent may have closed already.
        with contextlib.suppress(OSError):
            self.plain.shutdown(socket.SHUT_WR)

    def _refuse(self, error: SessionError, now: float) -> None:
        """Give up for a reason that the peer is told, where that is possible."""
        self._faults.keep(str(error), self.peer, error.kind)
        self._is_deaf = True
        if self.plain is not None:
            # Whoever has the other end may have closed it.
            with contextlib.suppress(OSError):
                if self.phase is Phase.SHAKING:
                    self.plain.send(bytes([errno.EPROTO]))
                self.plain.shutdown(socket.SHUT_RDWR)
        self.phase = Phase.PARTING
        self.deadline = now + CLOSING_LIMIT_S
        try:
            self._part()
        except (OSError, SessionError):
            self.phase = Phase.DONE

    def _part(self) -> None:
        if not self._send():
            return
        if self._peer_has_ended or (self.wire_hangs and not self.is_unread):
            self.phase = Phase.DONE
        elif self._is_deaf:
            self.wire.shutdown(socket.SHUT_WR)

    def _fail(self, code: int) -> None:
        if self.phase in (Phase.CONNECTING, Phase.SHAKING) and self.plain is not None:
            # Perhaps nobody waits for it any more.
            with contextlib.suppress(OSError):
                self.plain.send(bytes([code if 0 < code < 256 else errno.EIO]))
        else:
            self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTS)
        self.phase = Phase.DONE


def hangs(events: int) -> bool:
    """Return whether epoll says that a socket has hung up, or has an error."""
    return bool(events & _HANGS)
