"""Output side of one peer.

Monogamous socket: messages are sent from the log in drafts; short messages are copied together, long ones are sent
directly from the log. The position of a publication advances when a draft was sent completely. If the peer disconnects
in the middle of a draft, `settle` determines how many messages were sent; the next peer gets the others.

Polyamorous socket: messages are copied into the queue of their peer, so that a slow peer does not delay the others.

Not here: choosing the peer of a message. Used under the lock of `message_router`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import connections, peers, positions
from aeron_core._native import wire as aeron_wire
from aeron_media._native.byte_queue import ByteQueue
from aeron_media.connections.log_message import LogMessage
from aeron_media.sp._native import bounds, reasons, tallies, wire
from aeron_media.sp._native.draft import Draft
from aeron_media.sp.pair_publication import PairPublication

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.connections import ByteConnection
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_media.sp.pair_params import PairParams


class Output:
    """Output of one peer; lengths are bytes. See the module."""

    def __init__(self, params: PairParams, connection: ByteConnection, peer: SocketAddress) -> None:
        self._connection = connection
        self._peer = peer
        self._tallies = params.tallies
        self._losses = params.losses
        self._has_type = params.has_type
        self._has_hops = params.protocol == wire.PROTOCOL_PAIR1
        self._head_length = params.prefix_length + params.hops_length
        self._max_message_length = params.max_message_length
        self._queue_length = params.peer_queue_length
        longest = params.max_message_length + self._head_length
        self._queue = ByteQueue(
            params.budget, max(params.peer_queue_length, bounds.DRAFT_LENGTH + bounds.DIRECT_LENGTH) + longest
        )
        self._draft = Draft(self._queue)
        self._message = LogMessage()
        self._source = cython.NULL

    def begin(self, session_id: int) -> int:
        """Start with a new peer; return 0."""
        self.session_id = session_id
        self.is_broken = False
        return 0

    # Whether a message can be sent

    def reason_against(self, message: LogMessage, session_id: int) -> int:
        """Return why a message cannot be sent to the peer of `session_id`, or NO_REASON."""
        if message.payload_length > self._max_message_length:
            return reasons.MESSAGE_TOO_LONG
        if (
            message.reserved_value & peers.RESERVED_HAS_PEER
            and message.reserved_value >> peers.RESERVED_PEER_SHIFT != session_id
        ):
            return reasons.NO_PEER
        if self._has_hops and message.reserved_value & peers.RESERVED_HOPS_MASK == wire.MAX_HOPS:
            return reasons.HOPS_SPENT
        return reasons.NO_REASON

    def pass_over(self, reason: int, length: int) -> int:
        """Count a skipped message of `length` bytes, and report it unless `reason` is HOPS_SPENT; return 0."""
        if reason == reasons.HOPS_SPENT:
            self._tallies.add(tallies.HOPS_SPENT, 1)
            return 0
        if reason == reasons.NO_PEER:
            self._tallies.add(tallies.NO_PEER, 1)
        elif reason == reasons.PEER_FULL:
            self._tallies.add(tallies.PEER_FULL, 1)
        else:
            self._tallies.add(tallies.UNSENDABLE, 1)
        limit = self._queue_length if reason == reasons.PEER_FULL else self._max_message_length
        self._losses.keep(reason, length, limit, 0, self._peer)
        return 0

    # Messages sent from the log, to the peer of a monogamous socket

    def draw(self, source: PairPublication, log: LogBuffer, position: int) -> int:
        """Send messages from `position` on; return the position up to which all were sent or dropped.

        Sends nothing while a draft of another publication, or of one that was closed, is incomplete.
        """
        pointer = cython.cast(cython.pointer(PyObject), source)
        if self._source != cython.NULL and self._source != pointer:  # noqa: PLR1714
            # Another publication's draft is incomplete: messages must not be interleaved.
            return position
        for _ in range(bounds.ROUNDS_PER_TURN):
            if self._source == cython.NULL:
                # Send the rest of a closed publication's draft first.
                if not self._send_queue() or not self._compose(log, position):
                    break
                self._source = pointer
            if not self._send(log):
                break
            self._source = cython.NULL
            position = self._end_position
            self._tallies.add(tallies.MESSAGES_OUT, self._count)
        return position

    def _compose(self, log: LogBuffer, position: int) -> bool:
        end = position
        self._count = 0
        while (
            self._queue.size < bounds.DRAFT_LENGTH
            and self._draft.body_length < bounds.BODIES_LENGTH
            and self._draft.takes_bodies()
        ):
            if not self._message.read(log, end):
                break
            if self._message.is_message:
                reason = self.reason_against(self._message, self.session_id)
                if reason != reasons.NO_REASON:
                    self.pass_over(reason, self._message.payload_length)
                elif not self._put(log, self._message, True):
                    break
                else:
                    self._count += 1
            end += self._message.step
        self._end_position = end
        self._draft_length = self._draft.left()
        return end > position

    def _put(self, log: LogBuffer, message: LogMessage, may_be_direct: bool) -> bool:
        """Add a message to the draft or queue; return whether there was memory for it."""
        length = message.payload_length
        is_direct = may_be_direct and length >= bounds.DIRECT_LENGTH
        if not self._queue.reserve(self._head_length + (0 if is_direct else length)):
            return False
        hops = -1
        if self._has_hops:
            hops = (message.reserved_value & peers.RESERVED_HOPS_MASK) + 1
            length += wire.HOPS_LENGTH
        wire.write_head(self._queue, self._has_type, length, hops)
        if is_direct:
            self._draft.add_body(message.offset, message.payload_length)
            return True
        offset = message.offset
        left = message.payload_length
        while left > 0:
            frame_length = log.buffer.get_i32(offset)
            piece = frame_length - aeron_wire.DATA_HEADER_LENGTH
            self._queue.append(log.buffer, offset + aeron_wire.DATA_HEADER_LENGTH, piece)
            left -= piece
            offset += positions.align_frame(frame_length)
        return True

    def _send(self, log: LogBuffer) -> bool:
        """Send the draft; return whether it was sent completely."""
        while self._draft.left() > 0:
            sent = self._draft.send(self._connection, log.buffer)
            if sent <= 0:
                return self._on_no_bytes(sent)
            self._tallies.add(tallies.BYTES_OUT, sent)
        return True

    def _send_queue(self) -> bool:
        # If the connection is about to be closed, the queue may contain the head of a message whose body is lost: the
        # peer would take later bytes for that body.
        if self.is_broken:
            return False
        while self._queue.size > 0:
            sent = self._connection.send(self._queue.buffer, self._queue.start, self._queue.size)
            if sent <= 0:
                return self._on_no_bytes(sent)
            self._tallies.add(tallies.BYTES_OUT, sent)
            self._queue.consume(sent)
        return True

    def _on_no_bytes(self, result: int) -> bool:
        if result == connections.CONNECTION_FAILED:
            # `Peer.work` reacts to the flag, and `peer_connections` closes the connection.
            self.is_broken = True
        return False

    def settle(self, source: PairPublication, log: LogBuffer, position: int) -> int:
        """Return the position of the first message that was not sent completely to a disconnected peer.

        `position`: where the draft began that `PairPublication.cut` recorded. The record is cleared.
        """
        left = source.cut_length
        source.is_cut = False
        while self._message.read(log, position):
            if (
                self._message.is_message
                and self.reason_against(self._message, source.cut_session_id) == reasons.NO_REASON
            ):
                length = self._head_length + self._message.payload_length
                if length > left:
                    break
                left -= length
                self._tallies.add(tallies.MESSAGES_OUT, 1)
            position += self._message.step
        return position

    def forget(self, source: PairPublication) -> int:
        """Forget a closed publication; return 1, and set `is_broken`, if its draft has unsent bodies; else 0."""
        if self._source != cython.cast(cython.pointer(PyObject), source):
            return 0
        self._source = cython.NULL
        if self._draft.body_length == 0:
            return 0
        self._draft.drop_bodies()
        self.is_broken = True
        return 1

    # Messages queued for each peer of a polyamorous socket

    def enqueue(self, log: LogBuffer, message: LogMessage) -> bool:
        """Copy a message into the queue; return whether there was space and memory for it."""
        length = self._head_length + message.payload_length
        if length > self.free_length() or not self._put(log, message, False):
            return False
        self._tallies.add(tallies.MESSAGES_OUT, 1)
        return True

    def free_length(self) -> int:
        """Return the free space of the queue in bytes, headers included; negative if the queue exceeds peer-queue=.

        An empty queue has space for the longest message, even if that is longer than peer-queue=.
        """
        longest = self._max_message_length + self._head_length
        return (
            max(self._queue_length, longest)
            if self._queue.size == 0
            else self._queue_length - self._queue.size
        )

    def longest(self) -> int:
        """Return the length in bytes of the longest message that fits into the queue now; negative if none fits."""
        return self.free_length() - self._head_length

    def flush(self) -> bool:
        """Send the queue and return whether it is empty; if `is_broken`, send nothing and return False."""
        return self._send_queue()

    def end(self) -> int:
        """Drop unsent bytes and free their memory; return how many are lost, 0 if a publication will resend them."""
        left = self._draft.left()
        if self._source != cython.NULL:
            cython.cast(PairPublication, self._source).cut(self._draft_length - left, self.session_id)
            self._source = cython.NULL
            left = 0
        self._draft.drop_bodies()
        self._queue.consume(self._queue.size)
        self._queue.release()
        return left
