"""Reader of the frames of a log, in stream order.

Not here: subscriber positions; they are arguments and results, and a reader writes nothing to the log.
Invariant: a frame is read only after its length was loaded with acquire and is positive; the publisher stored all its
bytes before.

Source: aeron_image.c, aeron_fragment_assembler.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import frames, positions, runs, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.logbuffer.descriptor import LogBuffer

# Smallest allocation for a message that arrives fragment by fragment. Invented: most messages fit.
MIN_ASSEMBLY_LENGTH: Final = 65536


class TermReader:
    """Reads one log; one thread at a time. Positions are multiples of 32 bytes.

    Its methods raise ProtocolError for a frame that has fewer than 32 bytes or exceeds its term.
    """

    def __init__(self, log: LogBuffer) -> None:
        self.log = log
        self.position = 0
        self.frame_length = 0
        self.required_length = 0
        self.dropped = 0
        self._buffer = log.buffer
        self._assembly = AtomicBuffer.allocate(0)
        self._assembled_length = 0
        self._assembled_frames = 0
        self._next_position = -1
        self._first_reserved_value = 0
        self._term_length = log.term_length
        self._position_bits_to_shift = log.position_bits_to_shift
        self._max_message_length = log.max_message_length

    def next_frame(self, position: int, limit_position: int) -> int:
        """Return the buffer offset of the first complete non-padding frame from `position` on, or -1.

        Ignores frames that start at or after `limit_position`. Sets `frame_length` to the length of the frame in bytes,
        and `position` to the position after the frame or the padding, from which the caller continues.
        """
        while position < limit_position:
            offset = self._offset_of(position)
            left = self._left_in_term(position)
            # Positive only for a complete frame that is not padding and fits the term; loads the length with acquire.
            frame_length = frames.data_frame_length(self._buffer, offset, left)
            if frame_length > 0:
                self.frame_length = frame_length
                self.position = position + positions.align_frame(frame_length)
                return offset
            # Padding, no frame yet, or an impossible one, for which `_length_at` raises.
            # A data frame that was completed between the two loads ends the loop too; the next call returns it.
            frame_length = self._length_at(offset, left)
            if frame_length == 0 or self._buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_PAD:
                break
            position += positions.align_frame(frame_length)
        self.position = position
        return -1

    def scan_block(self, position: int, block_length_limit: int) -> int:
        """Return the length in bytes of the complete frames from `position` on that can be handled as one block.

        Returns 0 if there is none; sets `position` to the end of the block. A block has at most `block_length_limit`
        bytes, never exceeds its term, and ends before padding. Padding at `position` is a block of its own, of any
        length.
        """
        offset = self._offset_of(position)
        left = self._left_in_term(position)
        limit = min(block_length_limit, left)
        length = 0
        while length < limit:
            frame_length = self._length_at(offset + length, left - length)
            if frame_length == 0:
                break
            aligned_length = positions.align_frame(frame_length)
            frame_type = self._buffer.get_u16(offset + length + wire.FRAME_TYPE_OFFSET)
            if frame_type == wire.TYPE_PAD:
                if length == 0:
                    length = aligned_length
                break
            if aligned_length > limit - length:
                break
            length += aligned_length
        self.position = position + length
        return length

    def read_batch(self, position: int, limit_position: int, max_messages: int, batch: BatchBuffer) -> int:
        """Append complete messages from `position` on to `batch`; return how many.

        Sets `position` to the position from which the caller continues. Fragments are assembled; those of an incomplete
        message are consumed and kept by the reader: if the message is longer than the window, its rest may not be
        sent until `position` has advanced. Stops after `max_messages`, at `limit_position`, and before a message that
        does not fit into the batch; `required_length` is then its length in bytes. A message with missing fragments, or
        longer than the log allows, is dropped.
        """
        self.required_length = 0
        # The caller continues elsewhere, as after a gap: the fragments so far belong to another position.
        if self._next_position != position:
            self._drop()
        first_count = batch.count
        max_messages = min(max_messages, batch.capacity - batch.count)
        left = 0
        offset = 0
        while batch.count - first_count < max_messages and position < limit_position:
            if left == 0:
                offset = self._offset_of(position)
                left = self._left_in_term(position)
            step = self._copy_run(
                position, offset, left, limit_position, max_messages - (batch.count - first_count), batch
            )
            if step == 0:
                step = self._take_other(position, offset, left, limit_position, batch)
                if step == 0:
                    break
            position += step
            offset += step
            left -= step
        self.position = position
        return batch.count - first_count

    def _copy_run(  # noqa: PLR0913 - called without the GIL: no params object
        self, position: int, offset: int, left: int, limit_position: int, count: int, batch: BatchBuffer
    ) -> int:
        """Copy single-frame messages, up to the first other frame; return how many bytes of the log were consumed."""
        first = batch.count
        taken = runs.read_run(
            self._buffer,
            offset,
            left,
            limit_position - position,
            position,
            count,
            batch.data,
            batch.data_length,
            batch.boundaries,
            batch.positions,
            batch.reserved_values,
            batch.session_ids,
            first,
        )
        if taken == 0:
            return 0
        # A whole message came next: the message of the fragments kept so far will never be complete.
        self._drop()
        batch.count = first + taken
        batch.data_length = batch.boundaries.get_i64(batch.count * 8)
        return batch.positions.get_i64(batch.count * 8 - 8) - position

    def _take_other(
        self, position: int, offset: int, left: int, limit_position: int, batch: BatchBuffer
    ) -> int:
        """Consume padding or fragments; return how many bytes of the log, 0 if reading cannot continue."""
        frame_length = self._length_at(offset, left)
        if frame_length == 0:
            return 0
        flags = self._buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        if self._buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD:
            self._drop()
            return positions.align_frame(frame_length)
        if flags & wire.DATA_FLAGS_UNFRAGMENTED == wire.DATA_FLAGS_UNFRAGMENTED:
            # A single-frame message that `_copy_run` has left: it arrived only now, or does not fit into the batch.
            if not batch.has_space(frame_length - wire.DATA_HEADER_LENGTH):
                self.required_length = frame_length - wire.DATA_HEADER_LENGTH
            return 0
        return self._take_fragments(position, limit_position, flags, batch)

    def _take_fragments(self, position: int, limit_position: int, flags: int, batch: BatchBuffer) -> int:
        """Consume a whole message, or the one fragment at `position`; return how many bytes of the log.

        Returns 0 if the message does not fit into `batch`.
        """
        if flags & wire.DATA_FLAG_BEGIN:
            self._drop()
            message = self._measure_message(position, limit_position)
            if message > 0:
                return self._copy_fragments(position, message, batch)
        return self._assemble(position, flags, batch)

    def _measure_message(self, position: int, limit_position: int) -> int:
        """Return `pack_pair(frame bytes, payload bytes)` of the message at `position`.

        Returns 0 if it is incomplete or malformed, or longer than a message may be.
        """
        begin = self._offset_of(position)
        left = self._left_in_term(position)
        # A message never spans two terms: publishers pad the rest of a term.
        reach = min(left, limit_position - position)
        measured = 0
        payload_length = 0
        expected = wire.DATA_FLAG_BEGIN
        while measured < reach:
            frame_length = self._length_at(begin + measured, left - measured)
            if frame_length == 0:
                break
            flags = self._buffer.get_u8(begin + measured + wire.FRAME_FLAGS_OFFSET)
            frame_type = self._buffer.get_u16(begin + measured + wire.FRAME_TYPE_OFFSET)
            if frame_type == wire.TYPE_PAD or flags & wire.DATA_FLAG_BEGIN != expected:
                break
            measured += positions.align_frame(frame_length)
            payload_length += frame_length - wire.DATA_HEADER_LENGTH
            if payload_length > self._max_message_length:
                break
            if flags & wire.DATA_FLAG_END:
                return positions.pack_pair(measured, payload_length)
            # Only the first fragment has BEGIN: another one means that the end of this message is missing.
            expected = 0
        return 0

    def _copy_fragments(self, position: int, message: int, batch: BatchBuffer) -> int:
        """Copy a measured message; return how many bytes of the log, 0 if it does not fit into `batch`."""
        begin = self._offset_of(position)
        measured = positions.high_of_pair(message)
        if not batch.has_space(positions.low_of_pair(message)):
            self.required_length = positions.low_of_pair(message)
            return 0
        copied = 0
        while copied < measured:
            # Load the length again: another process can write to the log, and the copy must stay within what was
            # measured.
            frame_length = self._length_at(begin + copied, measured - copied)
            if frame_length == 0:
                break
            batch.append(
                self._buffer,
                begin + copied + wire.DATA_HEADER_LENGTH,
                frame_length - wire.DATA_HEADER_LENGTH,
            )
            copied += positions.align_frame(frame_length)
        batch.finish(
            position + measured,
            # Of the first fragment: a publisher of the reference computes a value for each one.
            self._buffer.get_i64(begin + wire.DATA_RESERVED_VALUE_OFFSET),
            self._buffer.get_i32(begin + wire.DATA_SESSION_ID_OFFSET),
        )
        return measured

    def _assemble(self, position: int, flags: int, batch: BatchBuffer) -> int:
        """Consume the fragment at `position`; return how many bytes, 0 if the message does not fit into `batch`."""
        offset = self._offset_of(position)
        # A plain load: `_take_other` has loaded this length with acquire.
        frame_length = self._buffer.get_i32(offset)
        step = positions.align_frame(frame_length)
        length = frame_length - wire.DATA_HEADER_LENGTH
        if flags & wire.DATA_FLAG_BEGIN:
            self._first_reserved_value = self._buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
        elif self._next_position < 0:
            # No fragment with BEGIN was read before this one: the reader joined in the middle of the message, or
            # dropped its beginning.
            self.dropped += 1
            return step
        total = self._assembled_length + length
        if total > self._max_message_length:
            self._drop()
            self.dropped += 1
            return step
        if flags & wire.DATA_FLAG_END:
            if not batch.has_space(total):
                self.required_length = total
                return 0
            batch.append(self._assembly, 0, self._assembled_length)
            batch.append(self._buffer, offset + wire.DATA_HEADER_LENGTH, length)
            batch.finish(
                position + step,
                self._first_reserved_value,
                self._buffer.get_i32(offset + wire.DATA_SESSION_ID_OFFSET),
            )
            self._forget()
            return step
        if total > self._assembly.capacity:
            self._grow_assembly(total)
        self._assembly.copy_from(
            self._assembled_length, self._buffer, offset + wire.DATA_HEADER_LENGTH, length
        )
        self._assembled_length = total
        self._assembled_frames += 1
        self._next_position = position + step
        return step

    def _drop(self) -> int:
        """Drop and count the fragments kept so far: their message will never be complete."""
        self.dropped += self._assembled_frames
        return self._forget()

    def _forget(self) -> int:
        self._assembled_length = 0
        self._assembled_frames = 0
        self._next_position = -1
        return 0

    def _grow_assembly(self, length: int) -> int:
        # Grow to at least the double: the total cost of copying stays proportional to the length of the message.
        larger = AtomicBuffer.allocate(max(length, 2 * self._assembly.capacity, MIN_ASSEMBLY_LENGTH))
        larger.copy_from(0, self._assembly, 0, self._assembled_length)
        self._assembly = larger
        return 0

    def _offset_of(self, position: int) -> int:
        # Terms fill the three partitions in turn, so the position alone determines partition and offset.
        return positions.partition_offset(
            positions.index_by_position(position, self._position_bits_to_shift), self._term_length
        ) + (position & (self._term_length - 1))

    def _left_in_term(self, position: int) -> int:
        # A term length is a power of two: masking gives the remainder of the division by it.
        return self._term_length - (position & (self._term_length - 1))

    def _length_at(self, offset: int, left: int) -> int:
        """Return the length of the frame at `offset`, `left` bytes before the end of its term, or 0 for none."""
        # Acquire: pairs with the release of the publisher, or of `rebuilder.insert` in an image.
        frame_length = self._buffer.get_i32_acquire(offset)
        if frame_length <= 0:
            return 0
        if frame_length < wire.DATA_HEADER_LENGTH or positions.align_frame(frame_length) > left:
            return self._refuse(offset, frame_length, left)
        return frame_length

    def _refuse(self, offset: int, frame_length: int, left: int) -> int:
        raise ProtocolError(
            f"frame length={frame_length} at offset {offset} of the log: must be from {wire.DATA_HEADER_LENGTH} to "
            f"{left} bytes, which are left in the term; the log is damaged, the rest of the term cannot be read: "
            f"restart the publishers of the stream"
        )
