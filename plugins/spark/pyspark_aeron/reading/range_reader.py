"""Range reader: a piece of a recording as Arrow batches; runs in the executors.

Not here: choosing the pieces (planning). Compiled code builds a batch column by column, without Python objects per row.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.reading import opening
from aeron_core.errors import CorruptRecordingError
from aeron_core.recording import Archive, Recording
from aeron_core.recording._native import faults
from aeron_core.recording.reading.message_scanner import MessageScanner
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.recording.storage.checked_pieces import CheckedPieces
from pyspark_aeron.quiet_ends import end_quietly
from pyspark_aeron.reading.batch_builder import BatchBuilder
from pyspark_aeron.reading.selection import Range

if TYPE_CHECKING:
    import pyarrow as pa

    from aeron_core.recording.reading.message_columns import MessageColumns
    from aeron_core.recording.storage.recording import RecordingRange
    from pyspark_aeron.options import SourceOptions

# Bytes of one read, and payload bytes of a batch, unless a message is longer. Invented numbers: larger values were not
# faster in measurements.
_READ_LENGTH: Final = 4 * 1024 * 1024
_PAYLOAD_LENGTH: Final = 8 * 1024 * 1024

# Cache of this process, which runs many tasks one after the other.
_archives: dict[tuple[str, FrameChecksum | None], Archive] = {}


def open_archive(where: str, checksum: FrameChecksum | None = None) -> Archive:
    """Return the archive at a path, URI or address, opened with a checksum of its frames; the first call opens it.

    Raises RecordingNotFoundError if there is none.
    """
    key = where, checksum
    if key not in _archives:
        # The planner has reached a running archive before.
        _archives[key] = opening.open_archive(where, is_patient=True, checksum=checksum)
    return _archives[key]


def read_batches(options: SourceOptions, columns: tuple[str, ...], piece: Range) -> Iterator[pa.RecordBatch]:
    """Yield the messages that end in `piece`, in batches of at most `batchRows` rows.

    Raises CorruptRecordingError if it cannot be read completely, or is damaged; DataLossError if it was purged;
    RecordingNotFoundError if its recording or the archive was deleted.
    """
    if TaskContext.get() is not None:
        _freeze_heap()
    end_quietly()
    recording = open_archive(options.archive, options.checksum).recording(piece.recording_id)
    is_assembling = options.assemble == "messages"
    scanner = MessageScanner(recording.scanner(verify=options.verify), is_assembling=is_assembling)
    with closing(recording.open_range(piece.begin, piece.end)) as opened:
        begin = opened.message_begin(piece.near) if is_assembling else piece.begin
        window = _Window(
            recording, opened, Range(piece.recording_id, begin, piece.end), verify=options.verify
        )
        yield from _batches(options, columns, window, scanner)


def _batches(
    options: SourceOptions, columns: tuple[str, ...], window: _Window, scanner: MessageScanner
) -> Iterator[pa.RecordBatch]:
    piece, recording = window.piece, window.recording
    builder = BatchBuilder(options, columns, recording)
    # Limit the capacity to what the piece can contain: zeroing memory would dominate the cost of a small piece.
    most_rows = min(options.batch_rows, max(piece.length // wire.DATA_HEADER_LENGTH, 1))
    payload_length = min(_PAYLOAD_LENGTH, piece.length)
    rows = builder.columns(most_rows, payload_length)
    while window.position < piece.end or window.length:
        window.scan(scanner, rows)
        if scanner.required_length >= 0:
            if rows.count:
                yield builder.build(rows)
            rows = builder.columns(most_rows, max(payload_length, scanner.required_length))
        elif not window.fill(scanner):
            break
    if rows.count:
        yield builder.build(rows)


@functools.cache
def _freeze_heap() -> None:
    """Exclude all existing objects from garbage collection, once per process.

    Spark runs a full collection after every task, which takes longer than the task of a small micro-batch: most of the
    objects that it visits belong to modules, which are never freed.
    """
    gc.freeze()


class _Window:
    """The buffered part of a recording: `length` bytes from `position` on, at offset `begin` of the buffer."""

    def __init__(self, recording: Recording, opened: RecordingRange, piece: Range, *, verify: bool) -> None:
        self.piece = piece
        self.recording = recording
        self.position = piece.begin
        self.length = 0
        self._opened = opened
        self._end = piece.end
        self._begin = 0
        self._buffer = AtomicBuffer.allocate(min(_READ_LENGTH, piece.length))
        self._checks = CheckedPieces(recording, piece.begin, piece.end) if verify else None

    def scan(self, scanner: MessageScanner, rows: MessageColumns) -> None:
        """Scan messages from the beginning of the window and advance it."""
        scanned = scanner.scan(self._buffer, self._begin, self.length, self.position, rows)
        self.position += scanned
        self._begin += scanned
        # A padding frame can extend beyond the buffered bytes; its rest need not be read.
        self.length = max(self.length - scanned, 0)

    def fill(self, scanner: MessageScanner) -> bool:
        """Read more bytes after the buffered ones, or enlarge a full buffer; return False at the end of the piece.

        Raises CorruptRecordingError if the scanner found a fault, or a message extends beyond the piece.
        """
        if scanner.frames.fault not in {faults.NO_FAULT, faults.CUT_SHORT}:
            raise self._corrupt(f"position {self.position}: {scanner.frames.fault_text()}")
        space = self._buffer.capacity - self.length
        wanted = min(space, self._end - self.position - self.length)
        if wanted <= 0 and self.length == 0:
            return False
        if self._end <= self.position + self.length and not self.recording.ends_with_message:
            return False  # the message belongs to the range in which it ends
        if wanted <= 0:
            if space > 0:
                raise self._corrupt(
                    f"position {self.position}: the message ends after {self._end}, the end of the range to read"
                )
            self._grow()
            return True
        self._compact()
        self._read(wanted)
        return True

    def _read(self, wanted: int) -> None:
        at = self.position + self.length
        if self._checks is not None:
            wanted = self._checks.reach(at, at + wanted) - at
            while self._buffer.capacity - self.length < wanted:
                self._grow()
        read = self._opened.read_into(at, memoryview(self._buffer)[self.length : self.length + wanted])
        if self._checks is not None:
            self._checks.check(at, self._buffer, self.length, read)
        self.length += read

    def _compact(self) -> None:
        if self._begin and self.length:
            self._buffer.copy_from(0, self._buffer, self._begin, self.length)
        self._begin = 0

    def _grow(self) -> None:
        larger = AtomicBuffer.allocate(2 * self._buffer.capacity)
        larger.copy_from(0, self._buffer, self._begin, self.length)
        self._buffer, self._begin = larger, 0

    def _corrupt(self, message: str) -> CorruptRecordingError:
        return CorruptRecordingError(
            f"recording {self.recording.recording_id} {message}; `aeron-core recordings verify` lists all errors: "
            "restore the archive, or read other positions"
        )
