"""Segment writer: writes one segment file and its index.

Not here: the time of flushes, and the order of frames (recording_writer).
Invariant: new entries follow the last whole entry of the index; after an error, the caller may write the same bytes
again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from aeron_core.errors import RecordingError
from aeron_core.file_access import FileAccess
from aeron_core.recording.storage.file_store import sync_folder, write_failure
from aeron_core.recording.storage.index import ENTRY, entry_bytes


class SegmentWriter:
    """The files of one segment, open for writing. Errors are RecordingErrors with the file and a remedy."""

    def __init__(self, segment: Path, index: Path, *, index_entries: int | None = None) -> None:
        """Open or create the files; keep the first `index_entries` of the index, all whole ones if None."""
        self._segment = segment
        self._index = index
        try:
            is_new = not segment.exists()
        except OSError as error:
            raise write_failure("open", segment, error) from error
        self._index_length = 0
        self._fd = self._index_fd = -1
        try:
            self._fd = self._open(segment)
            self._index_fd = self._open(index)
            held = os.fstat(self._index_fd).st_size // ENTRY.itemsize
            self.cut_index((held if index_entries is None else min(held, index_entries)) * ENTRY.itemsize)
            if is_new:
                sync_folder(segment.parent)
        except BaseException:
            self.close()
            raise

    @property
    def index_length(self) -> int:
        """Length of the index in bytes."""
        return self._index_length

    def write(self, offset: int, data: memoryview | bytes) -> None:
        """Write all of `data` at `offset` of the segment; after an error, the segment ends there if it can be cut."""
        written = 0
        with memoryview(data) as view:
            try:
                while written < len(view):
                    written += os.pwrite(self._fd, view[written:], offset + written)
            except OSError as error:
                # A full disk takes a part of the data. If the stream ends now, the rest is never written: a frame that
                # is cut short would look like damage.
                if written:
                    with suppress(OSError):
                        os.ftruncate(self._fd, offset)
                raise write_failure("write", self._segment, error) from error

    def cut(self, length: int) -> None:
        """Set the length of the segment to `length` bytes; growing it leaves a hole."""
        try:
            os.ftruncate(self._fd, length)
        except OSError as error:
            raise write_failure("resize", self._segment, error) from error

    def add_entry(self, end_position: int, time_ns: int, crc32: int, *, is_border: bool) -> None:
        """Append an entry to the index; the arguments are those of `entry_bytes`."""
        data = entry_bytes(end_position, time_ns, crc32, is_border=is_border)
        try:
            written = os.pwrite(self._index_fd, data, self._index_length)
        except OSError as error:
            raise write_failure("write", self._index, error) from error
        if written < len(data):  # the next attempt writes the whole entry again
            raise RecordingError(
                f"cannot write {self._index}: only {written} of {len(data)} bytes were written; free disk space"
            )
        self._index_length += written

    def cut_index(self, length: int) -> None:
        """Truncate the index to `length` bytes."""
        self._index_length = length
        try:
            os.ftruncate(self._index_fd, length)
        except OSError as error:
            raise write_failure("resize", self._index, error) from error

    def flush(self) -> None:
        """Flush to disk: the frames first, then the index that describes them."""
        for fd, path in ((self._fd, self._segment), (self._index_fd, self._index)):
            try:
                os.fdatasync(fd)
            except OSError as error:
                raise write_failure("flush", path, error) from error

    def begin_flush(self, offset: int, length: int) -> None:
        """Let the system begin to write `length` bytes at `offset` to disk; a hint, which does not fail."""
        with suppress(OSError):
            # Linux begins to write dirty pages of the range, and frees those that are on disk already.
            os.posix_fadvise(self._fd, offset, length, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Close the files."""
        for fd in (self._fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._index_fd = -1

    def _open(self, path: Path) -> int:
        try:
            # O_NOFOLLOW: the file may be truncated, and must not be one that another user of the folder linked to.
            return FileAccess.like(path.parent).open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError as error:
            raise write_failure("open", path, error) from error
