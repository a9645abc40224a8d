"""Recording of a running archive, with the methods of one in a local folder.

It has no index, as the recordings in a folder of Aeron Archive. Its position is what the archive has recorded, which
may be within a message: a message belongs to the range in which it ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.reading.replayed_range import ReplayedRange, Rest
from aeron_core.errors import CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording.storage.descriptor import RecordingDescriptor, descriptor_of, first_fault
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.recording import CHUNK_LENGTH
from aeron_core.recording.storage.unindexed import UnindexedRecording

if TYPE_CHECKING:
    from aeron_core.archive.descriptors import ArchivedRecording
    from aeron_core.archive.reading.link import ArchiveLink
    from aeron_core.recording.storage.file_store import FileStore


_NS_PER_MS: Final = 1_000_000


class RemoteRecording(UnindexedRecording):
    """A stream that a running archive has recorded, or is recording; one thread uses it at a time."""

    ends_with_message = False
    described_in = "catalogue"

    def __init__(
        self,
        store: FileStore,
        link: ArchiveLink,
        recording_id: int,
        look_up: Callable[[int], tuple[ArchivedRecording, int] | None],
    ) -> None:
        """`look_up` returns the current state of the recording and the position up to which it is recorded."""
        super().__init__(store, recording_id)
        self._link = link
        self._look_up = look_up
        self._described: ArchivedRecording | None = None
        self._rest: Rest | None = None  # of the last read

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The current descriptor.

        Raises RecordingNotFoundError if the recording was deleted; so do all methods and properties that need it.
        """
        described, _ = self._current()
        if self._descriptor is None or described != self._described:
            self._descriptor = self._descriptor_of(described)
            self._described = described
        return self._descriptor

    @property
    def position(self) -> int:
        """The position up to which the archive has recorded, the end of a frame."""
        described, position = self._current()
        return max(position, described.start_position)

    @property
    def heartbeat_ms(self) -> int:
        """The current time: an archive that responds is alive, and stops what it does not record when it starts."""
        return time.time_ns() // _NS_PER_MS

    @property
    def has_recorder(self) -> bool:
        """Whether the archive is recording the stream."""
        return self.is_live

    def scanner(self, *, verify: bool = True) -> FrameScanner:
        """Return a scanner for frames of a replay of this recording, with any session id and without checksums."""
        descriptor = self.descriptor
        return FrameScanner(
            descriptor.session_id,
            self._link.address.replay_stream_id,
            descriptor.initial_term_id,
            descriptor.term_length,
            checks_session=False,
        )

    def segments(self) -> list[int]:
        """Return the base positions of the segment files that the archive has for the recording, in order."""
        descriptor = self.descriptor
        begin, end = descriptor.start_position, self.position
        return list(range(self.segment_base(begin), end, descriptor.segment_length)) if end > begin else []

    def open_range(self, begin: int, end: int) -> ReplayedRange:
        """Return a reader of the bytes from `begin` up to `end`, which the archive replays."""
        return ReplayedRange(self._link, self, begin, end)

    def read(self, begin: int, end: int, chunk_length: int = CHUNK_LENGTH) -> Iterator[tuple[int, bytes]]:
        """Yield chunks (position, bytes) of the recording from `begin` up to `end`.

        A frame begins at `begin`, or the last read ended there. Raises DataLossError if a part of the range was purged
        or not recorded, RecordingError if the archive is lost.
        """
        self._check_range(begin, end)
        with closing(ReplayedRange(self._link, self, begin, end, self._rest)) as replayed:
            position = begin
            while position < end:
                data = bytearray(min(chunk_length, end - position))
                replayed.read_into(position, memoryview(data))
                self._rest = replayed.rest
                yield position, bytes(data)
                position += len(data)

    def read_into(self, position: int, target: memoryview) -> int:
        """Fill `target` from `position` on, where a frame begins, and return the number of bytes; see `open_range`."""
        with closing(self.open_range(position, position + len(target))) as replayed:
            return replayed.read_into(position, target)

    def check_extent(self, begin: int, end: int) -> None:
        """Raise DataLossError if a part of a range was purged or not recorded."""
        self._check_range(begin, end)

    def last_border(self, position: int, near: int | None = None) -> int:
        """Return the last end of a message up to `position`, the end of a frame.

        Replays its term up to there: from `near`, the end of a frame, or from its beginning if no message ends after
        `near`. Returns the beginning of the term, or of the recording, if no message ends after that either.
        """
        descriptor = self.descriptor
        floor = max(position - position % descriptor.term_length, descriptor.start_position)
        if near is not None and floor < near < position:
            border = self._border_between(near, position)
            if border is not None:
                return border
        return floor if floor == position else self._border_between(floor, position) or floor

    def _border_between(self, begin: int, end: int) -> int | None:
        """Return the last end of a message after `begin` up to `end`, both ends of frames; None if there is none."""
        scanner, border = self.scanner(), None
        with closing(self.open_range(begin, end)) as replayed:
            at, length, buffer = begin, 0, AtomicBuffer.allocate(min(CHUNK_LENGTH, end - begin))
            while at + length < end:
                length += replayed.read_into(at + length, memoryview(buffer)[length : length + end - at])
                scanned = scanner.scan(buffer, 0, length, at)
                if scanner.border_length:
                    border = min(at + scanner.border_length, end)
                if scanned == 0:
                    break  # readers report the damaged frame
                left = max(length - scanned, 0)
                buffer.copy_from(0, buffer, length - left, left)
                at, length = at + scanned, left
        return border

    def _current(self) -> tuple[ArchivedRecording, int]:
        found = self._look_up(self.recording_id)
        if found is None:
            raise RecordingNotFoundError(
                f"recording {self.recording_id} in {self._store.uri}: does not exist, or was purged; "
                "`aeron-core recordings list` shows those that exist"
            )
        return found

    def _descriptor_of(self, described: ArchivedRecording) -> RecordingDescriptor:
        try:
            return descriptor_of(described, described.original_channel)
        except ValidationError as error:
            raise CorruptRecordingError(
                f"recording {described.recording_id} in {self._store.uri}: {first_fault(error, 'descriptor')}; "
                "see `verify` of Aeron's ArchiveTool"
            ) from None
