"""Peer: one connection and its phases.

    FREE ──dialed──► CONNECTING ──► GREETING ──both greetings──► GREETED ──admitted──► UP ──closed, broken──► DRAINING
    FREE ──accepted───────────────► GREETING                        │ refused                                  │ taken
                                    any ────────── fault ───────────┴──────────────────────────────────────► ENDED

A slot that has ENDED is reused as one that is FREE; `close` returns it to FREE from any phase. Received messages of a
disconnected peer are kept until images have space for them, or until eviction.

Not here: reading (`input`), sending (`output`), and the admission of peers (`peer_connections`). Used under the lock of
`peer_connections`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import connections
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.spi.stream_counter import detached_peer_counter
from aeron_media.sp._native import bounds, phases, reasons, wire
from aeron_media.sp.input import Input
from aeron_media.sp.output import Output

if TYPE_CHECKING:
    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.image_feed import ImageFeed
    from aeron_media.sp.pair_params import PairParams


def greeting_of(protocol: int) -> bytes:
    """Return the 8 bytes that both ends send first, with the number of their protocol."""
    return b"\0SP\0" + protocol.to_bytes(2, "big") + b"\0\0"


class Peer:
    """A reusable slot for one connection; lengths are bytes."""

    is_among_peers: bool

    def __init__(self, params: PairParams, connection: ByteConnection) -> None:
        self.connection = connection
        self.address = SocketAddress()
        self.input = Input(params, connection, self.address)
        self.output = Output(params, connection, self.address)
        #: Publishes the peer to clients; see `peers.pxd`.
        self.counter = detached_peer_counter("sp-space")
        self._protocol = params.protocol
        self._greeting = AtomicBuffer(bytearray(greeting_of(params.protocol)))
        self._confirms = params.confirms
        self._handshake_timeout_ns = params.handshake_timeout_ns
        self.phase = phases.PHASE_FREE

    # The start of a connection

    def begin(self, session_id: int, is_dialed: bool, now_ns: int) -> int:
        """Start with a connection that is being made, or that was accepted; return 0."""
        self.phase = phases.PHASE_CONNECTING if is_dialed else phases.PHASE_GREETING
        self.session_id = session_id
        self.is_dialed = is_dialed
        self.end_reason = reasons.NO_REASON
        self.end_value = 0
        self.end_limit = 0
        self.is_rejected = False
        self._greeted_length = 0
        self._phase_ns = now_ns
        return self.input.begin(session_id, now_ns)

    def admit(self, now_ns: int) -> int:
        """Admit the peer: from now on messages are exchanged. Return 0."""
        self._enter(phases.PHASE_UP, now_ns)
        self.output.begin(self.session_id)
        self.input.begin_feed(now_ns)
        # Messages may have arrived together with the greeting: with `is_blocked` the next read parses them first.
        self.input.is_blocked = True
        return 0

    def attach(self, feed: ImageFeed, now_ns: int) -> None:
        """Deliver messages to the images of `feed`."""
        self.input.attach(feed)
        if self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.input.begin_feed(now_ns)

    def detach(self) -> None:
        """Stop delivering messages: there are no subscribers."""
        self.input.detach()

    def is_confirmed(self, now_ns: int) -> bool:
        """Return whether the peer has sent a message, or stayed connected for CONFIRMATION_NS.

        Always True unless confirm= is set.
        """
        return (
            not self._confirms or self.input.has_received or now_ns - self._phase_ns >= bounds.CONFIRMATION_NS
        )

    # Work of one turn

    def work(self, now_ns: int) -> int:
        """Connect, exchange greetings, read or drain, by phase; return the number of bytes read after the greeting."""
        received = 0
        if self.phase == phases.PHASE_CONNECTING:
            self._connect(now_ns)
        if self.phase == phases.PHASE_GREETING:
            self._greet(now_ns)
        elif self.phase == phases.PHASE_UP:
            if self.is_rejected:
                self.fail(reasons.REJECTED, 0, 0, now_ns)
            elif self.output.is_broken:
                self._on_end(now_ns)
            else:
                received = self._read(now_ns)
        elif self.phase == phases.PHASE_DRAINING:
            self._drain(now_ns)
        if self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.input.work(now_ns)
        return received

    def _connect(self, now_ns: int) -> int:
        result = self.connection.is_connected()
        if result == connections.CONNECTION_CONNECTED:
            self._enter(phases.PHASE_GREETING, now_ns)
        elif result == connections.CONNECTION_FAILED:
            self.fail(reasons.NO_REASON, 0, 0, now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(reasons.NOT_CONNECTED, 0, 0, now_ns)
        return 0

    def _greet(self, now_ns: int) -> int:
        if self._greeted_length < wire.GREETING_LENGTH:
            sent = self.connection.send(
                self._greeting, self._greeted_length, wire.GREETING_LENGTH - self._greeted_length
            )
            if sent < 0:
                return self.fail(reasons.NO_REASON, 0, 0, now_ns)
            self._greeted_length += sent
        if self.input.is_readable or not self.input.is_watched:
            if not self.input.queue.reserve(bounds.READ_LENGTH):
                return self.fail(reasons.BUDGET_SPENT, 0, 0, now_ns)
            result = self.input.receive(bounds.READ_LENGTH)
            if result < 0:
                return self.fail(reasons.NO_REASON, 0, 0, now_ns)
            self.input.is_readable = result > 0
        if self.input.queue.size >= wire.GREETING_LENGTH:
            self._on_greeting(now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(reasons.SILENT, 0, 0, now_ns)
        elif self.input.queue.size == 0:
            self.input.queue.release()
        return 0

    def _on_greeting(self, now_ns: int) -> int:
        at = self.input.queue.start
        protocol = wire.get_u16(self.input.queue.buffer, at + wire.GREETING_PROTOCOL_OFFSET)
        if (
            wire.get_u32(self.input.queue.buffer, at) != wire.GREETING_MAGIC
            or wire.get_u16(self.input.queue.buffer, at + wire.GREETING_RESERVED_OFFSET) != 0
        ):
            return self.fail(reasons.NOT_SP, 0, 0, now_ns)
        if protocol != self._protocol:
            return self.fail(reasons.OTHER_PROTOCOL, protocol, self._protocol, now_ns)
        if self._greeted_length < wire.GREETING_LENGTH:
            return 0
        self.input.queue.consume(wire.GREETING_LENGTH)
        self._enter(phases.PHASE_GREETED, now_ns)
        return 0

    def _read(self, now_ns: int) -> int:
        received = self.input.read(now_ns)
        if self.input.fault != reasons.NO_REASON:
            self._fail_for_fault(now_ns)
        elif self.input.result != connections.CONNECTION_WAITS:
            self._on_end(now_ns)
        elif self.input.is_overdue(now_ns):
            self.fail(reasons.UNFINISHED, self.input.queue.size, 0, now_ns)
        return received

    def _on_end(self, now_ns: int) -> int:
        has_received = self.input.has_received or self.input.queue.size > 0
        if self.is_dialed and not has_received and now_ns - self._phase_ns < bounds.REFUSAL_NS:
            return self.fail(reasons.REFUSED_BY_PEER, 0, 0, now_ns)
        self._enter(phases.PHASE_DRAINING, now_ns)
        return self._drain(now_ns)

    def _fail_for_fault(self, now_ns: int) -> int:
        return self.fail(self.input.fault, self.input.fault_value, self.input.fault_limit, now_ns)

    # The end of a connection

    def _drain(self, now_ns: int) -> int:
        """Deliver the remaining messages, and end when all are delivered; return 0."""
        self.input.parse(now_ns)
        if self.input.fault != reasons.NO_REASON:
            self._fail_for_fault(now_ns)
        elif not self.input.is_blocked:
            self._finish(now_ns)
        return 0

    def is_stale(self, now_ns: int) -> bool:
        """Return whether messages wait for space in images for more than EVICTION_NS after the peer disconnected."""
        return self.phase == phases.PHASE_DRAINING and now_ns - self._phase_ns > bounds.EVICTION_NS

    def is_silent(self, now_ns: int) -> bool:
        """Return whether an accepted connection has sent no complete greeting for longer than SILENCE_NS."""
        return (
            self.phase == phases.PHASE_GREETING
            and not self.is_dialed
            and now_ns - self._phase_ns > bounds.SILENCE_NS
        )

    def evict(self, now_ns: int) -> int:
        """Drop the remaining messages of a disconnected peer, which ends it; return 0."""
        self.end_reason = reasons.EVICTED
        self.end_value = self.input.queue.size
        return self._finish(now_ns)

    def fail(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """End the connection for a reason in `reasons`; return 0.

        NO_REASON: the operating system reported an error, or the peer closed the connection before its greeting. The
        socket closes the connection of an admitted peer later, when the sender does not use it any more.
        """
        self.end_reason = reason
        self.end_value = value
        self.end_limit = limit
        if not self.is_among_peers:
            self.connection.close(False)
        return self._finish(now_ns)

    def refuse(self, now_ns: int) -> int:
        """Refuse the peer after its greeting, and close the connection; return 0."""
        self.end_reason = reasons.REFUSED_PEER
        self.connection.end()
        self.connection.close(False)
        return self._finish(now_ns)

    def _finish(self, now_ns: int) -> int:
        if self.input.is_fed and self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.input.feed.end(now_ns)
        self.input.clear()
        return self._enter(phases.PHASE_ENDED, now_ns)

    def _enter(self, phase: int, now_ns: int) -> int:
        self.phase = phase
        self._phase_ns = now_ns
        return 0

    def lived_ns(self, now_ns: int) -> int:
        """Return how long the present phase has lasted, in nanoseconds."""
        return now_ns - self._phase_ns

    def close(self) -> int:
        """Close the connection; if the peer is UP, the kernel still delivers what was sent. Return 0."""
        if self.phase == phases.PHASE_UP:
            self.connection.end()
            self.input.discard_unread()
        self.connection.close(False)
        self.input.clear()
        self.phase = phases.PHASE_FREE
        return 0
