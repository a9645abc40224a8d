"""Recording writer: appends the frames of one stream to its recording.

Not here: the source of the frames (image_recorder), and the end of an interrupted recording (recovery).

    written position     after the last appended frame
    recorded position    after the last frame that is as durable as the policy requires; the recorder moves
                         the image to it, so that flow control counts no other frame as consumed
    mark                 after the last whole message before the recorded position: readers may read up to it
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError, RecordingError
from aeron_core.file_access import FileAccess
from aeron_core.recording._native import sums
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import update_descriptor, write_descriptor
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore, make_folder, write_failure
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.index import MAX_COVERED_LENGTH, MIN_INTERVAL_NS
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.writing.durability import Durability
from aeron_core.recording.writing.recovery import Resumption
from aeron_core.recording.writing.segment_writer import SegmentWriter

#: Bytes of a flush that is begun before all data is written. An invented number: a disk takes longer for them than the
#: call does.
_BEGUN_LENGTH: Final = 8 * 1024 * 1024


class RecordingWriter:
    """Writes one recording; one thread uses it. Times are nanoseconds since the epoch."""

    def __init__(  # noqa: PLR0913 - all but three have defaults or names
        self,
        store: LocalStore,
        descriptor: RecordingDescriptor,
        durability: Durability,
        *,
        now_ns: int,
        resumption: Resumption | None = None,
        on_segment_finished: Callable[[int], object] | None = None,
        is_shown: bool = True,
    ) -> None:
        """Begin a recording, or continue it at `resumption`.

        `on_segment_finished` is called with the base position of each finished segment. With
        `is_shown=False` neither the mark nor the catalogue is written: the caller publishes the result. Raises
        RecordingError or StorageError if the disk fails.
        """
        self.descriptor = descriptor
        start = descriptor.start_position
        is_new = resumption is None
        resumption = resumption or Resumption(start, start)
        self.written_position = resumption.position
        self.recorded_position = resumption.position
        self._store = store
        self._folder = store.folder / str(descriptor.recording_id)
        # If a recording that continues was purged since it was found, its folder must not come back without the rest.
        if is_new or not is_shown:
            _make_folder(self._folder, store.access)
        self._durability = durability
        self._on_segment_finished = on_segment_finished
        self._border_position = resumption.border_position
        self._covered_position = resumption.position  # by the index
        self._covered_ns = now_ns
        self._flushed_ns = now_ns
        self._sent_position = resumption.position  # begun to be flushed
        self._crc32 = 0
        self._scanner = FrameScanner(
            descriptor.session_id, descriptor.stream_id, descriptor.initial_term_id, descriptor.term_length
        )
        self._base = self._base_of(self.written_position)
        self._segment = self._open_segment()
        self._flushed = self._state()
        self._mark: RecordingMark | None = None
        try:
            if is_shown:
                self._mark = RecordingMark.create(
                    self._folder / names.MARK,
                    self._border_position,
                    pid=os.getpid(),
                    now_ms=now_ns // 1_000_000,
                    is_flushed=durability.is_flushed,
                )
                self._enter(is_new=is_new)
        except BaseException:
            self._segment.close()
            raise

    @property
    def border_position(self) -> int:
        """Position after the last whole message that was written, or at which the recording began."""
        return self._border_position

    def append(self, block: memoryview, now_ns: int) -> None:
        """Write whole data frames of one term that follow the written position, or one padding frame.

        Of padding, only the header is written. Raises ProtocolError for invalid frames, RecordingError if the
        disk fails; the next block must begin at the written position, which a failed flush reduces.
        """
        data = AtomicBuffer(block)
        length = self._scanner.scan(data, 0, len(block), self.written_position)
        if length != len(block):
            raise ProtocolError(
                f"recording {self.descriptor.recording_id} position {self.written_position + length}: "
                f"{self._scanner.fault_text()}; the recording ends before this frame; check the sender of the stream"
            )
        if self.written_position >= self._base + self.descriptor.segment_length:
            self._next_segment(now_ns)
        is_padding = data.get_u16(wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
        offset = self.written_position - self._base
        content = block[: wire.DATA_HEADER_LENGTH] if is_padding else block
        self._segment.write(offset, content)
        if is_padding:
            self._segment.cut(offset + length)
        self._crc32 = sums.crc32(data, 0, len(content), self._crc32)
        if self._scanner.border_length:
            self._border_position = self.written_position + self._scanner.border_length
        self.written_position += length
        self._cover(now_ns)

    def begin_flush(self) -> None:
        """Begin to flush what was written, once that is much, so that `flush` waits for less. It promises nothing."""
        begin = max(self._sent_position, self._base)
        length = self.written_position - begin
        if length >= _BEGUN_LENGTH:
            self._segment.begin_flush(begin - self._base, length)
            self._sent_position = self.written_position

    def is_due(self, now_ns: int, *, is_waited_for: bool) -> bool:
        """Return whether `flush` is due: there is new data, and the interval, if the policy has one, is over.

        `is_waited_for`: do not wait for the interval.
        """
        if self.written_position == self.recorded_position:
            return False
        policy = self._durability.policy
        if policy is not policy.INTERVAL:
            return True
        return is_waited_for or now_ns - self._flushed_ns >= self._durability.interval_ns

    def flush(self, now_ns: int) -> None:
        """Make written data as durable as the policy requires, and publish it to readers.

        Raises RecordingError if the disk fails; if that was at the flush, the written position is reset to
        the recorded position.
        """
        if self._durability.is_flushed:
            self._cover(now_ns, is_forced=True)
            try:
                self._segment.flush()
            except RecordingError:
                self._rewind()
                raise
        self._flushed_ns = now_ns
        self._flushed = self._state()
        self.recorded_position = self.written_position
        if self._mark is not None:
            self._mark.move(self._border_position)

    def beat(self, now_ns: int) -> None:
        """Store `now_ns`, in milliseconds, as the time of the last heartbeat, for readers."""
        if self._mark is not None:
            self._mark.beat(now_ns // 1_000_000)

    def stop(self, now_ns: int, *, is_end_of_stream: bool) -> None:
        """Flush as the policy requires, store the end of the last whole message as the recording's end, and close.

        Raises RecordingError if the disk fails; the files stay open then, for another attempt.
        """
        self._cover(now_ns, is_forced=True)
        self.flush(now_ns)
        self.descriptor = update_descriptor(
            self._store,
            self.descriptor.recording_id,
            stop_position=self._border_position,
            stop_time_ns=now_ns,
            is_end_of_stream=is_end_of_stream,
        )
        self._segment.close()

    def abandon(self) -> None:
        """Close the files without a flush, and without a change of the mark and the catalogue."""
        self._segment.close()

    def _state(self) -> tuple[int, int, int, int]:
        return self._border_position, self._covered_position, self._segment.index_length, self._crc32

    def _rewind(self) -> None:
        """Reset to the state of the last flush, so that all later data is written again.

        Linux drops dirty pages that it could not write: the next flush would succeed without them on disk.
        """
        self._border_position, self._covered_position, index_length, self._crc32 = self._flushed
        self.written_position = self.recorded_position
        self._segment.cut_index(index_length)

    def _enter(self, *, is_new: bool) -> None:
        """Add the recording to the catalogue, or store there that it is not stopped any more."""
        if is_new:
            write_descriptor(self._store, self.descriptor)
        else:
            # Its beginning may have been purged since it was found: keep the stored start position.
            self.descriptor = update_descriptor(
                self._store, self.descriptor.recording_id, stop_position=None, stop_time_ns=None
            )

    def _cover(self, now_ns: int, *, is_forced: bool = False) -> None:
        """Add an entry for uncovered data to the index if one is due, or if `is_forced`."""
        length = self.written_position - self._covered_position
        if length == 0:
            return
        is_border = self._border_position == self.written_position
        is_time = now_ns - self._covered_ns >= MIN_INTERVAL_NS and is_border
        if not (is_forced or is_time or length >= MAX_COVERED_LENGTH):
            return
        self._segment.add_entry(self.written_position, now_ns, self._crc32, is_border=is_border)
        self._covered_position = self.written_position
        self._covered_ns = now_ns
        self._crc32 = 0

    def _next_segment(self, now_ns: int) -> None:
        self._cover(now_ns, is_forced=True)
        self.flush(now_ns)
        finished = self._base
        following = self._base_of(self.written_position)
        segment, self._base = self._segment, following
        try:
            self._segment = self._open_segment()
        except BaseException:
            self._base = finished
            raise
        self._flushed = self._state()
        segment.close()
        if self._on_segment_finished is not None:
            self._on_segment_finished(finished)

    def _open_segment(self) -> SegmentWriter:
        recording_id = self.descriptor.recording_id
        return SegmentWriter(
            self._folder / names.segment_file(recording_id, self._base),
            self._folder / names.index_file(recording_id, self._base),
        )

    def _base_of(self, position: int) -> int:
        descriptor = self.descriptor
        return names.segment_base_position(
            descriptor.start_position, position, descriptor.term_length, descriptor.segment_length
        )


def _make_folder(folder: Path, access: FileAccess) -> None:
    try:
        make_folder(folder, access)
    except OSError as error:
        raise write_failure("create", folder, error) from error
