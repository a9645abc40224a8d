"""Scanner that extracts messages from the frames of a recording and reassembles their fragments.

Not here: validation of frames (frame_scanner), and reading of files. The memory must not change during a scan.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording._native import faults
from aeron_core.recording.reading.message_columns import MessageColumns
from aeron_core.recording.storage.frame_scanner import FrameScanner


class MessageScanner:
    """Scans parts of one recording; one thread uses it at a time."""

    def __init__(self, frames: FrameScanner, *, is_assembling: bool = True) -> None:
        self.frames = frames
        self.is_assembling = is_assembling
        self.required_length = -1
        self.dropped = 0

    def scan(
        self, data: AtomicBuffer, begin: int, length: int, position: int, columns: MessageColumns
    ) -> int:
        """Append messages from `length` bytes at offset `begin`, the first frame at `position`, to `columns`.

        Return the consumed bytes, more than `length` if the body of padding is missing. The scan stops before a message
        that does not fit into the columns, with its payload length in `required_length`; before an incomplete message;
        and before an invalid frame, with the reason in `frames.fault`. Fragments without the beginning or the end of
        their message are dropped and counted in `dropped`. Unless `is_assembling`, each fragment is treated as a
        message. Raises IndexError for a range beyond the buffer.
        """
        data.check(begin, length)
        self.required_length = -1
        self.frames.fault = faults.NO_FAULT
        scanned = 0
        while scanned < length:
            frame = begin + scanned
            if self.frames.fault_of(data, frame, position + scanned, length - scanned) != faults.NO_FAULT:
                break
            frame_length = data.get_i32(frame)
            flags = data.get_u8(frame + wire.FRAME_FLAGS_OFFSET)
            frame_type = data.get_u16(frame + wire.FRAME_TYPE_OFFSET)
            step = positions.align_frame(frame_length)
            if frame_type == wire.TYPE_PAD:
                scanned += step
                continue
            if self.is_assembling and flags & wire.DATA_FLAGS_UNFRAGMENTED != wire.DATA_FLAGS_UNFRAGMENTED:
                step = self._take_fragments(data, frame, length - scanned, position + scanned, columns)
                if step == 0:
                    break
                scanned += step
                continue
            if not columns.has_space(frame_length - wire.DATA_HEADER_LENGTH):
                self.required_length = frame_length - wire.DATA_HEADER_LENGTH
                break
            columns.append(data, frame, frame_length - wire.DATA_HEADER_LENGTH)
            scanned += step
            columns.finish(position + scanned, data.get_i64(frame + wire.DATA_RESERVED_VALUE_OFFSET))
        return scanned

    def _take_fragments(
        self, data: AtomicBuffer, begin: int, length: int, position: int, columns: MessageColumns
    ) -> int:
        """Append a fragmented message to the columns, or drop its fragments; return the consumed bytes.

        Returns 0 if the message is incomplete or does not fit, or a frame is invalid.
        """
        measured = 0
        payload_length = 0
        expected = wire.DATA_FLAG_BEGIN
        while measured < length:
            frame = begin + measured
            if self.frames.fault_of(data, frame, position + measured, length - measured) != faults.NO_FAULT:
                return 0
            frame_length = data.get_i32(frame)
            flags = data.get_u8(frame + wire.FRAME_FLAGS_OFFSET)
            frame_type = data.get_u16(frame + wire.FRAME_TYPE_OFFSET)
            if frame_type == wire.TYPE_PAD or flags & wire.DATA_FLAG_BEGIN != expected:
                # Drop the fragments so far, which have no end, or, if this is the first one, a fragment without a
                # beginning.
                self.dropped += 1
                return measured if measured > 0 else positions.align_frame(frame_length)
            measured += positions.align_frame(frame_length)
            payload_length += frame_length - wire.DATA_HEADER_LENGTH
            expected = 0
            if flags & wire.DATA_FLAG_END:
                if not columns.has_space(payload_length):
                    self.required_length = payload_length
                    return 0
                return self._copy_fragments(data, begin, measured, position, columns)
        return 0

    def _copy_fragments(
        self, data: AtomicBuffer, begin: int, length: int, position: int, columns: MessageColumns
    ) -> int:
        copied = 0
        while copied < length:
            frame_length = data.get_i32(begin + copied)
            columns.append(data, begin + copied, frame_length - wire.DATA_HEADER_LENGTH)
            copied += positions.align_frame(frame_length)
        columns.finish(position + length, data.get_i64(begin + wire.DATA_RESERVED_VALUE_OFFSET))
        return length
