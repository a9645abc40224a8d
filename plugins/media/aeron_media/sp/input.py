"""Input side of one peer: reads its connection, parses messages, and feeds them into images.

Back pressure: while images have no space, or there are no subscribers, it reads only up to READ_LENGTH bytes, in order
to detect the end of the connection. Then the socket buffers fill, and the peer cannot send more.

Not here: reacting to an end or a fault of the connection (`peer`). Used under the lock of `peer_connections`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import connections
from aeron_core._native import wire as aeron_wire
from aeron_media._native.byte_queue import ByteQueue
from aeron_media.sp._native import bounds, reasons, tallies, wire

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.image_feed import ImageFeed
    from aeron_media.sp.pair_params import PairParams


class Input:
    """Input of one peer; `queue` holds received bytes that were not delivered yet. Lengths are bytes."""

    feed: ImageFeed

    def __init__(self, params: PairParams, connection: ByteConnection, address: SocketAddress) -> None:
        self._connection = connection
        self._address = address
        self._tallies = params.tallies
        self._prefix_length = params.prefix_length
        self._has_type = params.has_type
        self._hops_length = params.hops_length
        self._max_payload_length = params.max_message_length + params.hops_length
        self._ttl = params.ttl
        self._accepts_zero_hops = params.accepts_zero_hops
        self._message_timeout_ns = params.message_timeout_ns
        longest = params.max_message_length + params.prefix_length + params.hops_length
        # The lead has space for a frame header before a message, which `ImageFeed.offer_in_place` needs.
        self.queue = ByteQueue(
            params.budget,
            longest + 2 * bounds.LONG_READ_LENGTH + aeron_wire.DATA_HEADER_LENGTH,
            aeron_wire.DATA_HEADER_LENGTH,
        )
        self.is_fed = False
        self.is_watched = False
        self.is_readable = True

    def begin(self, session_id: int, now_ns: int) -> int:
        """Start with a new connection; `session_id` is that of its images. Return 0."""
        self._session_id = session_id
        self.is_watched = False
        self.is_readable = True
        self.has_received = False
        self.is_blocked = False
        self.fault = reasons.NO_REASON
        self._wanted = 0
        self._read_length = bounds.READ_LENGTH
        self._starved_ns = 0
        self._last_received_ns = now_ns
        return 0

    # Images of the subscribers

    def attach(self, feed: ImageFeed) -> None:
        """Deliver messages to the images of `feed`."""
        self.feed = feed
        self.is_fed = True

    def detach(self) -> None:
        """Stop delivering messages: there are no subscribers."""
        self.is_fed = False
        self.feed = None  # type: ignore[assignment]

    def begin_feed(self, now_ns: int) -> int:
        """Begin new images of the peer if there are subscribers; return 0."""
        if self.is_fed:
            self.feed.begin(self._session_id, self._address, now_ns)
        return 0

    def work(self, now_ns: int) -> int:
        """Do timed work for images, and begin new ones if all of them are gone; return 0."""
        if self.is_fed:
            self.feed.work(now_ns)
            self._renew_feed(now_ns)
        return 0

    def _renew_feed(self, now_ns: int) -> int:
        if self.feed.is_broken:
            # All images are gone, for example because their subscribers are; the next subscriber gets a new image.
            self.begin_feed(now_ns)
        return 0

    # Reading from the connection

    def receive(self, length: int) -> int:
        """Read up to `length` bytes into reserved space; return the result of `ByteConnection.receive`.

        That is the number of bytes, or CONNECTION_WAITS, CONNECTION_ENDED or CONNECTION_FAILED.
        """
        received = self._connection.receive(
            self.queue.buffer, self.queue.start + self.queue.size, min(length, self.queue.free_length())
        )
        if received > 0:
            self.queue.commit(received)
            self._tallies.add(tallies.BYTES_IN, received)
        return received

    def read(self, now_ns: int) -> int:
        """Read up to about TURN_LENGTH bytes, and deliver messages; return the number of bytes read.

        Sets `fault` if a message is refused, or memory has been lacking for STARVED_NS. `result` is that of a receive
        call without bytes, otherwise CONNECTION_WAITS.
        """
        self.result = connections.CONNECTION_WAITS
        if self.is_blocked and not self.parse(now_ns):
            return self._read_ahead()
        if not self.is_readable and self.is_watched:
            return 0
        total = 0
        while total < bounds.TURN_LENGTH:
            length = self._reserve()
            if length == 0:
                self._starve(now_ns)
                break
            self._starved_ns = 0
            received = self.receive(length)
            if received <= 0:
                self._on_no_bytes(received)
                break
            total += received
            self._last_received_ns = now_ns
            if not self.parse(now_ns):
                break
            # If a call fills the buffer, more bytes probably wait: read more with the next call.
            self._read_length = bounds.LONG_READ_LENGTH if received >= length else bounds.READ_LENGTH
            if received < length:
                # The buffer was not filled, so the socket is probably empty: if it is watched, wait until epoll reports
                # it readable.
                self.is_readable = not self.is_watched
                break
        if self.queue.size == 0:
            self.queue.release()
        return total

    def _reserve(self) -> int:
        """Reserve space for the next read; return its length, 0 if there is no memory."""
        wanted = self._wanted - self.queue.size
        length = max(self._read_length, wanted)
        if self.queue.reserve(length):
            return length
        length = max(bounds.READ_LENGTH, wanted)
        return length if self.queue.reserve(length) else 0

    def _read_ahead(self) -> int:
        """Read until READ_LENGTH bytes wait for space in images, to detect the end of the connection.

        Return the number of bytes read.
        """
        if (not self.is_readable and self.is_watched) or self.queue.size >= bounds.READ_LENGTH:
            return 0
        if self.fault != reasons.NO_REASON or not self.queue.reserve(bounds.READ_LENGTH - self.queue.size):
            return 0
        received = self.receive(bounds.READ_LENGTH - self.queue.size)
        if received <= 0:
            self._on_no_bytes(received)
            return 0
        return received

    def _on_no_bytes(self, result: int) -> int:
        self.result = result
        if result == connections.CONNECTION_WAITS:
            self.is_readable = False
        return 0

    def _starve(self, now_ns: int) -> int:
        if self._starved_ns == 0:
            self._starved_ns = now_ns
        elif now_ns - self._starved_ns > bounds.STARVED_NS:
            self._refuse(reasons.BUDGET_SPENT, 0, 0)
        return 0

    def is_overdue(self, now_ns: int) -> bool:
        """Return whether a message is incomplete and no byte of it has arrived for longer than message-timeout=."""
        if self.queue.size == 0 or self.is_blocked or self._starved_ns:
            # There is no incomplete message, or this end holds back the peer.
            self._last_received_ns = now_ns
        return now_ns - self._last_received_ns > self._message_timeout_ns

    # Messages to the images

    def parse(self, now_ns: int) -> bool:
        """Deliver the complete messages; return whether more bytes may be read.

        False if a message waits for space or subscribers (`is_blocked`), or was refused (`fault`).
        """
        self.is_blocked = False
        if self.is_fed and self.feed.consumed_position() == aeron_wire.NO_POSITION:
            # The images of the peer are gone; received messages wait for new ones.
            self.begin_feed(now_ns)
        while self.queue.size >= self._prefix_length and self._is_in_order():
            if self.queue.size < self._wanted:
                break
            # Set even if the message is discarded: a peer that refuses this end sends no messages.
            self.has_received = True
            length = self._wanted - self._prefix_length
            if not self._deliver(self.queue.start + self._prefix_length, length, now_ns):
                self.is_blocked = True
                break
            self.queue.consume(self._wanted)
            self._wanted = 0
        if self.is_fed:
            self.feed.flush(now_ns)
            self._renew_feed(now_ns)
        return not self.is_blocked and self.fault == reasons.NO_REASON

    def _is_in_order(self) -> bool:
        """Check the prefix of a message; return whether it is valid. Sets `fault` if it is not."""
        at = self.queue.start
        if self._has_type and self.queue.buffer.get_u8(at) != wire.TYPE_MESSAGE:
            return self._refuse(reasons.NO_MESSAGE, self.queue.buffer.get_u8(at), wire.TYPE_MESSAGE)
        length = wire.get_u64(self.queue.buffer, at + self._prefix_length - wire.LENGTH_LENGTH)
        if length > self._max_payload_length:
            self._tallies.add(tallies.TOO_LONG, 1)
            return self._refuse(
                reasons.TOO_LONG, length - self._hops_length, self._max_payload_length - self._hops_length
            )
        self._wanted = self._prefix_length + length
        return True

    def _refuse(self, fault: int, value: int, limit: int) -> bool:
        self.fault = fault
        self.fault_value = value
        self.fault_limit = limit
        return False

    def _deliver(self, at: int, length: int, now_ns: int) -> bool:
        """Deliver or discard a payload; return False without subscribers, or if images have no space yet."""
        hops = 0
        if self._hops_length > 0:
            if length < wire.HOPS_LENGTH:
                return self._discard(tallies.SHORT)
            hops = wire.get_u32(self.queue.buffer, at)
            if hops > wire.MAX_HOPS:
                return self._discard(tallies.RESERVED_BITS)
            if hops == 0 and not self._accepts_zero_hops:
                return self._discard(tallies.ZERO_HOPS)
            if hops > self._ttl:
                return self._discard(tallies.OVER_TTL)
            at += wire.HOPS_LENGTH
            length -= wire.HOPS_LENGTH
        if not self.is_fed or not self.feed.has_space(length):
            return False
        if length >= bounds.DIRECT_LENGTH:
            self.feed.offer_in_place(self.queue.buffer, at, length, hops, now_ns)
        else:
            self.feed.offer(self.queue.buffer, at, length, hops, now_ns)
        self._tallies.add(tallies.MESSAGES_IN, 1)
        return True

    def _discard(self, tally: int) -> bool:
        self._tallies.add(tally, 1)
        return True

    # The end of the connection

    def clear(self) -> int:
        """Drop all received bytes and free their memory; return how many there were."""
        size = self.queue.size
        self.queue.consume(size)
        self.queue.release()
        self.is_blocked = False
        return size

    def discard_unread(self) -> int:
        """Drop all received bytes, then read and drop about CLOSING_LENGTH bytes at most; return how many were read.

        If a socket is closed with unread bytes, the kernel resets the connection and discards what was sent.
        """
        total = 0
        self.clear()
        while total < bounds.CLOSING_LENGTH and self.queue.reserve(bounds.READ_LENGTH):
            received = self._connection.receive(self.queue.buffer, self.queue.start, bounds.READ_LENGTH)
            if received <= 0:
                break
            total += received
        self.queue.release()
        return total
