"""Catalogue of an Aeron Archive, the file `archive.catalog`: a header, then an entry for each recording.

Not here: what an entry means for readers (recording). The Archive appends entries and changes them in place while it
runs. It moves entries only if a recording is replaced by one with longer texts: so an entry that was found once is
checked for its id.

    header   version int32 · length int32 · next recording id int64 · alignment int32 · reserved, 32 bytes in all
    entry    length int32 · state int32 · checksum int32 · reserved, 32 bytes in all, then a descriptor of `length`
             bytes, padded to the alignment

Source: Catalog.java, aeron-archive-codecs.xml.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from aeron_core.errors import CorruptRecordingError
from aeron_core.recording.storage.file_store import FileStore

#: Name of the file.
CATALOG: Final = "archive.catalog"
#: Major version of the format. Source: ArchiveMarkFile.MAJOR_VERSION.
MAJOR_VERSION: Final = 3

_HEADER: Final = struct.Struct("<iiqi12x")
_ENTRY_HEADER: Final = struct.Struct("<iii20x")
_DESCRIPTOR: Final = struct.Struct("<7q6i")
_TEXT_LENGTH: Final = struct.Struct("<I")
_VALID: Final = 1
_NULL: Final = -1
#: Alignment of entries, and offset of the first one, in catalogues of versions without the field.
#: Source: Catalog.DEFAULT_ALIGNMENT.
_OLD_ALIGNMENT: Final = 1024
#: Bytes of one read of the catalogue. An invented number: some hundred entries.
_READ_LENGTH: Final = 65_536
#: Limits for files that another user has prepared. Invented numbers: far more than an Archive has.
_LONGEST_ENTRY: Final = 1024 * 1024
_MOST_ENTRIES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One entry as it was at the time of the read; times are milliseconds since the epoch."""

    offset: int  # in the file, bytes
    length: int  # with its header and padding, bytes
    is_valid: bool  # False for a recording that was deleted, or declared invalid with ArchiveTool
    recording_id: int
    start_time_ms: int
    stop_time_ms: int | None
    start_position: int
    stop_position: int | None  # None while it is being recorded, or if the Archive died
    initial_term_id: int
    segment_length: int
    term_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str  # without parameters that do not identify the stream
    channel: str  # as it was given to the Archive
    source_identity: str
    data: bytes = field(repr=False, compare=False)  # of the whole entry


