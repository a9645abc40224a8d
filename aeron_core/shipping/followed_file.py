"""One file that is read as it grows, by whatever name: a file that is renamed stays the same.

    following -> rewritten    it is shorter than it was, or other bytes stand before where it was read to
    rewritten -> following    from its beginning, with a progress of its own

Invariant: bytes are returned once for each time that they were written, as far as they are still there to be read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from aeron_core.shipping.line_splitter import TAIL_LENGTH, Line, LineSplitter

#: Of a file behind whose last line a reader begins; a longer line is taken for one that begins there.
_LAST_LINE_SEARCH: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class FileKey:
    """What a file is, whatever its name."""

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileKey:
        """Return the key of a file."""
        return cls(status.st_dev, status.st_ino)


@dataclass(slots=True)
class Progress:
    """How far a file, as it was between two times that it was rewritten, is confirmed to have arrived."""

    path: str
    offset: int = 0
    tail: bytes = b""  # that stands before `offset`, see Line

    def confirm(self, line: Line) -> None:
        """Note that a line has arrived."""
        self.offset = line.end
        self.tail = line.tail


class FollowedFile:
    """Reads on from a progress; holds the file open until it is closed."""

    def __init__(self, path: str, progress: Progress, max_line_length: int) -> None:
        """Open the file; raises OSError."""
        self.path = path
        self.progress = progress
        self.missing_since_ns: int | None = None  # when it was first not found under any name that is watched
        self.read_ns = 0  # when something was last read
        self._max_line_length = max_line_length
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self.key = FileKey.of(os.fstat(self._fd))
        self._read_offset = progress.offset
        self._before = progress.tail
        self._splitter = LineSplitter(progress.offset, progress.tail, max_line_length)

    @property
    def read_offset(self) -> int:
        """How far it was read."""
        return self._read_offset

    @property
    def unread_length(self) -> int:
        """How many bytes are there to be read, and those that are held back."""
        try:
            size = os.fstat(self._fd).st_size
        except OSError:
            # Who reads on is told.
            size = 0
        return max(size - self._read_offset, 0) + self._splitter.held

    def read(self, max_length: int) -> list[Line] | None:
        """Return the lines of the next bytes, None where there are no bytes; raises OSError."""
        size = os.fstat(self._fd).st_size
        before = len(self._before)
        data = os.pread(self._fd, before + max_length, self._read_offset - before)
        if size < self._read_offset or data[:before] != self._before:
            return self._begin_anew()
        data = data[before:]
        if not data:
            return None
        self._read_offset += len(data)
        self._before = (self._before + data)[-TAIL_LENGTH:]
        return self._splitter.feed(data)

    def finish(self) -> list[Line]:
        """Return what has no line end as a line."""
        return self._splitter.finish()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _begin_anew(self) -> list[Line]:
        # The end of a line that was held back went with what was there.
        lines = self._splitter.finish()
        self.progress = Progress(self.path)
        self._read_offset = 0
        self._before = b""
        self._splitter = LineSplitter(0, b"", self._max_line_length)
        return lines


def stands_before(path: str, offset: int, tail_length: int) -> bytes:
    """Return the `tail_length` bytes of a file before `offset`, fewer where they are not there; raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.pread(fd, tail_length, offset - tail_length)
    finally:
        os.close(fd)


def end_of_last_line(path: str) -> Progress:
    """Return the progress behind the last whole line of a file; raises OSError."""
    size = os.stat(path).st_size
    searched = stands_before(path, size, min(size, _LAST_LINE_SEARCH))
    offset = size - len(searched) + searched.rfind(b"\n") + 1 if b"\n" in searched else size
    if size <= _LAST_LINE_SEARCH and b"\n" not in searched:
        offset = 0
    return Progress(path, offset, stands_before(path, offset, min(offset, TAIL_LENGTH)))
