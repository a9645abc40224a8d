"""One connection with a peer, and what comes over it.

    FREE ──dialed──► CONNECTING ──► GREETING ──both greetings──► GREETED ──admitted──► UP ──closed, broken──► DRAINING
    FREE ──accepted───────────────► GREETING                        │ refused                                  │ taken
                                    any ────────── fault ───────────┴──────────────────────────────────────► GONE

What comes goes to images as long as they have room; else nothing is read, and the peer waits. What has come of a peer
that is gone stays until subscribers have room for it.

Not here: what goes to the peer (`output`), and which peers there may be (`pair_socket`). Used under the lock of the
socket's keeping side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import streams
from aeron_core._native import wire as aeron_wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.byte_queue import ByteQueue
from aeron_core.spi.stream_counter import detached_peer_counter
from aeron_media.sp._native import phases, tallies, wire
from aeron_media.sp.output import Output

if TYPE_CHECKING:
    from aeron_core._native.streams import ByteStream
    from aeron_media.sp.pair_params import PairParams
    from aeron_media.streams.feed import Feed


def greeting_of(protocol: int) -> bytes:
    """Return what both ends begin with."""
    return b"\0SP\0" + protocol.to_bytes(2, "big") + b"\0\0"


class Peer:
    """A slot for one connection, used again and again; lengths are bytes."""

    feed: Feed
    is_among_peers: bool

    def __init__(self, params: PairParams, stream: ByteStream) -> None:
        self.stream = stream
        self.address = SocketAddress()
        self.output = Output(params, stream, self.address)
        #: Says to clients of the peer; see `peers.pxd`.
        self.room = detached_peer_counter("sp-room")
        self.is_fed = False
        self._tallies = params.tallies
        self._protocol = params.protocol
        self._greeting = AtomicBuffer(bytearray(greeting_of(params.protocol)))
        self._prefix_length = params.prefix_length
        self._has_type = params.has_type
        self._hops_length = params.hops_length
        self._max_payload_length = params.max_message_length + params.hops_length
        self._ttl = params.ttl
        self._accepts_zero_hops = params.accepts_zero_hops
        self._confirms = params.confirms
        self._handshake_timeout_ns = params.handshake_timeout_ns
        self._message_timeout_ns = params.message_timeout_ns
        longest = params.max_message_length + params.prefix_length + params.hops_length
        self._input = ByteQueue(params.budget, longest + 2 * phases.READ_LENGTH)
        self.phase = phases.PHASE_FREE
        self.is_watched = False
        self.has_news = True

    # Beginning

    def begin(self, session_id: int, is_dialed: bool, now_ns: int) -> int:
        """Start with a connection that is being made, or that `stream` was opened for; return 0."""
        self.phase = phases.PHASE_CONNECTING if is_dialed else phases.PHASE_GREETING
        self.session_id = session_id
        self.is_dialed = is_dialed
        self.end_reason = phases.NO_REASON
        self.end_value = 0
        self.end_limit = 0
        self.has_heard = False
        self.is_rejected = False
        self._is_blocked = False
        self._greeted_length = 0
        self._wanted = 0
        self._starved_ns = 0
        self._heard_ns = now_ns
        self._phase_ns = now_ns
        self.has_news = True
        self.is_watched = False
        return 0

    def admit(self, now_ns: int) -> int:
        """Take the peer: from now on messages go both ways. Return 0."""
        self._enter(phases.PHASE_UP, now_ns)
        self.output.begin(self.session_id)
        if self.is_fed:
            self.feed.begin(self.session_id, self.address, now_ns)
        # Messages may have come together with the greeting.
        self._is_blocked = True
        return 0

    def attach(self, feed: Feed, now_ns: int) -> None:
        """Have what comes go to images."""
        self.feed = feed
        self.is_fed = True
        if self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self._begin_feed(now_ns)

    def _begin_feed(self, now_ns: int) -> int:
        return self.feed.begin(self.session_id, self.address, now_ns)

    def detach(self) -> None:
        """Have what comes go nowhere."""
        self.is_fed = False
        self.feed = None  # type: ignore[assignment]

    def is_confirmed(self, now_ns: int) -> bool:
        """Return whether the peer is known to have taken us, if that is asked for."""
        return not self._confirms or self.has_heard or now_ns - self._phase_ns >= phases.CONFIRMATION_NS

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
                self._on_nothing(streams.STREAM_FAILED, now_ns)
            else:
                received = self._read(now_ns)
                self._look_for_silence(now_ns)
        elif self.phase == phases.PHASE_DRAINING:
            self._drain(now_ns)
        if self.is_fed and self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.feed.work(now_ns)
            if self.feed.is_broken:
                self._begin_feed(now_ns)
        return received

    def _connect(self, now_ns: int) -> int:
        result = self.stream.is_connected()
        if result == streams.STREAM_CONNECTED:
            self._enter(phases.PHASE_GREETING, now_ns)
        elif result == streams.STREAM_FAILED:
            self.fail(phases.NO_REASON, 0, 0, now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(phases.NOT_CONNECTED, 0, 0, now_ns)
        return 0

    def _greet(self, now_ns: int) -> int:
        if self._greeted_length < wire.GREETING_LENGTH:
            sent = self.stream.send(
                self._greeting, self._greeted_length, wire.GREETING_LENGTH - self._greeted_length
            )
            if sent < 0:
                return self.fail(phases.NO_REASON, 0, 0, now_ns)
            self._greeted_length += sent
        if self.has_news or not self.is_watched:
            if not self._input.reserve(phases.READ_LENGTH):
                return self.fail(phases.BUDGET_SPENT, 0, 0, now_ns)
            result = self._receive(phases.READ_LENGTH)
            if result < 0:
                return self.fail(phases.NO_REASON, 0, 0, now_ns)
            self.has_news = result > 0
        if self._input.size >= wire.GREETING_LENGTH:
            self._on_greeting(now_ns)
        elif now_ns - self._phase_ns > self._handshake_timeout_ns:
            self.fail(phases.SILENT, 0, 0, now_ns)
        elif self._input.size == 0:
            self._input.release()
        return 0

    def _on_greeting(self, now_ns: int) -> int:
        at = self._input.start
        protocol = wire.get_u16(self._input.buffer, at + wire.GREETING_PROTOCOL_OFFSET)
        if (
            wire.get_u32(self._input.buffer, at) != wire.GREETING_MAGIC
            or wire.get_u16(self._input.buffer, at + wire.GREETING_RESERVED_OFFSET) != 0
        ):
            return self.fail(phases.NOT_SP, 0, 0, now_ns)
        if protocol != self._protocol:
            return self.fail(phases.OTHER_PROTOCOL, protocol, self._protocol, now_ns)
        if self._greeted_length < wire.GREETING_LENGTH:
            return 0
        self._input.consume(wire.GREETING_LENGTH)
        self._enter(phases.PHASE_GREETED, now_ns)
        return 0

    def _receive(self, length: int) -> int:
        """Read up to `length` bytes, for which there is room; return what the stream says."""
        received = self.stream.receive(
            self._input.buffer, self._input.start + self._input.size, min(length, self._input.room())
        )
        if received > 0:
            self._input.commit(received)
            self._tallies.add(tallies.BYTES_IN, received)
        return received

    def _read(self, now_ns: int) -> int:
        if self._is_blocked and not self._parse(now_ns):
            return self._read_ahead(now_ns)
        if not self.has_news and self.is_watched:
            return 0
        total = 0
        while total < phases.TURN_LENGTH:
            length = max(phases.READ_LENGTH, self._wanted - self._input.size)
            if not self._input.reserve(length):
                self._starve(now_ns)
                break
            self._starved_ns = 0
            received = self._receive(length)
            if received <= 0:
                self._on_nothing(received, now_ns)
                break
            total += received
            self._heard_ns = now_ns
            if not self._parse(now_ns):
                break
            if received < length:
                # Nothing more is there, as a rule; where there is, its being so is news.
                self.has_news = not self.is_watched
                break
        if self._input.size == 0:
            self._input.release()
        return total

    def _read_ahead(self, now_ns: int) -> int:
        """Read a little while images have no room, to hear of the end of a connection that nobody reads from."""
        if (not self.has_news and self.is_watched) or self._input.size >= phases.READ_LENGTH:
            return 0
        if self.phase != phases.PHASE_UP or not self._input.reserve(phases.READ_LENGTH - self._input.size):
            return 0
        received = self._receive(phases.READ_LENGTH - self._input.size)
        if received <= 0:
            self._on_nothing(received, now_ns)
            return 0
        return received

    def _look_for_silence(self, now_ns: int) -> int:
        if self.phase != phases.PHASE_UP or self._input.size == 0 or self._is_blocked or self._starved_ns:
            # Nothing was begun, or it is for us that the peer waits.
            self._heard_ns = now_ns
        elif now_ns - self._heard_ns > self._message_timeout_ns:
            self.fail(phases.UNFINISHED, self._input.size, 0, now_ns)
        return 0

    def _starve(self, now_ns: int) -> int:
        if self._starved_ns == 0:
            self._starved_ns = now_ns
        elif now_ns - self._starved_ns > phases.STARVED_NS:
            self.fail(phases.BUDGET_SPENT, 0, 0, now_ns)
        return 0

    def _on_nothing(self, result: int, now_ns: int) -> int:
        if result == streams.STREAM_WAITS:
            self.has_news = False
            return 0
        has_heard = self.has_heard or self._input.size > 0
        if self.is_dialed and not has_heard and now_ns - self._phase_ns < phases.REFUSAL_NS:
            return self.fail(phases.REFUSED_BY_PEER, 0, 0, now_ns)
        self._enter(phases.PHASE_DRAINING, now_ns)
        return self._drain(now_ns)

    # Messages

    def _parse(self, now_ns: int) -> bool:
        """Hand on the messages that are whole; return whether more may be read."""
        self._is_blocked = False
        if self.is_fed and self.feed.consumed_position() == aeron_wire.NO_POSITION:
            # Its images are gone; what has come waits for the next.
            self._begin_feed(now_ns)
        while self._input.size >= self._prefix_length:
            at = self._input.start
            if self._has_type and self._input.buffer.get_u8(at) != wire.TYPE_MESSAGE:
                return self._refuse(
                    phases.NO_MESSAGE, self._input.buffer.get_u8(at), wire.TYPE_MESSAGE, now_ns
                )
            length = wire.get_u64(self._input.buffer, at + self._prefix_length - wire.LENGTH_LENGTH)
            if length > self._max_payload_length:
                self._tallies.add(tallies.TOO_LONG, 1)
                return self._refuse(
                    phases.TOO_LONG,
                    length - self._hops_length,
                    self._max_payload_length - self._hops_length,
                    now_ns,
                )
            self._wanted = self._prefix_length + length
            if self._input.size < self._wanted:
                break
            # Taken or not: who refuses us says nothing.
            self.has_heard = True
            if not self._deliver(at + self._prefix_length, length, now_ns):
                self._is_blocked = True
                break
            self._input.consume(self._wanted)
            self._wanted = 0
        if self.is_fed:
            self.feed.flush(now_ns)
            if self.feed.is_broken:
                # All subscribers are gone; whoever comes next begins with a new image.
                self._begin_feed(now_ns)
        return not self._is_blocked

    def _refuse(self, reason: int, value: int, limit: int, now_ns: int) -> bool:
        if self.is_fed:
            self.feed.flush(now_ns)
        self.fail(reason, value, limit, now_ns)
        return False

    def _deliver(self, at: int, length: int, now_ns: int) -> bool:
        """Hand on a payload, or discard it; return False where there is no room for it yet."""
        hops = 0
        if self._hops_length > 0:
            if length < wire.HOPS_LENGTH:
                return self._discard(tallies.SHORT)
            hops = wire.get_u32(self._input.buffer, at)
            if hops > wire.MAX_HOPS:
                return self._discard(tallies.RESERVED_BITS)
            if hops == 0 and not self._accepts_zero_hops:
                return self._discard(tallies.ZERO_HOPS)
            if hops > self._ttl:
                return self._discard(tallies.OVER_TTL)
            at += wire.HOPS_LENGTH
            length -= wire.HOPS_LENGTH
        if not self.is_fed or not self.feed.has_room(length):
            return False
        self.feed.offer(self._input.buffer, at, length, hops, now_ns)
        self._tallies.add(tallies.MESSAGES_IN, 1)
        return True

    def _discard(self, tally: int) -> bool:
        self._tallies.add(tally, 1)
        return True

    # Ending

    def _drain(self, now_ns: int) -> int:
        """Hand on what is left; return 0."""
        self._parse(now_ns)
        if self.phase == phases.PHASE_DRAINING and not self._is_blocked:
            self._vanish(now_ns)
        return 0

    def is_stale(self, now_ns: int) -> bool:
        """Return whether nobody has taken for long what is left of a peer that is gone."""
        return self.phase == phases.PHASE_DRAINING and now_ns - self._phase_ns > phases.EVICTION_NS

    def evict(self, now_ns: int) -> int:
        """Throw away what is left of a peer that is gone; return 0."""
        self.end_reason = phases.EVICTED
        self.end_value = self._input.size
        return self._vanish(now_ns)

    def fail(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """Give the connection up, for one of `phases` or what the operating system says; return 0.

        The stream of one who is among the peers is closed by the socket, once the sender does not use it any more.
        """
        self.end_reason = reason
        self.end_value = value
        self.end_limit = limit
        if not self.is_among_peers:
            self.stream.close(False)
        return self._vanish(now_ns)

    def refuse(self, now_ns: int) -> int:
        """Turn the peer away after its greeting; return 0."""
        self.end_reason = phases.REFUSED_PEER
        self.stream.end()
        self.stream.close(False)
        return self._vanish(now_ns)

    def _vanish(self, now_ns: int) -> int:
        if self.is_fed and self.phase in (phases.PHASE_UP, phases.PHASE_DRAINING):
            self.feed.end(now_ns)
        self._input.consume(self._input.size)
        self._input.release()
        self._is_blocked = False
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
            self.stream.end()
            self._skim()
        self.stream.close(False)
        self._input.consume(self._input.size)
        self._input.release()
        self.phase = phases.PHASE_FREE
        return 0

    def _skim(self) -> int:
        # Closing with bytes unread would have the kernel throw away what is on its way to the peer.
        total = 0
        self._input.consume(self._input.size)
        while total < phases.CLOSING_LENGTH and self._input.reserve(phases.READ_LENGTH):
            received = self.stream.receive(self._input.buffer, self._input.start, phases.READ_LENGTH)
            if received <= 0:
                break
            total += received
        return 0