class CatalogReader:
    """Reads the catalogue in a store; one thread uses it.

    The constructor raises RecordingNotFoundError without a catalogue, CorruptRecordingError for one of another version
    or without a header. All methods raise the errors of `FileStore.read`.
    """

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._where = f"{store.uri}/{CATALOG}"
        header = store.read(CATALOG, 0, _HEADER.size)
        if len(header) < _HEADER.size:
            raise CorruptRecordingError(
                f"{self._where}: {len(header)} bytes: must be at least {_HEADER.size}; restore a copy of the file"
            )
        version, _, self.next_recording_id, alignment = _HEADER.unpack(header)
        if version >> 16 != MAJOR_VERSION:
            raise CorruptRecordingError(
                f"{self._where}: version {version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}: must be "
                f"{MAJOR_VERSION}.x; convert an older archive with Aeron's ArchiveTool: migrate"
            )
        if not 0 <= alignment <= _LONGEST_ENTRY or alignment & (alignment - 1):
            raise CorruptRecordingError(
                f"{self._where}: alignment={alignment}: must be a power of two up to {_LONGEST_ENTRY}; restore a copy "
                "of the file"
            )
        self.alignment = alignment or _OLD_ALIGNMENT
        self.first_offset = _HEADER.size if alignment else _OLD_ALIGNMENT
        self._found: dict[int, CatalogEntry] = {}  # by offset, as they were at the last call of `entries`

    def entries(self) -> tuple[list[CatalogEntry | CorruptRecordingError], str]:
        """Return all entries, and why the rest of the file cannot be read, an empty text if it can.

        An entry that is damaged, but whose length is possible, is an error in its place.
        """
        found: list[CatalogEntry | CorruptRecordingError] = []
        valid: dict[int, CatalogEntry] = {}
        text = ""
        for offset, data in self._raw_entries():
            if isinstance(data, str):
                text = data
                break
            known = self._found.get(offset)
            entry = known if known is not None and known.data == data else self._parse(data, offset)
            found.append(entry)
            if isinstance(entry, CatalogEntry):
                valid[offset] = entry
        self._found = valid
        return found, text

    def _raw_entries(self) -> Iterator[tuple[int, bytes | str]]:
        """Yield the offset and the bytes of each entry, at last a text if the rest of the file cannot be read."""
        offset, size, count = self.first_offset, self._store.size(CATALOG), 0
        data, begin = b"", offset
        least, most = _DESCRIPTOR.size + 3 * _TEXT_LENGTH.size, _LONGEST_ENTRY - _ENTRY_HEADER.size
        while offset + _ENTRY_HEADER.size <= size:
            if offset + _ENTRY_HEADER.size > begin + len(data):
                data, begin = self._store.read(CATALOG, offset, _READ_LENGTH), offset
            length = self._length_at(data, offset - begin)
            if length == 0:
                return
            whole = -(-(length + _ENTRY_HEADER.size) // self.alignment) * self.alignment
            most = min(most, size - offset - _ENTRY_HEADER.size)
            if not least <= length <= most or whole > min(_LONGEST_ENTRY, size - offset):
                yield (
                    offset,
                    self._hidden(offset, f"an entry of {length} bytes: must be from {least} to {most}"),
                )
                return
            if count == _MOST_ENTRIES:
                yield offset, self._hidden(offset, f"has more than {_MOST_ENTRIES} entries")
                return
            if offset + whole > begin + len(data):
                data, begin = self._store.read(CATALOG, offset, max(whole, _READ_LENGTH)), offset
            if len(data) < offset + whole - begin:
                return  # truncated since its size was read
            yield offset, data[offset - begin : offset - begin + whole]
            offset += whole
            count += 1

    def _hidden(self, offset: int, fault: str) -> str:
        return (
            f"{self._where} offset {offset}: {fault}; recordings after it cannot be found: restore a copy of the "
            "file"
        )

    def entry(self, known: CatalogEntry) -> CatalogEntry:
        """Return the current state of an entry that was read before; is_valid is False if it was removed.

        Raises CorruptRecordingError if the entry is damaged.
        """
        data = self._store.read(CATALOG, known.offset, known.length)
        if data == known.data:
            return known
        if len(data) == known.length:
            entry = self._parse(data, known.offset)
            if isinstance(entry, CatalogEntry) and entry.recording_id == known.recording_id:
                return entry
        # Entries before it have grown.
        for entry in self.entries()[0]:
            if isinstance(entry, CatalogEntry) and entry.recording_id == known.recording_id:
                return entry
        raise CorruptRecordingError(
            f"{self._where} offset {known.offset}: the entry of recording {known.recording_id} has disappeared; "
            "restore a copy of the file"
        )

    @staticmethod
    def _length_at(data: bytes, offset: int) -> int:
        if offset + _ENTRY_HEADER.size > len(data):
            return 0
        length: int = _ENTRY_HEADER.unpack_from(data, offset)[0]
        return length

    def _parse(self, data: bytes, offset: int) -> CatalogEntry | CorruptRecordingError:
        length, state, _ = _ENTRY_HEADER.unpack_from(data)
        fields = _DESCRIPTOR.unpack_from(data, _ENTRY_HEADER.size)
        # The first two are the session and the correlation id of the last request.
        recording_id, start_ms, stop_ms, start, stop = fields[2:7]
        initial_term_id, segment_length, term_length, mtu_length, session_id, stream_id = fields[7:]
        texts = _texts(data[_ENTRY_HEADER.size + _DESCRIPTOR.size : _ENTRY_HEADER.size + length])
        if texts is None:
            return CorruptRecordingError(
                f"{self._where} offset {offset}: the entry of recording {recording_id} has texts that are longer than "
                "the entry; restore a copy of the file"
            )
        return CatalogEntry(
            offset=offset,
            length=len(data),
            is_valid=state == _VALID,
            recording_id=recording_id,
            start_time_ms=start_ms,
            stop_time_ms=None if stop_ms == _NULL else stop_ms,
            start_position=start,
            stop_position=None if stop == _NULL else stop,
            initial_term_id=initial_term_id,
            segment_length=segment_length,
            term_length=term_length,
            mtu_length=mtu_length,
            session_id=session_id,
            stream_id=stream_id,
            stripped_channel=texts[0],
            channel=texts[1],
            source_identity=texts[2],
            data=data,
        )


def _texts(data: bytes) -> list[str] | None:
    """Return the stripped channel, the channel and the source identity; None if they are longer than `data`."""
    texts, at = [], 0
    for _ in range(3):
        if at + _TEXT_LENGTH.size > len(data):
            return None
        (length,) = _TEXT_LENGTH.unpack_from(data, at)
        at += _TEXT_LENGTH.size
        if at + length > len(data):
            return None
        texts.append(data[at : at + length].decode("ascii", "backslashreplace"))
        at += length
    return texts
