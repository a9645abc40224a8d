"""Recording of an Aeron Archive, with the methods of one of this project.

It has no index: so there are no recording times besides those of its start and its stop, and no checksums but those
that frames may have. A file has its full length from the beginning; zeros follow the last frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording._native import faults, sums
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.recording.storage.descriptor import RecordingDescriptor, descriptor_of, first_fault
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.recording.storage.foreign.catalog import CATALOG, CatalogEntry, CatalogReader
from aeron_core.recording.storage.foreign.recorded_positions import RecordedPositions
from aeron_core.recording.storage.foreign.tail import TAIL_LENGTH, last_border
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.unindexed import UnindexedRecording

#: Bytes of one read of a scan. An invented number: longer than the longest frame, and short for frequent polls.
_SCAN_LENGTH: Final = 256 * 1024
#: Unit in which the kernel writes a part of a file. Source: Catalog.PAGE_SIZE.
_PAGE: Final = 4096


class ForeignRecording(UnindexedRecording):
    """A stream that Aeron Archive has recorded, or is recording; one thread uses it at a time."""

    described_in = CATALOG

    def __init__(
        self,
        store: FileStore,
        catalog: CatalogReader,
        entry: CatalogEntry,
        positions: RecordedPositions,
        checksum: int = sums.NO_CHECKSUM,
    ) -> None:
        """`checksum`: that of the frames, one of the module `sums`."""
        super().__init__(store, entry.recording_id)
        self._catalog = catalog
        self._entry = entry
        self._positions = positions
        self._checksum = checksum
        self.has_frame_checksums = checksum != sums.NO_CHECKSUM
        self._scanned = _Scanned(-1, 0, 0, 0)

    @property
    def exists(self) -> bool:
        """Whether the recording was neither deleted nor declared invalid; False if its entry is damaged."""
        try:
            return self._catalog.entry(self._entry).is_valid
        except CorruptRecordingError:
            return False

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The current entry of the catalogue, as a descriptor.

        Raises RecordingNotFoundError if the recording was deleted, CorruptRecordingError if the entry is damaged. So do
        all methods and properties that depend on it.
        """
        entry = self._catalog.entry(self._entry)
        if not entry.is_valid:
            raise RecordingNotFoundError(
                f"recording {self.recording_id} in {self._store.uri}: was deleted, or declared invalid; "
                "`aeron-core recordings list` shows those that exist"
            )
        if self._descriptor is None or entry != self._entry:
            self._descriptor = self._descriptor_of(entry)
        self._entry = entry
        return self._descriptor

    def _descriptor_of(self, entry: CatalogEntry) -> RecordingDescriptor:
        try:
            return descriptor_of(entry, entry.channel)
        except ValidationError as error:
            raise CorruptRecordingError(
                f"{self._store.uri}/{CATALOG} offset {entry.offset}: {first_fault(error, 'entry')}; restore a copy of "
                "the file"
            ) from None

    @property
    def position(self) -> int:
        """The position up to which the recording can be read: after its last whole message.

        Of a live recording, the Archive's counter has the position; if the counter cannot be read, as from another
        container, the last written frame is left out, because it may be incomplete, unless the counter has included it.
        """
        descriptor, end = self._recorded()
        if end is None:
            written = self._written(descriptor)
            is_whole = not self._positions.is_running and not self._has_empty_page(written)
            end = written.frames_end if is_whole else written.last
        return self._border_before_end(descriptor, max(end, descriptor.start_position))

    def interrupted_end(self) -> int:
        """Return where a recording without a stop position ends after its Archive died, at least its start.

        Before the last frame if that may have been written in part: a whole page of it is zeros.
        """
        descriptor = self.descriptor
        written = self._written(descriptor)
        end = written.last if self._has_empty_page(written) else written.frames_end
        return max(end, descriptor.start_position)

    @property
    def _readable_position(self) -> int:
        """The position up to which a range may be read: it includes the last frame and an incomplete message.

        The process that selected the range may have read the Archive's counter.
        """
        descriptor, end = self._recorded()
        if end is None:
            end = self._written(descriptor).frames_end
        return max(end, descriptor.start_position)

    def _recorded(self) -> tuple[RecordingDescriptor, int | None]:
        """Return the descriptor, and the position up to which the Archive has recorded; None if it cannot be read."""
        descriptor = self.descriptor
        if descriptor.stop_position is not None:
            return descriptor, descriptor.stop_position
        end = self._positions.position(self.recording_id)
        if end is None:
            # The Archive stores the stop position before it frees the counter.
            descriptor = self.descriptor
            return descriptor, descriptor.stop_position
        # Any process of the driver's user can write to its counters.
        is_possible = 0 <= end <= descriptor.max_position and end % wire.FRAME_ALIGNMENT == 0
        return descriptor, end if is_possible else None

    @property
    def heartbeat_ms(self) -> int:
        """Time of the Archive's last sign of life in milliseconds since the epoch; 0 if it has no mark file."""
        return self._positions.activity_ms

    @property
    def has_recorder(self) -> bool:
        """Whether the Archive runs."""
        return self._positions.is_running

    def detect_checksum(self) -> FrameChecksum | None:
        """Return the checksum of the first frames, None if they have none, or are damaged or empty."""
        begin = self.start_position
        data = AtomicBuffer(self._read(begin, min(_SCAN_LENGTH, self.position - begin)))
        by_kind = {
            kind: self._scanner(kind.code).scan(data, 0, data.capacity, begin) for kind in FrameChecksum
        }
        longest = max(by_kind.values())
        found = [kind for kind, length in by_kind.items() if length == longest]
        return found[0] if len(found) == 1 else None  # both fail, or both take empty frames

    def scanner(self, *, verify: bool = True) -> FrameScanner:
        """Return a scanner for frames of this recording, with any session id.

        An extended recording contains several sessions, and an Archive with checksums stores them in place of the
        session id. `verify`: whether to compare those that the archive was opened with.
        """
        return self._scanner(self._checksum if verify else sums.NO_CHECKSUM)

    def _scanner(self, checksum: int) -> FrameScanner:
        descriptor = self.descriptor
        return FrameScanner(
            descriptor.session_id,
            descriptor.stream_id,
            descriptor.initial_term_id,
            descriptor.term_length,
            checks_session=False,
            checksum=checksum,
        )

    def segments(self) -> list[int]:
        """Return the base positions of the existing segment files, in order, without those that were detached.

        Files at positions where no segment can begin are left out, too.
        """
        descriptor = self.descriptor
        first = descriptor.start_position - descriptor.start_position % descriptor.term_length
        most = descriptor.max_position
        return [
            base
            for base in super().segments()
            if first <= base < most and (base - first) % descriptor.segment_length == 0
        ]

    def _border_before_end(self, descriptor: RecordingDescriptor, end: int) -> int:
        """Return the last end of a message up to `end`; `end` if a frame before it is damaged or missing."""
        scanned = self._scanned
        if end != scanned.end:
            # A message does not extend over the end of a term.
            begin = max(end - 1 - (end - 1) % descriptor.term_length, descriptor.start_position)
            if begin <= scanned.border <= end:
                begin = scanned.border
            border = None
            if end - begin > TAIL_LENGTH:
                # A term may have a gigabyte, and an archive thousands of recordings.
                tail = self._read(end - TAIL_LENGTH, TAIL_LENGTH)
                border = last_border(tail, descriptor, end) if len(tail) == TAIL_LENGTH else None
            self._scanned = self._scan(begin, end) if border is None else _Scanned(end, end, end, border)
        return self._scanned.border

    def _written(self, descriptor: RecordingDescriptor) -> _Scanned:
        """Return the frames that the last segment file has: zeros follow the last frame.

        It may be incomplete: while the Archive runs, and if a whole page of it is zeros, because a process that is
        killed may have written it in part.
        """
        bases = self.segments()
        if not bases:
            start = descriptor.start_position
            return _Scanned(start, start, start, start)
        begin, end = self.first_position(bases[-1]), bases[-1] + descriptor.segment_length
        if begin <= self._scanned.border < end:
            begin = self._scanned.border
        return self._scan(begin, end)

    def _has_empty_page(self, written: _Scanned) -> bool:
        begin = written.last
        data = self._read(begin, written.frames_end - begin)
        first_page = _PAGE - (begin - self.segment_base(begin)) % _PAGE
        pages = (data[at : at + _PAGE] for at in range(first_page, len(data), _PAGE))
        return any(not any(page) for page in pages)

    def _scan(self, begin: int, end: int) -> _Scanned:
        """Scan the frames from `begin`, where one begins, up to `end` or the first that is invalid."""
        # Without checksums: a damaged frame must not end the recording before it.
        scanner = self.scanner(verify=False)
        last = border = position = begin
        while position < end:
            data = AtomicBuffer(self._read(position, min(_SCAN_LENGTH, end - position)))
            scanned = scanner.scan(data, 0, data.capacity, position)
            if scanner.last_offset >= 0:
                last = position + scanner.last_offset
            if scanner.border_length:
                border = position + scanner.border_length
            position += scanned
            if scanned == 0 or scanner.fault not in {faults.NO_FAULT, faults.CUT_SHORT}:
                break
        # Readers report the damaged frame.
        return _Scanned(end, last, min(position, end), min(border, end) if position >= end else end)

    def _read(self, position: int, length: int) -> bytes:
        """Return bytes of the segment of `position`, fewer at the end of its file, none if it is missing.

        Raises RecordingNotFoundError if the recording was deleted.
        """
        base = self.segment_base(position)
        name = f"{self.recording_id}/{names.segment_file(self.recording_id, base)}"
        length = min(length, base + self._entry.segment_length - position)
        try:
            return self._store.read(name, position - base, length)
        except RecordingNotFoundError:
            _ = self.descriptor
            return b""


@dataclass(frozen=True, slots=True)
class _Scanned:
    """Result of a scan up to `end`."""

    end: int
    last: int  # begin of the last valid frame
    frames_end: int  # end of the valid frames
    border: int  # last end of a message; `end` if a frame before `end` is damaged or missing
