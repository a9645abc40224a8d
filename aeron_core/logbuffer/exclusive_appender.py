"""Appender to a log with a single publisher: the exclusive publication.

Not here: frames (`FrameWriter`), and the result of a closed publication.
Invariant: the tail in the log is stored before the frames that it covers. The driver, which reads the tail, then never
finds a frame after it, and after a crash of this publisher the tail shows how much was begun.

Source: aeron_exclusive_publication.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from aeron_core._native import frames, positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.appender import Appender
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.frame_writer import (
    FrameWriter,
    check_message,
    check_range,
    length_of_message,
    length_of_parts,
)
from aeron_core.logbuffer.rebuilder import insert


class ExclusiveAppender(Appender):
    """Appends messages; one thread at a time. Negative results are those of `results`.

    `limit`: at least 8 bytes; its first `int64` is the publisher limit. Continues at the tail of the log.
    """

    def __init__(self, log: LogBuffer, session_id: int, stream_id: int, limit: AtomicBuffer) -> None:
        index = positions.index_by_term_count(log.active_term_count_acquire())
        raw_tail = log.raw_tail_acquire(index)
        self.log = log
        self.session_id = session_id
        self.stream_id = stream_id
        # No other publisher moves this tail: id and offset are kept here, and the tail in the log only reports them.
        self.term_id = positions.raw_tail_term_id(raw_tail)
        self.term_offset = positions.raw_tail_term_offset(raw_tail, log.term_length)
        self._writer = FrameWriter(log, session_id, stream_id)
        self._buffer = log.buffer
        self._limit = limit
        self._tail_offset = log.metadata_offset + wire.LOG_TERM_TAIL_COUNTERS_OFFSET + index * 8
        self._term_begin_position = positions.compute_position(
            self.term_id, 0, log.position_bits_to_shift, log.initial_term_id
        )
        self._term_begin_offset = index * log.term_length
        self._max_possible_position = log.max_possible_position
        self._term_length = log.term_length
        self._max_payload_length = log.max_payload_length
        self._max_message_length = log.max_message_length

    def position(self) -> int:
        """Return the stream position in bytes after everything claimed so far."""
        return self._term_begin_position + self.term_offset

    def position_limit(self) -> int:
        """Return the publisher limit, a position in bytes: a message may start only before it, but may end after it."""
        # Acquire: pairs with the release of the driver, which zeroes a term before the limit reaches it. A frame that
        # is written before could be overwritten with zeros.
        return self._limit.get_i64_acquire(0)

    def offer(self, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int) -> int:
        """Append one message; return the position after it, or a negative result.

        Raises IndexError if the message does not lie within `source`.
        """
        source.check(source_offset, length)
        if not self._has_space_for_frame(length):
            return self._offer_otherwise(source, source_offset, length, reserved_value)
        # Nearly every message is one frame that fits. Written here: calls would cost as much as the frame.
        term_offset = self.term_offset
        self._move_tail(positions.align_frame(length + wire.DATA_HEADER_LENGTH))
        frames.write_frame(
            self._buffer,
            self._term_begin_offset + term_offset,
            term_offset,
            self.session_id,
            self.stream_id,
            self.term_id,
            reserved_value,
            source,
            source_offset,
            length,
        )
        return self._term_begin_position + self.term_offset

    def offer_bytes(self, data: bytes, reserved_value: int) -> int:
        """Append a single-frame message if term and limit allow it; return the position after it, else 0."""
        length = len(data)
        if not self._has_space_for_frame(length):
            return 0
        term_offset = self.term_offset
        self._move_tail(positions.align_frame(length + wire.DATA_HEADER_LENGTH))
        frames.write_bytes(
            self._buffer,
            self._term_begin_offset + term_offset,
            term_offset,
            self.session_id,
            self.stream_id,
            self.term_id,
            reserved_value,
            data,
            length,
        )
        return self._term_begin_position + self.term_offset

    def offer_parts(self, parts: Sequence[AtomicBuffer], reserved_value: int) -> int:
        """Append the concatenation of `parts` as one message; return the position after it, or a negative result.

        Raises TypeError if one of them is not an AtomicBuffer. Needs the GIL.
        """
        buffers = tuple(parts)
        length = length_of_parts(buffers)
        if length > self._max_message_length:
            return wire.RESULT_ERROR
        required = self._required_length(length)
        position = self._claim_range(length, required)
        if position < 0:
            return position
        self._writer.write_parts(position, buffers, length, reserved_value)
        return position + required

    def claim(self, claim: BufferClaim, length: int) -> int:
        """Claim space for a message of at most one frame; return the position after it, or a negative result.

        The caller fills `claim` and commits or aborts it. Raises ValueError if `claim` is open.
        """
        # One frame at most: the headers of fragments would divide the memory that the caller fills.
        if length < 0 or length > self._max_payload_length:
            return wire.RESULT_ERROR
        claim.prepare(self._buffer)
        required = self._required_length(length)
        position = self._claim_range(length, required)
        if position < 0:
            return position
        self._writer.write_claim(position, claim, length)
        return position + required

    def append_padding(self, length: int) -> int:
        """Append a header and `length` bytes of padding, which readers skip.

        Returns the position after them, or a negative result.
        """
        if length < 0 or length > self._max_message_length:
            return wire.RESULT_ERROR
        required = positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        position = self._claim_range(length, required)
        if position < 0:
            return position
        self._writer.write_padding(position, length + wire.DATA_HEADER_LENGTH)
        return position + required

    def offer_block(self, source: AtomicBuffer, source_offset: int, length: int) -> int:
        """Append complete frames made for this position; return the position after them, or a negative result.

        Returns RESULT_ERROR unless they continue the stream: there is at least one frame, `length` is the total length
        of the aligned frames, each has the matching term id, term offset, session id and stream id, the first is DATA,
        and all fit into the rest of the term. Raises IndexError if they lie outside `source`.
        """
        source.check(source_offset, length)
        # The last call may have filled the term exactly, which does not rotate the log.
        if self.term_offset >= self._term_length:
            if self.position() >= self._max_possible_position:
                return wire.RESULT_MAX_POSITION_EXCEEDED
            self._rotate()
        position = self.position()
        if position >= self._limit.get_i64_acquire(0):
            return self._refuse(position, length)
        if not self._is_block(source, source_offset, length):
            return wire.RESULT_ERROR
        self._move_tail(length)
        # `insert` stores the first length last: readers see the whole block or none of it.
        insert(self._buffer, self.log.frame_offset(position), source, source_offset, length)
        return position + length

    def offer_batch(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        """Append up to `count` messages from index `first` on; return how many, or a negative result.

        `boundaries`: little-endian `int64`, one more than there are messages; message i is in `data` from entry i
        up to entry i + 1. Raises ValueError if it lacks entries for the messages, or if those of the first message
        decrease or lie outside the data; messages before an invalid one are appended.
        """
        check_range(boundaries, first, count)
        appended = 0
        result = 0
        while appended < count:
            result = self._offer_run(data, boundaries, first + appended, count - appended, reserved_value)
            if result == wire.RESULT_ADMIN_ACTION:
                # This thread rotated the log: continue in the next term, which is empty; the limit still applies.
                continue
            if result < 0:
                break
            appended += result
        if appended > 0 or count == 0:
            return appended
        if result == wire.RESULT_ERROR:
            check_message(data, boundaries, first)
        return result

    def _offer_otherwise(
        self, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int
    ) -> int:
        """Append a message by the slow path, as several frames if needed; return the same as `offer`."""
        if length > self._max_message_length:
            return wire.RESULT_ERROR
        required = self._required_length(length)
        position = self._claim_range(length, required)
        if position < 0:
            return position
        self._writer.write_message(position, source, source_offset, length, reserved_value)
        return position + required

    def _offer_run(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        """Append as many messages as one move of the tail can hold; return how many, or a negative result."""
        position = self.position()
        allowance = self._limit.get_i64_acquire(0) - position
        space = self._term_length - self.term_offset
        run = self._writer.measure_run(data, boundaries, first, count, space, allowance)
        taken = positions.high_of_pair(run)
        if taken == 0:
            # Back pressure, the end of the term, a message of several frames, or invalid boundaries: offer one message.
            length = length_of_message(data, boundaries, first)
            if length < 0 or length > self._max_message_length:
                return wire.RESULT_ERROR
            position = self.offer(data, boundaries.get_i64(first * 8), length, reserved_value)
            return 1 if position >= 0 else position
        self._move_tail(positions.low_of_pair(run))
        self._writer.write_run(position, run, data, boundaries, first, reserved_value)
        return taken

    def _required_length(self, length: int) -> int:
        if length <= self._max_payload_length:
            return positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        return positions.fragmented_length(length, self._max_payload_length)

    def _has_space_for_frame(self, length: int) -> bool:
        return (
            length <= self._max_payload_length
            and positions.align_frame(length + wire.DATA_HEADER_LENGTH)
            <= self._term_length - self.term_offset
            # Only the start of a message must be below the limit, as in the reference: its end may exceed it.
            and self._term_begin_position + self.term_offset < self._limit.get_i64_acquire(0)
        )

    def _move_tail(self, length: int) -> int:
        # A plain add: no other publisher moves this tail.
        self.term_offset += length
        # Release: a process that sees the tail sees what was stored before. The frames that the tail covers begin with
        # a release of their own, so the tail is visible before them.
        return self._buffer.put_i64_release(
            self._tail_offset, positions.pack_raw_tail(self.term_id, self.term_offset)
        )

    def _claim_range(self, length: int, required: int) -> int:
        """Move the tail by `required` bytes; return the position of the first, or a negative result."""
        position = self.position()
        if position >= self._limit.get_i64_acquire(0) or position >= self._max_possible_position:
            return self._refuse(position, length)
        # Stored with release, before any frame. The tail may exceed the term, as it does with concurrent publishers.
        self._buffer.put_i64_release(
            self._tail_offset, positions.pack_raw_tail(self.term_id, self.term_offset + required)
        )
        if required > self._term_length - self.term_offset:
            return self._end_term()
        self.term_offset += required
        return position

    def _end_term(self) -> int:
        """Pad the rest of the term and rotate the log.

        Returns RESULT_ADMIN_ACTION, or RESULT_MAX_POSITION_EXCEEDED after the last term, which is not
        rotated.
        """
        left_in_term = self._term_length - self.term_offset
        if left_in_term > 0:
            # The header of the padding fits: what is left of a term is a multiple of 32, the length of a header.
            self._writer.write_padding(self.position(), left_in_term)
            self.term_offset = self._term_length
        if self.position() >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        # The message is not written: the caller offers it again, and is then held to the limit at the new position.
        self._rotate()
        return wire.RESULT_ADMIN_ACTION

    def _rotate(self) -> int:
        # Without compare-and-set, unlike `LogBuffer.rotate`: only this publisher rotates the log. The driver unblocks,
        # and so rotates, the log of an exclusive publication only after the publication was removed.
        self.term_id = positions.add_wrap(self.term_id, 1)
        self.term_offset = 0
        self._term_begin_position += self._term_length
        term_count = positions.compute_term_count(self.term_id, self.log.initial_term_id)
        # Term ids wrap, so partitions are chosen by the number of terms since the initial one.
        index = positions.index_by_term_count(term_count)
        self._tail_offset = self.log.metadata_offset + wire.LOG_TERM_TAIL_COUNTERS_OFFSET + index * 8
        self._term_begin_offset = index * self._term_length
        # Release: a process that sees the count also sees the tail of its partition.
        self._buffer.put_i64(self._tail_offset, positions.pack_raw_tail(self.term_id, 0))
        return self._buffer.put_i32_release(
            self.log.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, term_count
        )

    def _refuse(self, position: int, length: int) -> int:
        if position + length >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        # Without receivers the driver lowers the limit to what was sent or consumed, so that every offer gets here.
        return wire.RESULT_BACK_PRESSURED if self.log.is_connected() else wire.RESULT_NOT_CONNECTED

    def _is_block(self, source: AtomicBuffer, source_offset: int, length: int) -> bool:
        if length <= 0 or length % wire.FRAME_ALIGNMENT or length > self._term_length - self.term_offset:
            return False
        if source.get_u16(source_offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_DATA:
            return False
        offset = 0
        while offset < length:
            frame = source_offset + offset
            # A plain load: the block is the caller's memory, not a log that others write to.
            frame_length = source.get_i32(frame)
            if (
                frame_length < wire.DATA_HEADER_LENGTH
                or source.get_i32(frame + wire.DATA_TERM_OFFSET_OFFSET) != self.term_offset + offset
                or source.get_i32(frame + wire.DATA_TERM_ID_OFFSET) != self.term_id
                or source.get_i32(frame + wire.DATA_SESSION_ID_OFFSET) != self.session_id
                or source.get_i32(frame + wire.DATA_STREAM_ID_OFFSET) != self.stream_id
            ):
                return False
            offset += positions.align_frame(frame_length)
        return offset == length
