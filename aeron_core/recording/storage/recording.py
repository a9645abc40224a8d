"""Recording: the positions, data and index of one recorded stream, as readers need them.

Not here: messages (recording.reading), writing (recording_writer) and purging (purge).
Invariant: frames before the position of a recording are not changed; whole segments at its beginning can be purged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from aeron_core._native import wire
from aeron_core.errors import CorruptRecordingError, DataLossError, RecordingError, RecordingNotFoundError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import has_recorder
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.index import (
    MAX_COVERED_LENGTH,
    MESSAGE_BORDER,
    IndexEntries,
    read_entries,
    read_last_entries,
)
from aeron_core.recording.storage.mark import RecordingMark

#: Bytes of one chunk of `read`. An invented number: fits the cache and needs few system calls.
CHUNK_LENGTH: Final = 4 * 1024 * 1024
#: Remedy in messages about damaged files.
DAMAGED: Final = (
    "restore the file from a copy, or read another part; `aeron-core recordings verify` lists all faults"
)


class RecordingRange(Protocol):
    """Reader of a range of a recording."""

    def message_begin(self, near: int | None = None) -> int:
        """Return the position at which the first message begins that ends in the range.

        `near`: the end of a frame before the range, at which the search may begin.
        """

    def read_into(self, position: int, target: memoryview) -> int:
        """Do the same as `Recording.read_into`; positions grow from call to call."""

    def close(self) -> None:
        """End reading; closing twice does nothing."""


class FileRange:
    """Range of a recording in files, which begins at the end of a message."""

    def __init__(self, recording: Recording, begin: int) -> None:
        self.read_into = recording.read_into
        self._begin = begin

    def message_begin(self, near: int | None = None) -> int:
        """Return the beginning of the range."""
        return self._begin

    def close(self) -> None:
        """Do nothing: files are opened for each read."""


class Recording:
    """A recorded stream from `start_position` to `position`; one thread uses it at a time."""

    #: Whether a segment file has its full length from the beginning, with zeros after the last frame.
    is_preallocated = False
    #: Whether all frames have the session id of the descriptor.
    has_one_session = True
    #: Whether there are files with times and checksums.
    has_index = True
    #: Whether frames contain checksums that readers compare.
    has_frame_checksums = False
    #: Whether `position` is always the end of a message.
    ends_with_message = True
    #: Name of the file with the descriptor, for messages.
    described_in = names.DESCRIPTOR

    def __init__(self, store: FileStore, recording_id: int) -> None:
        self.recording_id = recording_id
        self._store = store
        self._descriptor: RecordingDescriptor | None = None
        self._version: object = None
        self._mark: RecordingMark | None = None

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The current descriptor, read again if the file was replaced.

        Raises RecordingNotFoundError if there is none, as after a purge, CorruptRecordingError if it is damaged. So
        do all methods and properties that depend on it.
        """
        name = f"{self.recording_id}/{names.DESCRIPTOR}"
        version = self._store.version(name)
        if self._descriptor is None or version is None or version != self._version:
            try:
                text = self._store.read(name)
            except RecordingNotFoundError:
                raise RecordingNotFoundError(
                    f"recording {self.recording_id} in {self._store.uri}: does not exist, or was purged; "
                    "`aeron-core recordings list` shows those that exist"
                ) from None
            self._descriptor = RecordingDescriptor.parse(text, f"{self._store.uri}/{name}")
            self._version = version
            self._mark = None
        return self._descriptor

    @property
    def start_position(self) -> int:
        """The position of the first frame that was not purged."""
        return self.descriptor.start_position

    @property
    def position(self) -> int:
        """The position up to which the recording can be read: after its last whole message.

        The start position if it is neither stopped nor has a mark. Raises CorruptRecordingError for a damaged mark.
        """
        descriptor = self.descriptor
        if descriptor.stop_position is not None:
            return descriptor.stop_position
        mark = self._open_mark()
        return descriptor.start_position if mark is None else max(mark.position, descriptor.start_position)

    @property
    def is_live(self) -> bool:
        """Whether the recording is not stopped: its recorder is writing it, or has died."""
        return self.descriptor.stop_position is None

    @property
    def heartbeat_ms(self) -> int:
        """Time of the recorder's last heartbeat in ms since the epoch; 0 without a mark, as in a remote archive.

        Raises CorruptRecordingError for a damaged mark.
        """
        mark = self._open_mark()
        return 0 if mark is None else mark.heartbeat_ms

    @property
    def has_recorder(self) -> bool:
        """Whether a recorder holds the lock of the archive; True if that cannot be found out."""
        try:
            return has_recorder(self._store)
        except (RecordingError, OSError):
            # The user may not open the lock, or the file system has no locks.
            return True

    def detect_checksum(self) -> str | None:
        """Return the name of the checksum of the first frames, None if they have none."""
        return None

    def scanner(self, *, verify: bool = True) -> FrameScanner:
        """Return a scanner for frames of this recording.

        `verify`: whether to compare the checksums of frames, which only the recording of an Aeron Archive can have.
        """
        descriptor = self.descriptor
        return FrameScanner(
            descriptor.session_id,
            descriptor.stream_id,
            descriptor.initial_term_id,
            descriptor.term_length,
        )

    def segments(self) -> list[int]:
        """Return the base positions of the existing segment files, in order."""
        found = map(names.parse_segment_file, self._store.names(str(self.recording_id)))
        return sorted(base for base in found if base is not None)

    def segment_base(self, position: int) -> int:
        """Return the base position of the segment that holds `position`."""
        descriptor = self.descriptor
        return names.segment_base_position(
            descriptor.start_position, position, descriptor.term_length, descriptor.segment_length
        )

    def size(self) -> int:
        """Return the length in bytes from `start_position` to `position`."""
        return self.position - self.start_position

    def read(self, begin: int, end: int, chunk_length: int = CHUNK_LENGTH) -> Iterator[tuple[int, bytes]]:
        """Yield chunks (position, bytes) of the recording from `begin` up to `end`.

        A chunk has at most `chunk_length` bytes, all from one segment, and may end within a frame. Raises DataLossError
        if `begin` was purged or never recorded, or `end` was not recorded; CorruptRecordingError if a file is missing
        or too short; and the errors of `FileStore.read`.
        """
        self._check_range(begin, end)
        segment_length = self.descriptor.segment_length
        position = begin
        while position < end:
            base = self.segment_base(position)
            length = min(chunk_length, end - position, base + segment_length - position)
            name = f"{self.recording_id}/{names.segment_file(self.recording_id, base)}"
            try:
                data = self._store.read(name, position - base, length)
            except RecordingNotFoundError:
                self._check_range(position, end)  # it may have been purged concurrently
                raise CorruptRecordingError(f"{self._store.uri}/{name}: is missing; {DAMAGED}") from None
            if len(data) != length:
                self._check_range(position, end)
                raise self._too_short(name, position + len(data), position + length)
            yield position, data
            position += length

    def open_range(self, begin: int, end: int) -> RecordingRange:
        """Return a reader of the bytes from `begin` up to `end`, for one thread; close it."""
        return FileRange(self, begin)

    def read_into(self, position: int, target: memoryview) -> int:
        """Fill `target` from `position` on, at most to the end of the segment, and return the number of bytes.

        For readers that have checked the range; raises the same errors as `read`.
        """
        base = self.segment_base(position)
        length = min(len(target), base + self.descriptor.segment_length - position)
        name = f"{self.recording_id}/{names.segment_file(self.recording_id, base)}"
        try:
            read = self._store.read_into(name, position - base, target[:length])
        except RecordingNotFoundError:
            self._check_range(position, position + length)
            raise CorruptRecordingError(f"{self._store.uri}/{name}: is missing; {DAMAGED}") from None
        if read != length:
            self._check_range(position, position + length)
            raise self._too_short(name, position + read, position + length)
        return read

    def index_entries(self, base_position: int) -> IndexEntries:
        """Return the valid index entries of the segment at `base_position`, up to the recording's position."""
        entries = self.all_index_entries(base_position)
        return entries[entries["end_position"] <= self.position]

    def all_index_entries(self, base_position: int) -> IndexEntries:
        """Return the valid index entries of the segment at `base_position`, also those after `position`."""
        name = f"{self.recording_id}/{names.index_file(self.recording_id, base_position)}"
        segment_end = base_position + self.descriptor.segment_length
        return read_entries(self._store, name, self.first_position(base_position), segment_end)

    def covering_entries(self, position: int) -> tuple[int, IndexEntries]:
        """Return a position at or before `position`, and the index entries of its segment from there on.

        The first entry covers the data from the returned position on. The entry that covers `position` is
        among them, if there is one.

        Raises CorruptRecordingError unless the index covers the data up to `required_cover`, and the errors of `read`.
        """
        base = self.segment_base(position)
        required = self.required_cover(base)  # before the index is read, which grows
        name = names.index_file(self.recording_id, base)
        begin, segment_end = self.first_position(base), base + self.descriptor.segment_length
        entries = read_last_entries(self._store, f"{self.recording_id}/{name}", begin, segment_end, position)
        if len(entries) and entries["end_position"][0] <= position:
            begin, entries = int(entries["end_position"][0]), entries[1:]
        covered = int(entries["end_position"][-1]) if len(entries) else begin
        if covered < required:
            self._check_range(position, position)  # it may have been purged concurrently
            raise CorruptRecordingError(
                f"recording {self.recording_id} position {covered}: {name}: is missing or damaged: it must cover the "
                f"data up to {required}; {DAMAGED}"
            )
        return begin, entries

    def required_cover(self, base: int) -> int:
        """Return the position up to which the index of a segment must cover the data.

        It is the end of the segment if another segment follows. Otherwise it is the position of a stopped recording, or
        the position of a live one minus the bytes that its recorder may leave without an entry.
        """
        descriptor, end = self.descriptor, self.position
        segment_end = base + descriptor.segment_length
        following = names.segment_file(self.recording_id, segment_end)
        if end > segment_end or (
            end == segment_end and self._store.size(f"{self.recording_id}/{following}") >= 0
        ):
            return segment_end
        # A recorder adds an entry after the write that leaves MAX_COVERED_LENGTH bytes or more uncovered; this write
        # has at most as many bytes, or is padding.
        uncovered = 2 * MAX_COVERED_LENGTH + descriptor.term_length
        return end if descriptor.stop_position is not None else end - uncovered

    def first_position(self, base: int) -> int:
        """Return the position of the first frame of the segment at `base`.

        It is the start position of the recording if that is in the segment, else `base`.
        """
        start, segment_length = self.start_position, self.descriptor.segment_length
        return start if base < start < base + segment_length else base

    def check_extent(self, begin: int, end: int) -> None:
        """Raise an error of `read` if a range was purged or not recorded, or its end is not within the files."""
        self._check_range(begin, end)
        if begin == end:
            return
        base = self.segment_base(end - 1)
        name = names.segment_file(self.recording_id, base)
        size = self._store.size(f"{self.recording_id}/{name}")
        if base + size >= end and size >= 0:
            return
        self._check_range(begin, end)  # it may have been purged concurrently
        if size >= 0:
            raise self._too_short(f"{self.recording_id}/{name}", base + size, end)
        bases = self.segments()
        last = (
            f"its last file is {names.segment_file(self.recording_id, bases[-1])}" if bases else "it has none"
        )
        raise CorruptRecordingError(
            f"{self._store.uri}/{self.recording_id}/{name}: is missing: position {end}: must be within the files of "
            f"the recording, {last}; {DAMAGED}"
        )

    def check_is_kept(self, position: int) -> None:
        """Raise DataLossError if the frame that ends at `position` was purged, as after a read of a missing file."""
        self._check_range(position - wire.FRAME_ALIGNMENT, position)

    def position_at(self, time_ns: int) -> int:
        """Return the last end of a message in the index from before `time_ns`, the start position if there is none.

        `time_ns`: since the epoch.
        """
        position = self.start_position
        for base in self.segments():
            entries = self.index_entries(base)
            before = entries[entries["time_ns"] < time_ns]
            borders = before[before["flags"] & MESSAGE_BORDER != 0]
            if len(borders):
                position = int(borders["end_position"][-1])
            if len(before) < len(entries):
                break
        return position

    def time_behind(self, position: int) -> int:
        """Return the recording time of the first data after `position`, in nanoseconds since the epoch.

        It is the time of the index entry that covers the data; without one, that of the last entry of the segment, or
        of the recording's start if the segment has none.
        """
        entries = self.index_entries(self.segment_base(position))
        behind = entries[entries["end_position"] > position]
        known = behind[:1] if len(behind) else entries[-1:]
        return int(known["time_ns"][0]) if len(known) else self.descriptor.start_time_ns

    def border_before(self, position: int, floor: int) -> int:
        """Return the last known end of a message from `floor` up to `position`, or `floor` if none is known.

        Ends are known from the index, and from terms: every term begins with a message.
        """
        descriptor = self.descriptor
        term_begin = position - position % descriptor.term_length
        base = self.segment_base(max(position - 1, floor))
        entries = self.index_entries(base)
        ends = entries["end_position"][entries["flags"] & MESSAGE_BORDER != 0]
        known = ends[ends <= position]
        best = int(known[-1]) if len(known) else 0
        return max(best, term_begin, floor)

    def border_after(self, position: int) -> int:
        """Return the first known end of a message at or after `position`, at most the recording's position."""
        descriptor = self.descriptor
        term_end = -(-position // descriptor.term_length) * descriptor.term_length
        entries = self.index_entries(self.segment_base(position))
        ends = entries["end_position"][entries["flags"] & MESSAGE_BORDER != 0]
        known = ends[ends >= position]
        return min(int(known[0]) if len(known) else term_end, term_end, self.position)

    def _open_mark(self) -> RecordingMark | None:
        if self._mark is None:
            path = self._store.local_path(f"{self.recording_id}/{names.MARK}")
            self._mark = None if path is None else RecordingMark.open(path)
        return self._mark

    def _too_short(self, name: str, end: int, required: int) -> CorruptRecordingError:
        return CorruptRecordingError(
            f"{self._store.uri}/{name}: ends at position {end}: must extend to {required}; {DAMAGED}"
        )

    @property
    def _readable_position(self) -> int:
        """The position up to which a range may be read: at least `position`."""
        return self.position

    def _check_range(self, begin: int, end: int) -> None:
        start, position = self.start_position, self._readable_position
        if begin < start:
            raise DataLossError(
                f"recording {self.recording_id} position {begin}: was purged or never recorded, the first available "
                f"position is {start}; begin there or later"
            )
        if end > position:
            raise DataLossError(
                f"recording {self.recording_id} position {end}: was not recorded, the last position is {position}; "
                "end there, or wait if the recording continues"
            )
