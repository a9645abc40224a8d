"""Message encoder: adds messages of a log to the window that a connection is building.

Not here: which messages (`window_builder`). Messages that no reader accepts are skipped, counted and reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions
from aeron_core._native import wire as aeron_wire
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_media.connections.log_message import LogMessage
from aeron_media.lumberjack._native import faults, sentinels

if TYPE_CHECKING:
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.lumberjack.codec.window_encoder import WindowEncoder
    from aeron_media.lumberjack.writer.writer_params import WriterParams


class MessageEncoder:
    """Encoder of one connection; used on the sender. `host` is the reader that fault messages name."""

    def __init__(self, encoder: WindowEncoder, params: WriterParams, host: RemoteHost) -> None:
        self._encoder = encoder
        self._host = host
        self._ends = params.ends
        self._counters = params.counters
        self._message = LogMessage()
        self.step = 0

    def add(self, log: LogBuffer, position: int) -> int:
        """Add the message at `position`; return its length in the log in bytes, also of skipped messages and padding.

        Return UNFINISHED_MESSAGE, WINDOW_FULL or OUT_OF_MEMORY of `sentinels` if it was not added; after the last of
        them the open window is lost.
        """
        if not self._message.read(log, position):
            return sentinels.UNFINISHED_MESSAGE
        self.step = self._message.step
        length = self._message.payload_length
        if not self._message.is_message:
            return self.step
        if positions.align_frame(length + aeron_wire.DATA_HEADER_LENGTH) == self.step:
            return self._outcome(
                self._encoder.add(log.buffer, self._message.offset + aeron_wire.DATA_HEADER_LENGTH, length)
            )
        return self._outcome(self._add_fragments(log))

    def _add_fragments(self, log: LogBuffer) -> int:
        answer = self._encoder.begin_event(self._message.payload_length)
        offset = self._message.offset
        end = offset + self.step
        while answer > 0 and offset < end:
            length = log.buffer.get_i32(offset)
            answer = self._encoder.add_piece(
                log.buffer, offset + aeron_wire.DATA_HEADER_LENGTH, length - aeron_wire.DATA_HEADER_LENGTH
            )
            offset += positions.align_frame(length)
        return self._encoder.end_event() if answer > 0 else answer

    def _outcome(self, answer: int) -> int:
        if answer > 0:
            return self.step
        if answer == 0:
            return sentinels.WINDOW_FULL
        if answer == faults.BUDGET_SPENT:
            return sentinels.OUT_OF_MEMORY
        self._ends.keep(answer, self._encoder.fault_value, self._encoder.fault_limit, 0, self._host.address)
        self._counters.passed_over.increment_release()
        return self.step
