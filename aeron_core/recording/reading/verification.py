"""Verification: reads a whole recording and reports faults with their positions.

Every frame must match its position, and every part that the index covers must have the stored checksum. Files are
not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import CorruptRecordingError, RecordingError, StorageError
from aeron_core.recording._native import faults
from aeron_core.recording.retention.states import RecordingState, state_of
from aeron_core.recording.storage import names
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.recording.storage.recording import CHUNK_LENGTH, Recording


@dataclass(frozen=True, slots=True)
class RecordingFault:
    """One fault of a recording, with its file and position."""

    recording_id: int
    position: int  # of the first wrong byte or frame
    file: str
    text: str

    def __str__(self) -> str:
        return f"recording {self.recording_id} position {self.position}: {self.file}: {self.text}"


@dataclass(slots=True)
class VerifiedRecording:
    """Result of the verification of one recording: the checked range, counts, and faults."""

    recording_id: int
    begin: int
    end: int
    frame_count: int = 0
    check_sum_count: int = 0
    covered_length: int = 0  # bytes under a checksum
    uncompared_checksum: str | None = None  # of the frames, if it was not given
    unpublished_length: int = 0  # bytes of whole frames after the end, if the recorder died
    faults: list[RecordingFault] = field(default_factory=list)


def verify(
    store: FileStore,
    recording: Recording,
    now_ns: int,
    on_progress: Callable[[int], object],
) -> VerifiedRecording:
    """Return the counts and the faults of a recording; its files are not changed.

    `now_ns`: since the epoch. `on_progress` is called with the bytes of the range done since its last call.

    Raises RecordingError if the descriptor, the mark or another file of the recording cannot be read.
    """
    return _Verification(store, recording, on_progress).run(state_of(recording, now_ns))


class _Verification:
    def __init__(self, store: FileStore, recording: Recording, on_progress: Callable[[int], object]) -> None:
        self._store = store
        self._recording = recording
        self._on_progress = on_progress
        self._scanner = recording.scanner()
        self._result = VerifiedRecording(recording.recording_id, recording.start_position, recording.position)

    def run(self, state: RecordingState) -> VerifiedRecording:
        result = self._result
        if not self._recording.has_frame_checksums:
            result.uncompared_checksum = self._recording.detect_checksum()
        position = result.begin
        # Iterate over the existing files, not over the range: the end in a damaged descriptor can be any position.
        for base in self._recording.segments():
            end = min(base + self._recording.descriptor.segment_length, result.end)
            if base != self._recording.segment_base(base) or not position < end:
                continue
            self._verify_gap(position, base)
            begin = max(position, base)
            self._verify_unless_purged(base, begin, end)
            position = end
        self._verify_gap(position, result.end)
        if state is not RecordingState.LIVE:
            scanned = self._verify_tail()
            # No recorder of ours continues a copy without a mark, or a recording of an Aeron Archive.
            is_copy = state is RecordingState.ABANDONED and self._recording.heartbeat_ms == 0
            if state is RecordingState.ABANDONED and not (is_copy or self._recording.is_preallocated):
                result.unpublished_length = scanned
        return result

    def _verify_unless_purged(self, base: int, begin: int, end: int) -> None:
        """Verify a segment; what was purged meanwhile has no faults."""
        before = len(self._result.faults)
        try:
            self._verify_segment(base, begin, end)
        except RecordingError:
            if self._recording.start_position < end:
                raise
        if self._recording.start_position >= end:
            del self._result.faults[before:]

    def _verify_gap(self, begin: int, end: int) -> None:
        if begin < end:
            begin = max(begin, self._recording.start_position)  # a purge may have deleted the files meanwhile
        if begin >= end:
            return
        base = self._recording.segment_base(begin)
        is_one = end - base <= self._recording.descriptor.segment_length
        self._add_fault(begin, base, "is missing" if is_one else f"is missing, and all data up to {end}")
        self._on_progress(end - begin)

    def _verify_segment(self, base: int, begin: int, end: int) -> None:
        length = self._store.size(self._path(base))
        if length < end - base:
            self._add_fault(base + length, base, f"ends there: must extend to position {end}")
            self._on_progress(end - begin)
            return
        # Determine this before the entries are read: what is recorded meanwhile may have no entry in them.
        required = self._recording.required_cover(base)
        for piece_begin, piece_end, crc32 in self._pieces(base, begin, end):
            self._verify_piece(base, piece_begin, piece_end, crc32)
            self._on_progress(min(piece_end, end) - piece_begin)
            if crc32 is None and piece_begin < required:
                index = names.index_file(self._recording.recording_id, base)
                text = f"is missing or damaged: it must cover the data up to {required}"
                self._result.faults.append(
                    RecordingFault(self._recording.recording_id, piece_begin, index, text)
                )

    def _pieces(self, base: int, begin: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """Yield triples (begin, end, checksum) of the parts of a segment; the checksum is None if there is none."""
        for entry in self._recording.all_index_entries(base):
            if begin >= end:
                return
            covered = int(entry["end_position"])
            if covered > begin:
                yield begin, covered, int(entry["crc32"])
                begin = covered
        if begin < end:
            yield begin, end, None

    def _verify_piece(self, base: int, begin: int, end: int, crc32: int | None) -> None:
        if self._recording.is_preallocated:
            self._verify_chunks(base, begin, end)
            return
        data, offset = self._data(base, begin, end)
        if data.capacity < offset + end - begin:
            self._add_fault(base + data.capacity, base, f"ends there: must extend to position {end}")
            return
        scanned = self._scanner.scan(data, offset, end - begin, begin)
        self._result.frame_count += self._scanner.frame_count
        if scanned > end - begin:
            self._add_fault(end, base, f"padding extends to position {begin + scanned}: must end here")
        elif scanned < end - begin:
            self._add_fault(begin + scanned, base, self._scanner.fault_text())
        elif crc32 is not None:
            self._result.check_sum_count += 1
            self._result.covered_length += min(end, self._result.end) - begin
            found = check_sum(data, offset, end - begin)
            if found != crc32:
                self._add_fault(
                    begin, base, f"checksum {found:#010x} of the frames up to {end}: must be {crc32:#010x}"
                )

    def _verify_chunks(self, base: int, begin: int, end: int) -> None:
        """Verify frames without an index, which are read instead of mapped: the Archive may truncate the file.

        Raises CorruptRecordingError if the recording was truncated meanwhile.
        """
        position = begin
        while position < end:
            data = self._store.read(self._path(base), position - base, min(CHUNK_LENGTH, end - position))
            scanned = self._scanner.scan(AtomicBuffer(data), 0, len(data), position)
            self._result.frame_count += self._scanner.frame_count
            if self._recording.has_frame_checksums:
                self._result.check_sum_count += self._scanner.frame_count
                self._result.covered_length += min(scanned, end - position)
            position += scanned
            if scanned == 0 or self._scanner.fault not in {faults.NO_FAULT, faults.CUT_SHORT}:
                break
        if position != end and self._recording.position < self._result.end:
            raise CorruptRecordingError(
                f"{self._store.uri}/{self._path(base)}: was truncated concurrently; verify the recording again"
            )
        if position > end:
            self._add_fault(end, base, f"padding extends to position {position}: must end here")
        elif position < end:
            is_short = self._scanner.fault == faults.NO_FAULT
            self._add_fault(position, base, "ends there" if is_short else self._scanner.fault_text())

    def _verify_tail(self) -> int:
        """Add a fault unless the bytes after the end, those of an incomplete message, are whole frames.

        Return the bytes of whole frames.
        Padding may lack its body: its recorder writes the header first.
        """
        bases = self._recording.segments()
        end = self._result.end
        if not bases or bases[-1] < self._recording.segment_base(max(end - 1, self._result.begin)):
            return 0
        base, begin = bases[-1], max(end, bases[-1])
        length = base + self._store.size(self._path(base)) - begin
        scanned = 0
        while scanned < length:
            data = self._store.read(
                self._path(base), begin - base + scanned, min(CHUNK_LENGTH, length - scanned)
            )
            if not data:
                return 0  # truncated meanwhile, by a recorder that continues the recording
            whole = self._scanner.scan(AtomicBuffer(data), 0, len(data), begin + scanned)
            if whole == 0:
                if self._recording.is_preallocated and self._scanner.fault == faults.NO_FRAME:
                    return scanned
                self._add_fault(
                    begin + scanned,
                    base,
                    f"{length - scanned} bytes after the end are not whole frames: {self._scanner.fault_text()}; a "
                    "recorder that continues it truncates them",
                )
                return scanned
            scanned += whole
        return scanned

    def _data(self, base: int, begin: int, end: int) -> tuple[AtomicBuffer, int]:
        """Return memory with the bytes from position `begin` to `end`, and their offset; a local file may end earlier.

        Raises CorruptRecordingError if a local file cannot be mapped, or the file was truncated meanwhile.
        """
        path = self._store.local_path(self._path(base))
        # Read data beyond the end of the recording instead of mapping it: a recorder that continues the recording
        # truncates the file there, and an access to memory mapped beyond the end of a file is a SIGBUS.
        if path is None or end > self._result.end:
            data = self._store.read(self._path(base), begin - base, end - begin)
            if len(data) != end - begin:
                raise CorruptRecordingError(
                    f"{self._store.uri}/{self._path(base)}: ends at position {begin + len(data)}, not at {end}: was "
                    "truncated concurrently; verify the recording again"
                )
            return AtomicBuffer(data), 0
        try:
            return open_mapped_file(path, read_only=True), begin - base
        except StorageError as error:
            raise CorruptRecordingError(
                f"{error.strerror or error}; correct that and verify the recording again, "
                "or restore the file from a copy"
            ) from error

    def _path(self, base: int) -> str:
        recording_id = self._recording.recording_id
        return f"{recording_id}/{names.segment_file(recording_id, base)}"

    def _add_fault(self, position: int, base: int, text: str) -> None:
        file = names.segment_file(self._recording.recording_id, base)
        self._result.faults.append(RecordingFault(self._recording.recording_id, position, file, text))
