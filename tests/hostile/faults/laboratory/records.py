"""Logs of clients, which survive SIGKILL since each record is written at once; and messages with a checksum."""

from __future__ import annotations

import json
import os
import random
import struct
import time
import zlib
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

SENT, ACKED, RECEIVED, DAMAGED = 1, 2, 3, 4

RECORD = struct.Struct("<Bxxxiqqqqd")
_HEADER = struct.Struct("<4sqqII")
_MAGIC = b"flts"
_NOISE = random.Random(1).randbytes(1 << 16)
_TEXT = _NOISE.hex()


class Record(NamedTuple):
    """What happened to one message, or up to one position.

    `source` is the number of a publication, unique over all processes, and `number` the message's number in it.
    `image` is the number of an image, unique likewise; 0 in the logs of publishers. `time_s` is the system's
    monotonic time.
    """

    kind: int
    session_id: int
    source: int
    number: int
    position: int
    image: int
    time_s: float


class LogFile:
    """Appends records to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(
        self, kind: int, session_id: int, source: int, number: int, position: int, image: int = 0
    ) -> None:
        os.write(self._file, RECORD.pack(kind, session_id, source, number, position, image, time.monotonic()))


def read_log(path: Path) -> Iterator[Record]:
    """Yield the records of a log, none if there is no such file."""
    data = path.read_bytes() if path.exists() else b""
    whole = len(data) // RECORD.size * RECORD.size
    for fields in RECORD.iter_unpack(data[:whole]):
        yield Record(*fields)


def last_of(log: Path, kind: int) -> Record | None:
    """Return the last record of a kind."""
    if not log.exists():
        return None
    size = RECORD.size
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END) // size * size
        for at in range(end - size, max(end - 4000 * size, -1), -size):
            file.seek(at)
            if file.read(1)[0] == kind:
                file.seek(at)
                return Record(*RECORD.unpack(file.read(size)))
    return None


def make_message(source: int, number: int, length: int, *, is_json: bool) -> bytes:
    """Return a message with its numbers and a checksum of all its bytes."""
    start = number * 37 % 30_000
    if is_json:
        text = _TEXT[start : start + length]
        check = zlib.crc32(f"{source} {number} {text}".encode())
        return json.dumps({"source": source, "number": number, "check": check, "text": text}).encode()
    body = _NOISE[start : start + length]
    check = zlib.crc32(_HEADER.pack(_MAGIC, source, number, length, 0) + body)
    return _HEADER.pack(_MAGIC, source, number, length, check) + body


def read_message(message: bytes) -> tuple[int, int] | None:
    """Return source and number of a message, None if it is not whole."""
    if message[:1] == b"{":
        try:
            source, number, check, text = itemgetter("source", "number", "check", "text")(json.loads(message))
        except (ValueError, KeyError):
            return None
        return (source, number) if check == zlib.crc32(f"{source} {number} {text}".encode()) else None
    if len(message) < _HEADER.size:
        return None
    _, source, number, length, check = _HEADER.unpack_from(message)
    body = message[_HEADER.size :]
    is_whole = (
        len(body) == length and zlib.crc32(_HEADER.pack(_MAGIC, source, number, length, 0) + body) == check
    )
    return (source, number) if is_whole else None
