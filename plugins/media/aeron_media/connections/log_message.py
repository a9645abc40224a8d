"""Log message: a message in the log buffer of a publication, in one frame or fragmented.

For media that read messages from the log themselves. Not here: sending them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire

if TYPE_CHECKING:
    from aeron_core.logbuffer.descriptor import LogBuffer


class LogMessage:
    """The message that `read` found last. Lengths are bytes; offsets refer to the buffer of the log.

    Valid after `read` returned True; only `step` has a meaning unless `is_message`.
    """

    def read(self, log: LogBuffer, position: int) -> bool:
        """Examine the frames at `position`; return whether they are complete.

        Then `step` is their length in bytes, and `is_message` is set if they are a whole message; otherwise they are
        padding, or fragments of an incomplete message.
        """
        offset = log.frame_offset(position)
        # Acquire: pairs with the release store of the length, by which the publisher completes the frame, or the
        # driver pads it.
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
            # Padding, or a fragment of a message without its beginning: nothing to deliver.
            return True
        self.offset = offset
        self.payload_length = length - wire.DATA_HEADER_LENGTH
        self.reserved_value = log.buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
        self.is_message = True
        return flags & wire.DATA_FLAG_END != 0 or self._scan_fragments(log)

    def _scan_fragments(self, log: LogBuffer) -> bool:
        # No wrap to the next buffer: all fragments of a message are in one term.
        while True:
            offset = self.offset + self.step
            length = log.buffer.get_i32_acquire(offset)
            if length <= 0:
                return False
            self.step += positions.align_frame(length)
            if log.buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) != wire.TYPE_DATA:
                # The publisher stopped in the middle of the message, and the driver replaced the rest with padding.
                self.is_message = False
                return True
            self.payload_length += length - wire.DATA_HEADER_LENGTH
            if log.buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_END:
                return True
