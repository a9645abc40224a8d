"""Line splitter: cuts the bytes of a file into lines, each with its end offset and the bytes before that offset.

Invariant: the returned lines with their line ends, followed by the held bytes, are exactly the bytes that were fed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Bytes before an offset that identify it later. An invented number: one or two lines with a timestamp.
TAIL_LENGTH: Final = 256

_LINE_END: Final = b"\n"
_UTF8_MAX_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, or a piece of one that is too long."""

    offset: int  # of its first byte in the file
    end: int  # offset after the line and its line end
    payload: bytes  # without its line end
    tail: bytes  # up to TAIL_LENGTH bytes of the file before `end`


class LineSplitter:
    """Splitter of one file: holds an incomplete line until its end is read.

    A line longer than `max_length` bytes is cut into pieces; only the last has a line end.
    """

    def __init__(self, offset: int, tail: bytes, max_length: int) -> None:
        self._offset = offset  # of the held bytes
        self._tail = tail
        self._max_length = max_length
        self._held = bytearray()

    @property
    def held(self) -> int:
        """Number of bytes of an incomplete line."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that the next bytes of the file complete, and the pieces of a line that is too long."""
        search_begin = len(self._held)
        self._held += data
        lines: list[Line] = []
        begin = 0
        while (end := self._held.find(_LINE_END, max(search_begin, begin))) >= 0:
            self._cut(bytes(self._held[begin : end + 1]), lines)
            begin = end + 1
        del self._held[:begin]
        while len(self._held) > self._max_length:
            length = _piece_length(self._held, self._max_length)
            lines.append(self._line(bytes(self._held[:length]), 0))
            del self._held[:length]
        return lines

    def finish(self) -> list[Line]:
        """Return the held bytes as the last line of a file that will not grow; an empty list if there are none."""
        if not self._held:
            return []
        line = self._line(bytes(self._held), 0)
        self._held.clear()
        return [line]

    def _cut(self, raw: bytes, lines: list[Line]) -> None:
        while len(raw) - 1 > self._max_length:
            length = _piece_length(raw, self._max_length)
            lines.append(self._line(raw[:length], 0))
            raw = raw[length:]
        lines.append(self._line(raw, 2 if raw.endswith(b"\r\n") else 1))

    def _line(self, raw: bytes, line_end_length: int) -> Line:
        begin = self._offset
        self._offset += len(raw)
        self._tail = (self._tail + raw)[-TAIL_LENGTH:]
        return Line(begin, self._offset, raw[: len(raw) - line_end_length], self._tail)


def _piece_length(data: bytes | bytearray, max_length: int) -> int:
    """Return the length of the next piece, 1 to `max_length`, without splitting a UTF-8 character that fits."""
    length = max_length
    for _ in range(_UTF8_MAX_LENGTH - 1):
        if length <= 1 or data[length] & 0xC0 != 0x80:
            return max(length, 1)
        length -= 1
    return length if length > 1 and data[length] & 0xC0 != 0x80 else max_length
