"""Mark file of an Aeron Archive, `archive-mark.dat`: whether the Archive runs, and which driver it uses.

Its folder may be another one than that of the archive: then `archive-mark.lnk` has the path. Readers of a live
recording need the counters of the Archive's driver, because the catalogue has no position until a recording stops.

    version int32 · activity timestamp int64 at 8 · start timestamp int64 · pid int64 · stream ids 3 int32 · header
    length int32 · error buffer length int32 · archive id int64 at 56; 128 bytes in all, then the control, local control
    and events channel, and the directory of the driver, each after its length as uint32

Source: ArchiveMarkFile.java, aeron-archive-mark-codecs.xml.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aeron_core.recording.storage.file_store import LocalStore, open_regular_file

_MARK_FILE: Final = "archive-mark.dat"
_LINK_FILE: Final = "archive-mark.lnk"
#: Bytes in which the header is. Source: ArchiveMarkFile.HEADER_LENGTH.
_HEADER_LENGTH: Final = 8192
#: A header of SBE before the fields, in files of schema version 1 and later: block length, template, schema, version.
_MESSAGE_HEADER: Final = struct.Struct("<HHHH")
_TEMPLATE_ID: Final = 200
_SCHEMA_ID: Final = 100
_FIELDS: Final = struct.Struct("<i4xqqqiiiii4xq")
_BLOCK_LENGTH: Final = 128
_TEXT_LENGTH: Final = struct.Struct("<I")
_TEXTS: Final = 4
_NULL_ARCHIVE_ID: Final = -1
_LONGEST_PATH: Final = 4096


@dataclass(frozen=True, slots=True)
class ArchiveMark:
    """Contents of a mark file; times are milliseconds since the epoch."""

    activity_ms: int  # of the last sign of life; 0 if the Archive has not started, or has closed
    archive_id: int | None
    aeron_dir: Path


def read_mark(store: LocalStore) -> ArchiveMark | None:
    """Return the mark of the archive in `store`, None if there is none, or it cannot be read or understood."""
    try:
        with open_regular_file(str(_mark_file_of(store))) as file:
            return _parse(file.read(_HEADER_LENGTH))
    except (OSError, ValueError, struct.error):
        return None


def _mark_file_of(store: LocalStore) -> Path:
    link = store.folder / _LINK_FILE
    try:
        with open_regular_file(str(link)) as file:
            folder = Path(file.read(_LONGEST_PATH).decode("utf-8").strip())
    except FileNotFoundError:
        folder = store.folder
    return folder / _MARK_FILE


def _parse(data: bytes) -> ArchiveMark:
    begin = 0
    _, template, schema, _ = _MESSAGE_HEADER.unpack_from(data)
    if (template, schema) == (_TEMPLATE_ID, _SCHEMA_ID):
        begin = _MESSAGE_HEADER.size
    fields = _FIELDS.unpack_from(data, begin)
    at = begin + _BLOCK_LENGTH
    text = b""
    for _ in range(_TEXTS):
        (length,) = _TEXT_LENGTH.unpack_from(data, at)
        at += _TEXT_LENGTH.size
        if at + length > len(data):
            raise ValueError("a text extends beyond the header")
        text = data[at : at + length]
        at += length
    if not text or b"\0" in text:
        raise ValueError("not the path of a folder")
    archive_id = fields[-1] if begin and fields[-1] != _NULL_ARCHIVE_ID else None
    return ArchiveMark(fields[1], archive_id, Path(text.decode("ascii")))
