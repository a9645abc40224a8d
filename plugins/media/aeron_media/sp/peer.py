"""One connection with a peer, and what comes over it.

    FREE ──dialed──► CONNECTING ──► GREETING ──both greetings──► GREETED ──admitted──► UP ──closed, broken──► DRAINING
    FREE ──accepted───────────────► GREETING                        │ refused                                  │ taken
                                    any ────────── fault ───────────┴──────────────────────────────────────► GONE

What has come of a peer that is gone stays until subscribers have room for it.

Not here: what comes from the peer (`input`) and goes to it (`output`), and which peers there may be (`pair_socket`).
Used under the lock of the socket's keeping side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import connections
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.spi.stream_counter import detached_peer_counter
from aeron_media.sp._native import phases, wire
from aeron_media.sp.input import Input
from aeron_media.sp.output import Output

if TYPE_CHECKING:
    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.image_feed import ImageFeed
    from aeron_media.sp.pair_params import PairParams


def greeting_of(protocol: int) -> bytes:
    """Return what both ends begin with."""
    return b"\0SP\0" + protocol.to_bytes(2, "big") + b"\0\0"


class Peer:
    """A slot for one connection, used again and again; lengths are bytes."""

    is_among_peers: bool

    def __init__(self, params: PairParams, connection: ByteConnection) -> None:
        self.connection = connection
        self.address = SocketAddress()
        self.input = Input(params, connection, self.address)
        self.output = Output(params, connection, self.address)
        #: Says to clients of the peer; see `peers.pxd`.
        self.room = detached_peer_counter("sp-room")
        self._protocol = params.protocol
        self._greeting = AtomicBuffer(bytearray(greeting_of(params.protocol)))
        self._confirms = params.confirms
        self._handshake_timeout_ns = params.handshake_timeout_ns
        self.phase = phases.PHASE_FREE

    # Beginning

    def begin(self, session_id: int, is_dialed: bool, now_ns: int) -> int:
        """Start with a connection that is being made, or that `stream` was opened for; return 0."""
        self.phase = phases.PHASE_CONNECTING if is_dialed else phases.PHASE_GREETING
        self.session_id = session_id
        self.is_dialed = is_dialed
        self.end_reason = phases.NO_REASON
        self.end_value = 0
        self.end_limit = 0
        self.is_rejected = False
        self._greeted_length = 0
        self._phase_ns = now_ns
        return self.input.begin(session_id, now_ns)

    def admit(self, now_ns: int) -> int:
        """Take the peer: from now on messages go both ways. Return 0."""
        self._enter(phases.PHASE_UP, now_ns)
        self.output.begin(self.session_id)
        self.input.begin_feed(now_ns)
        # Messages may have come together with the greeting.
        self.input.is_blocked = True
        return 0

    def attach(self, feed: ImageFeed, now_ns: int) -> None:
        """Have what comes go to images."""
        self.input.attach(feed)
        if self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.input.begin_feed(now_ns)

    def detach(self) -> None:
        """Have what comes go nowhere."""
        self.input.detach()

    def is_confirmed(self, now_ns: int) -> bool:
        """Return whether the peer is known to have taken us, if that is asked for."""
        return not self._confirms or self.input.has_heard or now_ns - self._phase_ns >= phases.CONFIRMATION_NS

    # Working

    def work(self, now_ns: int) -> int:
        """Do what is due; return the bytes read."""
        received = 0
        if self.phase == phases.PHASE_CONNECTING:
            self._connect(now_ns)
        if self.phase == phases.PHASE_GREETING:
            self._greet(now_ns)
        elif self.phase == phases.PHASE_UP:
            if self.is_rejected:
                self.fail(phases.REJECTED, 0, 0, now_ns)
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
            self.fail(phases.NO_REASON, 0, 0, now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(phases.NOT_CONNECTED, 0, 0, now_ns)
        return 0

    def _greet(self, now_ns: int) -> int:
        if self._greeted_length < wire.GREETING_LENGTH:
            sent = self.connection.send(
                self._greeting, self._greeted_length, wire.GREETING_LENGTH - self._greeted_length
            )
            if sent < 0:
                return self.fail(phases.NO_REASON, 0, 0, now_ns)
            self._greeted_length += sent
        if self.input.has_news or not self.input.is_watched:
            if not self.input.queue.reserve(phases.READ_LENGTH):
                return self.fail(phases.BUDGET_SPENT, 0, 0, now_ns)
            result = self.input.receive(phases.READ_LENGTH)
            if result < 0:
                return self.fail(phases.NO_REASON, 0, 0, now_ns)
            self.input.has_news = result > 0
        if self.input.queue.size >= wire.GREETING_LENGTH:
            self._on_greeting(now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(phases.SILENT, 0, 0, now_ns)
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
            return self.fail(phases.NOT_SP, 0, 0, now_ns)
        if protocol != self._protocol:
            return self.fail(phases.OTHER_PROTOCOL, protocol, self._protocol, now_ns)
        if self._greeted_length < wire.GREETING_LENGTH:
            return 0
        self.input.queue.consume(wire.GREETING_LENGTH)
        self._enter(phases.PHASE_GREETED, now_ns)
        return 0

    def _read(self, now_ns: int) -> int:
        received = self.input.read(now_ns)
        if self.input.fault != phases.NO_REASON:
            self._fail_for_fault(now_ns)
        elif self.input.result != connections.CONNECTION_WAITS:
            self._on_end(now_ns)
        elif self.input.is_overdue(now_ns):
            self.fail(phases.UNFINISHED, self.input.queue.size, 0, now_ns)
        return received

    def _on_end(self, now_ns: int) -> int:
        has_heard = self.input.has_heard or self.input.queue.size > 0
        if self.is_dialed and not has_heard and now_ns - self._phase_ns < phases.REFUSAL_NS:
            return self.fail(phases.REFUSED_BY_PEER, 0, 0, now_ns)
        self._enter(phases.PHASE_DRAINING, now_ns)
        return self._drain(now_ns)

    def _fail_for_fault(self, now_ns: int) -> int:
        return self.fail(self.input.fault, self.input.fault_value, self.input.fault_limit, now_ns)

    # Ending

    def _drain(self, now_ns: int) -> int:
        """Hand on what is left; return 0."""
        self.input.parse(now_ns)
        if self.input.fault != phases.NO_REASON:
            self._fail_for_fault(now_ns)
        elif not self.input.is_blocked:
            self._vanish(now_ns)
        return 0

    def is_stale(self, now_ns: int) -> bool:
        """Return whether nobody has taken for long what is left of a peer that is gone."""
        return self.phase == phases.PHASE_DRAINING and now_ns - self._phase_ns > phases.EVICTION_NS

    def evict(self, now_ns: int) -> int:
        """Throw away what is left of a peer that is gone; return 0."""
        self.end_reason = phases.EVICTED
        self.end_value = self.input.queue.size
        return self._vanish(now_ns)

    def fail(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """Give the connection up, for one of `phases` or what the operating system says; return 0.

        The stream of one who is among the peers is closed by the socket, once the sender does not use it any more.
        """
        self.end_reason = reason
        self.end_value = value
        self.end_limit = limit
        if not self.is_among_peers:
            self.connection.close(False)
        return self._vanish(now_ns)

    def refuse(self, now_ns: int) -> int:
        """Turn the peer away after its greeting; return 0."""
        self.end_reason = phases.REFUSED_PEER
        self.connection.end()
        self.connection.close(False)
        return self._vanish(now_ns)

    def _vanish(self, now_ns: int) -> int:
        if self.input.is_fed and self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.input.feed.end(now_ns)
        self.input.clear()
        return self._enter(phases.PHASE_GONE, now_ns)

    def _enter(self, phase: int, now_ns: int) -> int:
        self.phase = phase
        self._phase_ns = now_ns
        return 0

    def lived_ns(self, now_ns: int) -> int:
        """Return for how long the phase has lasted."""
        return now_ns - self._phase_ns

    def close(self) -> int:
        """Give the connection up for good, having the kernel deliver what was sent; return 0."""
        if self.phase == phases.PHASE_UP:
            self.connection.end()
            self.input.skim()
        self.connection.close(False)
        self.input.clear()
        self.phase = phases.PHASE_FREE
        return 0
