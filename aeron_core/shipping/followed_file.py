"""A file that is read as it grows; it is identified by device and inode, so that renaming does not matter.

    following -> rewritten    the file became shorter, or the bytes before the read offset changed
    rewritten -> following    from the beginning, with a new progress

Invariant: bytes are returned once each time they were written, unless they were overwritten before they were read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from aeron_core.shipping.line_splitter import TAIL_LENGTH, Line, LineSplitter

#: Bytes to search backwards for the last line end. If a longer file has none there, reading begins at its end.
_LAST_LINE_SEARCH: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class FileKey:
    """Identity of a file, independent of its name."""

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileKey:
        """Return the key of the file with this status."""
        return cls(status.st_dev, status.st_ino)


@dataclass(slots=True)
class Progress:
    """Confirmed offset of a file between two rewrites."""

    path: str
    offset: int = 0
    tail: bytes = b""  # up to TAIL_LENGTH bytes of the file before `offset`

    def confirm(self, line: Line) -> None:
        """Move the offset, and its tail, to the end of a confirmed line."""
        self.offset = line.end
        self.tail = line.tail


class FollowedFile:
    """A file that is read from a given progress on; stays open until `close`."""

    def __init__(self, path: str, progress: Progress, max_line_length: int) -> None:
        """Open the file to read it from `progress` on, and cut lines at `max_line_length` bytes; raise OSError."""
        self.path = path
        self.progress = progress
        self.missing_since_ns: int | None = None  # time of the first scan that did not find it
        self.read_ns = 0  # time of the last successful read
        self._max_line_length = max_line_length
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self.key = FileKey.of(os.fstat(self._fd))
        self._read_offset = progress.offset
        self._before = progress.tail
        self._splitter = LineSplitter(progress.offset, progress.tail, max_line_length)

    @property
    def unread_length(self) -> int:
        """Number of bytes that are not read yet or belong to an incomplete line."""
        try:
            size = os.fstat(self._fd).st_size
        except OSError:
            # The next read reports the error.
            size = 0
        return max(size - self._read_offset, 0) + self._splitter.held

    def read(self, max_length: int) -> list[Line] | None:
        """Return the lines that the next bytes, at most `max_length`, complete; None if there are no more bytes.

        If the file was rewritten, return the incomplete line of its old content, if there is one, and set a new
        `progress`: the next call reads from the beginning. Raises OSError.
        """
        size = os.fstat(self._fd).st_size
        before = len(self._before)
        data = os.pread(self._fd, before + max_length, self._read_offset - before)
        if size < self._read_offset or data[:before] != self._before:
            return self._restart()
        data = data[before:]
        if not data:
            return None
        self._read_offset += len(data)
        self._before = (self._before + data)[-TAIL_LENGTH:]
        return self._splitter.feed(data)

    def finish(self) -> list[Line]:
        """Return the bytes of an incomplete line as a line; an empty list if there are none."""
        return self._splitter.finish()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _restart(self) -> list[Line]:
        # The rest of an incomplete line was lost with the old content.
        lines = self._splitter.finish()
        self.progress = Progress(self.path)
        self._read_offset = 0
        self._before = b""
        self._splitter = LineSplitter(0, b"", self._max_line_length)
        return lines


def bytes_before(path: str, offset: int, tail_length: int) -> bytes:
    """Return the `tail_length` bytes of a file before `offset`, fewer if the file is shorter.

    Raises OSError, also if `tail_length` is more than `offset`.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.pread(fd, tail_length, offset - tail_length)
    finally:
        os.close(fd)


def end_of_last_line(path: str) -> Progress:
    """Return the progress after the last complete line of a file, 0 if there is none; raise OSError.

    If the last 64 KiB of a longer file have no line end, it is the progress after the last byte.
    """
    size = os.stat(path).st_size
    searched = bytes_before(path, size, min(size, _LAST_LINE_SEARCH))
    offset = size - len(searched) + searched.rfind(b"\n") + 1 if b"\n" in searched else size
    if size <= _LAST_LINE_SEARCH and b"\n" not in searched:
        offset = 0
    return Progress(path, offset, bytes_before(path, offset, min(offset, TAIL_LENGTH)))
