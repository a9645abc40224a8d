"""Appends to a log that nobody else appends to.

Not here: frames (`FrameWriter`), and what a closed publication answers.
Invariant: the tail in the log is stored before the frames that it covers. The driver, which reads it, then
never sees a frame behind the tail; and where this publisher dies the tail tells that something was begun.

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
    """One thread at a time may use it. Results that are not positions are those of `results`.

    `limit`: 8 bytes at least; its first `int64` is the publisher limit. Goes on where the tail of the log
    stands.
    """

    def __init__(self, log: LogBuffer, session_id: int, stream_id: int, limit: AtomicBuffer) -> None:
        index = positions.index_by_term_count(log.active_term_count_acquire())
        raw_tail = log.raw_tail_acquire(index)
        self.log = log
        self.session_id = session_id
        self.stream_id = stream_id
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
        """Return the position behind everything that was appended."""
        return self._term_begin_position + self.term_offset

    def position_limit(self) -> int:
        """Return the position up to which the driver lets the publisher go."""
        return self._limit.get_i64_acquire(0)

    def offer(self, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int) -> int:
        """Append one message and return the position behind it, or why it could not be appended.

        Raises IndexError when the message does not lie within `source`.
        """
        source.check(source_offset, length)
        if not self._has_room_for_frame(length):
            return self._offer_otherwise(source, source_offset, length, reserved_value)
        # One frame that has room, as nearly all: written here, since calls cost as much as the frame.
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
        """Append a message of one frame that has room and return the position behind it, 0 for any other."""
        length = len(data)
        if not self._has_room_for_frame(length):
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
        """Append one message that is gathered from `parts`, whole and in order; otherwise as `offer`."""
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
        """Claim room for a message of `length` bytes, a fragment at most, and return the position behind it.

        The caller fills `claim` and commits or aborts it.
        """
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
        """Append padding of a header and `length` bytes, which readers skip; otherwise as `offer`."""
        if length < 0 or length > self._max_message_length:
            return wire.RESULT_ERROR
        required = positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        position = self._claim_range(length, required)
        if position < 0:
            return position
        self._writer.write_padding(position, length + wire.DATA_HEADER_LENGTH)
        return position + required

    def offer_block(self, source: AtomicBuffer, source_offset: int, length: int) -> int:
        """Append whole frames, made for this place in the stream; return the position behind, or why not.

        ERROR unless they are what comes next: each with its own term id and offset, session and stream, data
        first, and all within what is left of the term. Raises IndexError when they lie outside of `source`.
        """
        source.check(source_offset, length)
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
        insert(self._buffer, self.log.frame_offset(position), source, source_offset, length)
        return position + length

    def offer_batch(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        """Append `count` messages from number `first` on and return how many were, or why not even one.

        `boundaries`: little-endian `int64`, one more than there are messages; message i lies in `data` from
        entry i up to entry i + 1. Raises ValueError when the first message has boundaries that decrease
        or lie outside of the data; those before such a message are appended.
        """
        check_range(boundaries, first, count)
        appended = 0
        result = 0
        while appended < count:
            result = self._offer_run(data, boundaries, first + appended, count - appended, reserved_value)
            if result == wire.RESULT_ADMIN_ACTION:
                # This thread has turned the log: the next term has room, or the limit will say.
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
        """Append fragments, turn the log, or say why neither can be."""
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
        """Append as many messages as one move of the tail can hold: how many, or why none."""
        position = self.position()
        allowance = self._limit.get_i64_acquire(0) - position
        room = self._term_length - self.term_offset
        run = self._writer.measure_run(data, boundaries, first, count, room, allowance)
        taken = positions.high_of_pair(run)
        if taken == 0:
            # Back-pressure, the end of the term, fragments, unsound boundaries: the way of a single message.
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

    def _has_room_for_frame(self, length: int) -> bool:
        return (
            length <= self._max_payload_length
            and positions.align_frame(length + wire.DATA_HEADER_LENGTH)
            <= self._term_length - self.term_offset
            and self._term_begin_position + self.term_offset < self._limit.get_i64_acquire(0)
        )

    def _move_tail(self, length: int) -> int:
        self.term_offset += length
        # Release, and before any frame.
        return self._buffer.put_i64_release(
            self._tail_offset, positions.pack_raw_tail(self.term_id, self.term_offset)
        )

    def _claim_range(self, length: int, required: int) -> int:
        """Move the tail by `required` bytes and return the position of the first, or why there is no room."""
        position = self.position()
        if position >= self._limit.get_i64_acquire(0) or position >= self._max_possible_position:
            return self._refuse(position, length)
        # Release, and before any frame. It may pass the term, as the tails of concurrent publishers do.
        self._buffer.put_i64_release(
            self._tail_offset, positions.pack_raw_tail(self.term_id, self.term_offset + required)
        )
        if required > self._term_length - self.term_offset:
            return self._end_term()
        self.term_offset += required
        return position

    def _end_term(self) -> int:
        """Pad the rest of the term and turn the log; return what to tell the publisher."""
        left_in_term = self._term_length - self.term_offset
        if left_in_term > 0:
            self._writer.write_padding(self.position(), left_in_term)
            self.term_offset = self._term_length
        if self.position() >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        self._rotate()
        return wire.RESULT_ADMIN_ACTION

    def _rotate(self) -> int:
        self.term_id = positions.add_wrap(self.term_id, 1)
        self.term_offset = 0
        self._term_begin_position += self._term_length
        term_count = positions.compute_term_count(self.term_id, self.log.initial_term_id)
        index = positions.index_by_term_count(term_count)
        self._tail_offset = self.log.metadata_offset + index * 8
        self._term_begin_offset = index * self._term_length
        # Release: whoever sees the count sees the tail that it leads to.
        self._buffer.put_i64(self._tail_offset, positions.pack_raw_tail(self.term_id, 0))
        return self._buffer.put_i32_release(
            self.log.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, term_count
        )

    def _refuse(self, position: int, length: int) -> int:
        if position + length >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        return wire.RESULT_BACK_PRESSURED if self.log.is_connected() else wire.RESULT_NOT_CONNECTED

    def _is_block(self, source: AtomicBuffer, source_offset: int, length: int) -> bool:
        if length <= 0 or length % wire.FRAME_ALIGNMENT or length > self._term_length - self.term_offset:
            return False
        if source.get_u16(source_offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_DATA:
            return False
        offset = 0
        while offset < length:
            frame = source_offset + offset
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
