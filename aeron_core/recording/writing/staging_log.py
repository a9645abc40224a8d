"""Staging log: an in-memory log that turns messages into the frames of a recording.

Not here: writing the frames. Invariant: a term is reused only after its frames were taken.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.logbuffer.reader import TermReader
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.index import MAX_COVERED_LENGTH


class StagingLog:
    """A log in process memory that begins at `position` of the described recording; one thread uses it."""

    def __init__(self, descriptor: RecordingDescriptor, position: int) -> None:
        shift = descriptor.position_bits_to_shift
        params = LogBufferParams(
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            initial_term_id=descriptor.initial_term_id,
            term_length=descriptor.term_length,
            mtu_length=descriptor.mtu_length,
            term_id=positions.compute_term_id(position, shift, descriptor.initial_term_id),
            term_offset=position % descriptor.term_length,
        )
        # Mapped, not allocated: a small batch touches few pages of three terms, which would be cleared for each.
        memory = mmap.mmap(-1, params.log_length)
        self._log = LogBuffer.initialize(AtomicBuffer(memory), params)
        self._log.set_is_connected(True)
        self._limit = AtomicBuffer.allocate(8)
        self._appender = ExclusiveAppender(
            self._log, descriptor.session_id, descriptor.stream_id, self._limit
        )
        self._reader = TermReader(self._log)
        self._taken = position

    def frames_of(
        self,
        data: AtomicBuffer,
        boundaries: AtomicBuffer,
        count: int,
        reserved_values: npt.NDArray[np.int64] | None,
    ) -> Iterator[memoryview]:
        """Yield blocks with the frames of `count` messages, padding as a separate block.

        `boundaries`: int64 offsets in `data`, one more than messages. `reserved_values`: one per message, None
        for 0. A block is valid until the next is requested. Raises ConfigurationError for a message that is
        too long for the term length.
        """
        if reserved_values is None:
            yield from self._frames_of_run(data, boundaries, 0, count, 0)
            return
        # A call of offer_batch gives all its messages the same reserved value.
        borders = [0, *(np.flatnonzero(np.diff(reserved_values)) + 1).tolist(), count]
        for first, end in pairwise(borders):
            if end > first:
                value = int(reserved_values[first])
                yield from self._frames_of_run(data, boundaries, first, end - first, value)

    def _frames_of_run(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> Iterator[memoryview]:
        done = 0
        while done < count:
            # Messages begin less than a term after the taken position, so that no frame is overwritten before it is
            # taken.
            self._limit.put_i64_release(0, self._taken + self._log.term_length)
            result = self._appender.offer_batch(data, boundaries, first + done, count - done, reserved_value)
            if result == wire.RESULT_ERROR:
                at = (first + done) * 8
                length = boundaries.get_i64(at + 8) - boundaries.get_i64(at)
                raise ConfigurationError(
                    f"message of {length} bytes: must be at most {self._log.max_message_length} with terms of "
                    f"{self._log.term_length} bytes; split it, or, up to 16 MiB, record with longer terms"
                )
            done += max(result, 0)
            yield from self._take()

    def _take(self) -> Iterator[memoryview]:
        end = self._appender.position()
        while self._taken < end:
            length = self._reader.scan_block(self._taken, min(end - self._taken, MAX_COVERED_LENGTH))
            frame = self._log.frame_offset(self._taken)
            self._taken += length
            yield memoryview(self._log.buffer)[frame : frame + length]
