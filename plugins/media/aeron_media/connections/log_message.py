"""A message as it lies in a log buffer, for media that draw from it: in one frame, or cut into fragments.

Not here: what is sent of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire

if TYPE_CHECKING:
    from aeron_core.logbuffer.descriptor import LogBuffer


class LogMessage:
    """What `look` has found last. Lengths are bytes; offsets are those of the log's buffer."""

    def look(self, log: LogBuffer, position: int) -> bool:
        """Take in what begins at `position`; return whether anything whole is there, be it a message or not."""
        offset = log.frame_offset(position)
        length = log.buffer.get_i32_acquire(offset)
        self.is_message = False
        if length <= 0:
            return False
        self.step = positions.align_frame(length)
        flags = log.buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        if (
            log.buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_DATA
            or flags & wire.DATA_FLAG_BEGIN == 0
        ):
            # Padding, or the rest of a message that nobody has seen the beginning of.
            return True
        self.offset = offset
        self.payload_length = length - wire.DATA_HEADER_LENGTH
        self.reserved_value = log.buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
        self.is_message = True
        return flags & wire.DATA_FLAG_END != 0 or self._look_further(log)

    def _look_further(self, log: LogBuffer) -> bool:
        # All fragments are in one term.
        while True:
            offset = self.offset + self.step
            length = log.buffer.get_i32_acquire(offset)
            if length <= 0:
                return False
            self.step += positions.align_frame(length)
            if log.buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_DATA:
                # Its publisher has died in the middle of it: padding stands in place of the rest.
                self.is_message = False
                return True
            self.payload_length += length - wire.DATA_HEADER_LENGTH
            if log.buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_END:
                return True
