"""Batch appender: appends numbered batches of messages to a recording, each exactly once.

A batch is committed by the single write that stores the recording's new end and the batch id in the catalogue. Data
of an uncommitted batch is truncated by the next append. A batch with an id up to the last committed one is ignored.

    begun -> written -> flushed -> committed     an error or a crash before the last step: not committed
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import lock, read_descriptor, update_descriptor, write_descriptor
from aeron_core.recording.storage.descriptor import DEFAULT_SEGMENT_LENGTH, RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.recording.writing.recovery import cut_back
from aeron_core.recording.writing.staging_log import StagingLog
from aeron_core.uri.values import INT32_MAX, INT32_MIN

#: An invented number: allows messages of up to 2 MiB, an eighth of a term.
DEFAULT_TERM_LENGTH: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MessageColumn:
    """Messages in the layout of Arrow: their bytes without gaps, and their boundaries in these bytes."""

    data: AtomicBuffer
    boundaries: AtomicBuffer  # int64 offsets in `data`, one more than messages
    count: int
    reserved_values: npt.NDArray[np.int64] | None = None  # None: 0 for all


@dataclass(frozen=True, slots=True)
class AppenderParams:
    """Properties of the recording that an appender creates."""

    channel: str
    stream_id: int = 0
    term_length: int = DEFAULT_TERM_LENGTH
    segment_length: int = DEFAULT_SEGMENT_LENGTH
    clock: Callable[[], int] = time.time_ns  # since the epoch


class BatchAppender:
    """Appends to the recording of one writer, such as a query; a lock serialises processes.

    The constructor raises ConfigurationError for a remote archive.
    """

    def __init__(self, archive: Archive, writer: str, params: AppenderParams) -> None:
        if not isinstance(archive.store, LocalStore):
            raise ConfigurationError(
                f"{archive.uri}: must be a local folder to append batches to, not a remote archive"
            )
        self._archive = archive
        self._store = archive.store
        self._writer = writer
        self._params = params

    def append(self, batch_id: int, columns: Iterable[MessageColumn]) -> RecordingDescriptor:
        """Append a batch unless its id is at most that of the last committed one; return the descriptor.

        Waits while another process appends to the archive. Raises RecordingError or StorageError if the disk fails,
        CorruptRecordingError if a descriptor or an index is damaged, ConfigurationError for a message that is too long,
        and ValueError for wrong lengths of terms or segments; the batch is not committed then.
        """
        # Locked, because a process that its caller considers dead may still be appending.
        with lock(self._store, names.APPENDER_LOCK):
            descriptor = self._find() or self._begin()
            if batch_id <= descriptor.last_batch_id:
                return descriptor
            return self._append(descriptor, batch_id, columns)

    def _append(
        self, descriptor: RecordingDescriptor, batch_id: int, columns: Iterable[MessageColumn]
    ) -> RecordingDescriptor:
        now_ns = self._params.clock()
        end = descriptor.stop_position
        assert end is not None
        writer = RecordingWriter(
            self._store,
            descriptor,
            Durability(DurabilityPolicy.BLOCK),
            now_ns=now_ns,
            resumption=cut_back(self._store, descriptor.recording_id, end),
            is_shown=False,
        )
        try:
            log = StagingLog(descriptor, end)
            for column in columns:
                blocks = log.frames_of(column.data, column.boundaries, column.count, column.reserved_values)
                for block in blocks:
                    writer.append(block, now_ns)
                    writer.begin_flush()
            writer.flush(now_ns)
            return update_descriptor(
                self._store,
                descriptor.recording_id,
                stop_position=writer.border_position,
                stop_time_ns=now_ns,
                last_batch_id=batch_id,
            )
        finally:
            writer.abandon()

    def _find(self) -> RecordingDescriptor | None:
        for recording in reversed(self._archive.recordings()):
            if recording.descriptor.appender == self._writer:
                return read_descriptor(self._store, recording.recording_id)
        return None

    def _begin(self) -> RecordingDescriptor:
        params = self._params
        now_ns = params.clock()
        descriptor = RecordingDescriptor(
            recording_id=self._archive.next_recording_id(),
            channel=params.channel,
            stream_id=params.stream_id,
            session_id=random.randint(INT32_MIN, INT32_MAX),
            source_identity=f"appender {self._writer}",
            initial_term_id=0,
            term_length=params.term_length,
            mtu_length=min(wire.MAX_UDP_PAYLOAD_LENGTH, positions.max_message_length(params.term_length)),
            segment_length=max(params.segment_length, params.term_length),
            start_position=0,
            stop_position=0,
            start_time_ns=now_ns,
            stop_time_ns=now_ns,
            appender=self._writer,
        )
        write_descriptor(self._store, descriptor)
        return descriptor
