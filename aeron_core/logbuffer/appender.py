"""Appender to a log shared with other threads and processes: the concurrent publication.

Not here: frames (`FrameWriter`), and the result of a closed publication.
Invariant: the bytes of a term belong to the publisher that moved the tail over them, and never to another one.

How the tail is moved (source: aeron_publication.c):

    one message   atomic add: it succeeds whatever other publishers did since the tail was read. The tail may end up
                  past the limit by a few messages, as in every Aeron client
    several       compare-and-set: one claim for a run of messages can be as long as the window, and the
    messages      claims of several publishers together would extend into terms that are not clean yet
    past the end  the publisher that moved the tail over the end of the term pads the rest and rotates the log
"""

from __future__ import annotations

from collections.abc import Sequence

from aeron_core._native import frames, positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.frame_writer import (
    FrameWriter,
    check_message,
    check_range,
    length_of_message,
    length_of_parts,
)


class Appender:
    """Base of the two appenders, so that a publication can call either; its methods raise NotImplementedError.

    Negative results are those of `results`.
    """

    def offer(self, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int) -> int:
        """Append one message and return the stream position after it in bytes, or a negative result."""
        raise NotImplementedError

    def offer_bytes(self, data: bytes, reserved_value: int) -> int:
        """Append a message of one frame; return the same as `offer`, or 0 if the caller must use `offer`."""
        raise NotImplementedError

    def offer_parts(self, parts: Sequence[AtomicBuffer], reserved_value: int) -> int:
        """Append the concatenation of `parts` as one message; return the same as `offer`."""
        raise NotImplementedError

    def claim(self, claim: BufferClaim, length: int) -> int:
        """Claim a frame for a payload of `length` bytes; return the same as `offer`."""
        raise NotImplementedError

    def offer_batch(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        """Append up to `count` messages from index `first` on; return how many, or a negative result.

        `boundaries`: little-endian `int64`, one more than there are messages; message i is in `data` from entry i
        up to entry i + 1. Raises ValueError if it lacks entries for the messages, or if those of the first message
        decrease or lie outside the data; messages before an invalid one are appended.
        """
        raise NotImplementedError


class ConcurrentAppender(Appender):
    """Appends messages; any number of threads may use it. Negative results are those of `results`.

    `limit`: at least 8 bytes; its first `int64` is the publisher limit.
    """

    def __init__(self, log: LogBuffer, session_id: int, stream_id: int, limit: AtomicBuffer) -> None:
        self.log = log
        self.session_id = session_id
        self.stream_id = stream_id
        self._writer = FrameWriter(log, session_id, stream_id)
        self._buffer = log.buffer
        self._limit = limit
        self._metadata_offset = log.metadata_offset
        self._max_possible_position = log.max_possible_position
        self._term_length = log.term_length
        self._initial_term_id = log.initial_term_id
        self._position_bits_to_shift = log.position_bits_to_shift
        self._max_payload_length = log.max_payload_length
        self._max_message_length = log.max_message_length

    def position(self) -> int:
        """Return the stream position in bytes after everything claimed so far, at most the end of the active term."""
        return self.log.producer_position()

    def position_limit(self) -> int:
        """Return the publisher limit, a position in bytes: no message is begun once the tail is seen at or after it.

        A message may end after it, and also begin after it if other publishers move the tail at the same time.
        """
        return self._limit.get_i64_acquire(0)

    def offer(self, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int) -> int:
        """Append one message; return the position after it, or a negative result.

        Raises IndexError if the message does not lie within `source`.
        """
        source.check(source_offset, length)
        if length > self._max_message_length:
            return wire.RESULT_ERROR
        required = self._required_length(length)
        position = self._claim_range(required)
        if position < 0:
            return position
        self._writer.write_message(position, source, source_offset, length, reserved_value)
        return position + required

    def offer_bytes(self, data: bytes, reserved_value: int) -> int:
        """Append a single-frame message; return the position after it or a negative result, 0 if it is too long."""
        length = len(data)
        if length > self._max_payload_length:
            return 0
        required = positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        position = self._claim_range(required)
        if position < 0:
            return position
        # Written here instead of in FrameWriter: the call would cost as much as the frame.
        bits = self._position_bits_to_shift
        frames.write_bytes(
            self._buffer,
            positions.partition_offset(positions.index_by_position(position, bits), self._term_length)
            + (position & (self._term_length - 1)),
            positions.compute_term_offset(position, bits),
            self.session_id,
            self.stream_id,
            positions.compute_term_id(position, bits, self._initial_term_id),
            reserved_value,
            data,
            length,
        )
        return position + required

    def offer_parts(self, parts: Sequence[AtomicBuffer], reserved_value: int) -> int:
        """Append the concatenation of `parts` as one message; return the position after it, or a negative result.

        Raises TypeError if one of them is not an AtomicBuffer. Needs the GIL.
        """
        # A copy: another thread may change the sequence between the claim and the writing of the message.
        buffers = tuple(parts)
        length = length_of_parts(buffers)
        if length > self._max_message_length:
            return wire.RESULT_ERROR
        required = self._required_length(length)
        position = self._claim_range(required)
        if position < 0:
            return position
        self._writer.write_parts(position, buffers, length, reserved_value)
        return position + required

    def claim(self, claim: BufferClaim, length: int) -> int:
        """Claim space for a message of at most one frame; return the position after it, or a negative result.

        The caller fills `claim` and commits or aborts it. Raises ValueError if `claim` is open.
        """
        if length < 0 or length > self._max_payload_length:
            return wire.RESULT_ERROR
        claim.prepare(self._buffer)
        required = self._required_length(length)
        position = self._claim_range(required)
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
        position = self._claim_range(required)
        if position < 0:
            return position
        self._writer.write_padding(position, length + wire.DATA_HEADER_LENGTH)
        return position + required

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
        retry = True
        while appended < count:
            result = self._offer_run(data, boundaries, first + appended, count - appended, reserved_value)
            if result > 0:
                appended += result
                retry = True
            elif result < 0:
                # ADMIN_ACTION: this thread has rotated the log, or another one does: continue in the next term. Without
                # progress, retry only once: the thread that rotates may be descheduled before it has finished.
                if result != wire.RESULT_ADMIN_ACTION or not retry:
                    break
                retry = False
        if appended > 0 or count == 0:
            return appended
        if result == wire.RESULT_ERROR:
            check_message(data, boundaries, first)
        return result

    def _offer_run(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        """Append as many messages as fit one claim: return how many, a negative result, or 0 to retry."""
        # The limit is loaded before the tail: a limit older than the position can only make a publisher wait.
        limit = self._limit.get_i64_acquire(0)
        term_count = self._buffer.get_i32_acquire(self._metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET)
        tail_offset = self._metadata_offset + positions.index_by_term_count(term_count) * 8
        raw_tail = self._buffer.get_i64_acquire(tail_offset)
        term_id = positions.raw_tail_term_id(raw_tail)
        # Rotations between the loads of count and tail have reached this partition again: retry.
        if term_count != positions.compute_term_count(term_id, self._initial_term_id):
            return wire.RESULT_ADMIN_ACTION
        position = self._tail_position(raw_tail)
        term_offset = positions.raw_tail_term_offset(raw_tail, self._term_length)
        space = self._term_length - term_offset
        run = self._writer.measure_run(data, boundaries, first, count, space, limit - position)
        taken = positions.high_of_pair(run)
        if taken == 0:
            # Back pressure, the end of the term, a message of several frames, or invalid boundaries: offer one message.
            length = length_of_message(data, boundaries, first)
            if length < 0 or length > self._max_message_length:
                return wire.RESULT_ERROR
            position = self.offer(data, boundaries.get_i64(first * 8), length, reserved_value)
            return 1 if position >= 0 else position
        if not self._buffer.compare_and_set_i64(tail_offset, raw_tail, raw_tail + positions.low_of_pair(run)):
            # Another publisher has moved the tail since it was loaded: retry.
            return 0
        self._writer.write_run(position, run, data, boundaries, first, reserved_value)
        return taken

    def _required_length(self, length: int) -> int:
        if length <= self._max_payload_length:
            return positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        return positions.fragmented_length(length, self._max_payload_length)

    def _claim_range(self, required: int) -> int:
        """Move the tail by `required` bytes; return the position of the first of them, or a negative result."""
        # Load the limit before the tail: a limit older than the position can only make a publisher wait.
        limit = self._limit.get_i64_acquire(0)
        term_count = self._buffer.get_i32_acquire(self._metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET)
        tail_offset = self._metadata_offset + positions.index_by_term_count(term_count) * 8
        raw_tail = self._buffer.get_i64_acquire(tail_offset)
        term_id = positions.raw_tail_term_id(raw_tail)
        # Rotations between the loads of count and tail have reached this partition again: retry.
        if term_count != positions.compute_term_count(term_id, self._initial_term_id):
            return wire.RESULT_ADMIN_ACTION
        position = self._tail_position(raw_tail)
        # Do not move the tail past the last position: repeated adds would overflow the offset into the term id,
        # which is in the upper half of the same number.
        if position >= limit or position >= self._max_possible_position:
            return self._refuse(position, required)
        # The tail may have moved since it was read, even to a later term of the partition: only the result of the add
        # shows which bytes were claimed.
        raw_tail = self._buffer.get_and_add_i64(tail_offset, required)
        position = self._tail_position(raw_tail)
        if positions.raw_tail_term_offset(raw_tail, self._term_length) + required > self._term_length:
            return self._end_term(position, raw_tail)
        return position

    def _tail_position(self, raw_tail: int) -> int:
        # The offset of an overrun tail counts as the end of the term.
        return positions.compute_position(
            positions.raw_tail_term_id(raw_tail),
            positions.raw_tail_term_offset(raw_tail, self._term_length),
            self._position_bits_to_shift,
            self._initial_term_id,
        )

    def _end_term(self, position: int, raw_tail: int) -> int:
        """Pad the rest of the term, which a claim exceeds, and rotate the log.

        Returns RESULT_ADMIN_ACTION, or RESULT_MAX_POSITION_EXCEEDED after the last term, which is not
        rotated.
        """
        term_id = positions.raw_tail_term_id(raw_tail)
        left_in_term = self._term_length - positions.raw_tail_term_offset(raw_tail, self._term_length)
        # A later publisher, with a claim that begins past the end, has nothing to pad. It rotates the log all the same,
        # because the first publisher may have crashed before it did.
        if left_in_term > 0:
            self._writer.write_padding(position, left_in_term)
        if position + left_in_term >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        self.log.rotate(positions.compute_term_count(term_id, self._initial_term_id), term_id)
        return wire.RESULT_ADMIN_ACTION

    def _refuse(self, position: int, required: int) -> int:
        # Checked first: after back pressure a caller retries, which cannot succeed at the last position.
        if position + required >= self._max_possible_position:
            return wire.RESULT_MAX_POSITION_EXCEEDED
        return wire.RESULT_BACK_PRESSURED if self.log.is_connected() else wire.RESULT_NOT_CONNECTED
