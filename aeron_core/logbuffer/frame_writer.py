"""Writing of frames into a claimed range of a log.

Not here: claiming (the appenders). The caller ensures that the range lies within one term.

Readers, the sender and the driver's unblocker load the length of a frame while it is written. It therefore has three
states, and the order of the stores matters (source: aeron_publication.c, aeron_publication_header_write):

    0        claimed by moving the tail. Terms are zeroed before they are filled: readers stop here.
    -n       being written. Stored with release, followed by a fence, before any other byte of the frame: a
             publisher that crashes leaves either nothing or the number of bytes to skip.
    length   complete. Stored with release after every other byte: a reader that sees it sees the whole frame.

Invariant: if one claim has several frames, the next one has its -n before the previous one is complete, and n reaches
to the end of the claim. Wherever the publisher crashes, one mark covers everything it left unfinished.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import frames, positions, runs, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.descriptor import LogBuffer

# Messages in one claim of a batch. Invented: enough to amortize the atomic operation, few enough that the publishers
# after it do not wait long.
RUN_LIMIT: Final = 256


class FrameWriter:
    """Frames of one session and stream; any number of threads may write at once, each into its own claim."""

    def __init__(self, log: LogBuffer, session_id: int, stream_id: int) -> None:
        self.log = log
        self.session_id = session_id
        self.stream_id = stream_id
        self._buffer = log.buffer
        self._max_payload_length = log.max_payload_length

    def write_message(
        self, position: int, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int
    ) -> int:
        """Write one message of `length` bytes as one or several frames; return 0. The caller has checked `source`."""
        if length > self._max_payload_length:
            return self.write_fragments(position, source, source_offset, length, reserved_value)
        frame = self.log.frame_offset(position)
        bits = self.log.position_bits_to_shift
        return frames.write_frame(
            self._buffer,
            frame,
            positions.compute_term_offset(position, bits),
            self.session_id,
            self.stream_id,
            positions.compute_term_id(position, bits, self.log.initial_term_id),
            reserved_value,
            source,
            source_offset,
            length,
        )

    def write_fragments(
        self, position: int, source: AtomicBuffer, source_offset: int, length: int, reserved_value: int
    ) -> int:
        """Write one message in several frames: BEGIN is set on the first, END on the last. Return 0."""
        frame = self.log.frame_offset(position)
        # Bytes of the claim from the current frame on, headers and alignment included.
        remaining = positions.fragmented_length(length, self._max_payload_length)
        flags = wire.DATA_FLAG_BEGIN
        while remaining > 0:
            # Every fragment but the last has the maximum length, as `fragmented_length` assumed for the claim.
            payload_length = min(length, self._max_payload_length)
            length -= payload_length
            if length == 0:
                flags |= wire.DATA_FLAG_END
            self._begin(position, frame, -remaining, flags, reserved_value)
            self._buffer.copy_from(frame + wire.DATA_HEADER_LENGTH, source, source_offset, payload_length)
            source_offset += payload_length
            aligned_length = positions.align_frame(payload_length + wire.DATA_HEADER_LENGTH)
            remaining -= aligned_length
            if remaining > 0:
                # Mark the rest before this frame is complete: after a crash, one mark covers all incomplete bytes.
                self._buffer.put_i32_release(frame + aligned_length, -remaining)
            self._buffer.put_i32_release(frame, payload_length + wire.DATA_HEADER_LENGTH)
            position += aligned_length
            frame += aligned_length
            flags = 0
        return 0

    def write_parts(
        self, position: int, parts: tuple[AtomicBuffer, ...], length: int, reserved_value: int
    ) -> int:
        """Write the concatenation of `parts`, `length` bytes in total, as one message; return 0. Needs the GIL."""
        frame = self.log.frame_offset(position)
        is_fragmented = length > self._max_payload_length
        if is_fragmented:
            remaining = positions.fragmented_length(length, self._max_payload_length)
        else:
            remaining = positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        flags = wire.DATA_FLAG_BEGIN
        skip = 0
        while remaining > 0:
            payload_length = min(length - skip, self._max_payload_length)
            if skip + payload_length == length:
                flags |= wire.DATA_FLAG_END
            mark = -remaining if is_fragmented else -(length + wire.DATA_HEADER_LENGTH)
            self._begin(position, frame, mark, flags, reserved_value)
            self._gather(frame + wire.DATA_HEADER_LENGTH, parts, skip, payload_length)
            skip += payload_length
            aligned_length = positions.align_frame(payload_length + wire.DATA_HEADER_LENGTH)
            remaining -= aligned_length
            if remaining > 0:
                self._buffer.put_i32_release(frame + aligned_length, -remaining)
            self._buffer.put_i32_release(frame, payload_length + wire.DATA_HEADER_LENGTH)
            position += aligned_length
            frame += aligned_length
            flags = 0
        return 0

    def write_padding(self, position: int, length: int) -> int:
        """Write one padding frame of `length` bytes, header included; return 0."""
        frame = self.log.frame_offset(position)
        self._begin(position, frame, -length, wire.DATA_FLAGS_UNFRAGMENTED, 0)
        # Stored before the length: a reader that loads the length must not mistake the padding for data.
        self._buffer.put_u16(frame + wire.FRAME_TYPE_OFFSET, wire.TYPE_PAD)
        return self._buffer.put_i32_release(frame, length)

    def write_claim(self, position: int, claim: BufferClaim, length: int) -> int:
        """Begin a frame for a payload of `length` bytes, which the prepared `claim` completes; return 0."""
        frame = self.log.frame_offset(position)
        self._begin(position, frame, -(length + wire.DATA_HEADER_LENGTH), wire.DATA_FLAGS_UNFRAGMENTED, 0)
        # The frame keeps its negative length, at which readers stop, until the claim is committed or aborted.
        claim.open(frame, length)
        return 0

    def measure_run(  # noqa: PLR0913 - called without the GIL: no params object
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, space: int, allowance: int
    ) -> int:
        """Return `positions.pack_pair(messages, bytes)`: a run from `first` on that fits one claim.

        A message belongs to the run if it is not fragmented and has valid boundaries, its frame starts less than
        `allowance` bytes after the run's begin, and the frames need at most `space` bytes. A run has from 0 to
        RUN_LIMIT messages. The caller has checked `first` and `count`.
        """
        return runs.measure_run(
            data, boundaries, first, min(count, RUN_LIMIT), self._max_payload_length, space, allowance
        )

    def write_run(  # noqa: PLR0913 - called without the GIL: no params object
        self,
        position: int,
        run: int,
        data: AtomicBuffer,
        boundaries: AtomicBuffer,
        first: int,
        reserved_value: int,
    ) -> int:
        """Write the messages of `run`, the result of `measure_run`, into their claim at `position`; return 0."""
        bits = self.log.position_bits_to_shift
        run_length = positions.low_of_pair(run)
        left = runs.write_run(
            self._buffer,
            self.log.frame_offset(position),
            run_length,
            data,
            boundaries,
            first,
            positions.high_of_pair(run),
            positions.compute_term_offset(position, bits),
            self.session_id,
            self.stream_id,
            positions.compute_term_id(position, bits, self.log.initial_term_id),
            reserved_value,
        )
        # Without the GIL, another thread may have changed the boundaries after they were measured. The log
        # stays valid: space of the claim that the messages no longer fill becomes padding.
        if left > 0:
            self.write_padding(position + run_length - left, left)
        return 0

    def _gather(self, offset: int, parts: tuple[AtomicBuffer, ...], skip: int, length: int) -> int:
        """Copy `length` bytes of the concatenated parts, from byte `skip` on, to `offset`."""
        filled = 0
        part_index = 0
        part_offset = skip
        while filled < length:
            part = parts[part_index]
            # Not positive for an empty part, and for one that ends before `skip`: it has no byte of this fragment.
            chunk = min(part.capacity - part_offset, length - filled)
            if chunk > 0:
                self._buffer.copy_from(offset + filled, part, part_offset, chunk)
                filled += chunk
            part_offset = max(part_offset - part.capacity, 0)
            part_index += 1
        return filled

    def _begin(self, position: int, frame: int, mark: int, flags: int, reserved_value: int) -> int:
        bits = self.log.position_bits_to_shift
        return frames.begin_frame(
            self._buffer,
            frame,
            mark,
            flags,
            wire.TYPE_DATA,
            positions.compute_term_offset(position, bits),
            self.session_id,
            self.stream_id,
            positions.compute_term_id(position, bits, self.log.initial_term_id),
            reserved_value,
        )


def check_range(boundaries: AtomicBuffer, first: int, count: int) -> int:
    """Raise ValueError unless `boundaries` describes the `count` messages from index `first` on; otherwise return 0."""
    entries = boundaries.capacity // 8
    # Compared with a difference: the sum of `first` and `count` could overflow.
    if first < 0 or count < 0 or first > entries or (count > 0 and count > entries - first - 1):
        return _refuse_range(first, count, entries)
    return 0


def length_of_message(data: AtomicBuffer, boundaries: AtomicBuffer, index: int) -> int:
    """Return the length of message `index`, or -1 if its boundaries decrease or lie outside the data."""
    begin = boundaries.get_i64(index * 8)
    end = boundaries.get_i64((index + 1) * 8)
    return -1 if begin < 0 or end < begin or end > data.capacity else end - begin


def check_message(data: AtomicBuffer, boundaries: AtomicBuffer, index: int) -> int:
    """Raise ValueError if the boundaries of message `index` decrease or lie outside the data; otherwise return 0."""
    if length_of_message(data, boundaries, index) >= 0:
        return 0
    return _refuse_message(
        index, boundaries.get_i64(index * 8), boundaries.get_i64((index + 1) * 8), data.capacity
    )


def length_of_parts(parts: tuple[AtomicBuffer, ...]) -> int:
    """Return the total length of the parts; raise TypeError if one is not an AtomicBuffer."""
    length = 0
    for part in parts:
        if not isinstance(part, AtomicBuffer):
            raise TypeError(
                f"part of type {type(part).__name__}: must be an AtomicBuffer, such as AtomicBuffer(data)"
            )
        length += part.capacity
    return length


def _refuse_range(first: int, count: int, entries: int) -> int:
    raise ValueError(
        f"messages first={first}, count={count}: must not be negative, and their sum must be at most "
        f"{max(entries - 1, 0)}, the number of messages that the boundaries describe"
    )


def _refuse_message(index: int, begin: int, end: int, capacity: int) -> int:
    raise ValueError(
        f"message {index} from {begin} to {end}: boundaries must not decrease, and must be from 0 to {capacity}, the "
        f"length of the data in bytes"
    )
