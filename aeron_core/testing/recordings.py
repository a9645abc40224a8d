"""Recordings created without a stream, from frames as a publication appends them."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aeron_core._native import wire
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.testing.frames import data_frame

TERM_LENGTH: Final = 65536
SESSION_ID: Final = 11
STREAM_ID: Final = 22
INITIAL_TERM_ID: Final = 7
NOW_NS: Final = 1_700_000_000_000_000_000
MILLISECOND_NS: Final = 1_000_000


def describe(**changes: Any) -> RecordingDescriptor:
    """Return the descriptor of a recording of the stream of this module's constants, with some fields changed."""
    fields: dict[str, Any] = {
        "recording_id": 0,
        "channel": "aeron:ipc",
        "stream_id": STREAM_ID,
        "session_id": SESSION_ID,
        "source_identity": "aeron:ipc",
        "initial_term_id": INITIAL_TERM_ID,
        "term_length": TERM_LENGTH,
        "mtu_length": 1408,
        "segment_length": 2 * TERM_LENGTH,
        "start_position": 0,
        "start_time_ns": NOW_NS,
    }
    return RecordingDescriptor(**(fields | changes))


def frame_at(position: int, payload: bytes = b"", **fields: int) -> bytes:
    """Return a DATA frame for `position`, padded to a multiple of 32 bytes; `fields` override header fields."""
    return data_frame(payload, **_stream_fields(position) | fields)


def padding_at(position: int, length: int, **fields: int) -> bytes:
    """Return a padding frame for `position` of `length` bytes, header included, a multiple of 32."""
    header = frame_at(position, b"", frame_length=length, frame_type=wire.TYPE_PAD, flags=0, **fields)
    return header + bytes(length - wire.DATA_HEADER_LENGTH)


def frames_at(position: int, payloads: Iterable[bytes], **fields: int) -> bytes:
    """Return contiguous frames, the first at `position`."""
    data = b""
    for payload in payloads:
        data += frame_at(position + len(data), payload, **fields)
    return data


def _stream_fields(position: int) -> dict[str, int]:
    return {
        "session_id": SESSION_ID,
        "stream_id": STREAM_ID,
        "term_id": INITIAL_TERM_ID + position // TERM_LENGTH,
        "term_offset": position % TERM_LENGTH,
    }


@dataclass
class RecordingUnderTest:
    """An archive with one active recording; its clock advances a millisecond with each block and with the stop."""

    archive: Archive
    writer: RecordingWriter
    now_ns: int = NOW_NS

    @classmethod
    def begin(
        cls, folder: Path, *, policy: DurabilityPolicy = DurabilityPolicy.NEVER, **changes: Any
    ) -> RecordingUnderTest:
        """Start a recording in a new or existing archive; `changes` override fields of its descriptor."""
        archive = Archive.create(folder)
        assert isinstance(archive.store, LocalStore)
        described = describe(**({"recording_id": archive.next_recording_id()} | changes))
        writer = RecordingWriter(archive.store, described, Durability(policy), now_ns=NOW_NS)
        return cls(archive, writer)

    @property
    def store(self) -> LocalStore:
        """Store of the archive."""
        assert isinstance(self.archive.store, LocalStore)
        return self.archive.store

    @property
    def recording_id(self) -> int:
        """Id of the recording."""
        return self.writer.descriptor.recording_id

    @property
    def folder(self) -> Path:
        """Directory of the recording."""
        return self.store.folder / str(self.recording_id)

    @property
    def position(self) -> int:
        """Stream position in bytes up to which readers may read."""
        return self.archive.recording(self.recording_id).position

    def append(self, *payloads: bytes) -> None:
        """Append messages of one frame each and flush them."""
        self.append_block(frames_at(self.writer.written_position, payloads, **self._stream))

    def append_block(self, block: bytes) -> None:
        """Append whole frames, with headers, and flush them."""
        self.now_ns += MILLISECOND_NS
        self.writer.append(memoryview(block), self.now_ns)
        self.writer.flush(self.now_ns)

    def fill_term(self, payload_length: int = 1000) -> None:
        """Fill the rest of the term with messages and padding.

        Each message has `payload_length` bytes, at least 8: the position of its frame as a little-endian int64, then
        zeros.
        """
        begin = self.writer.written_position
        step = (wire.DATA_HEADER_LENGTH + payload_length + 31) // 32 * 32
        end = begin - begin % TERM_LENGTH + TERM_LENGTH
        positions = range(begin, end - step + 1, step)
        rest = begin + len(positions) * step
        payloads = [at.to_bytes(8, "little") + bytes(payload_length - 8) for at in positions]
        self.append_block(frames_at(begin, payloads, **self._stream))
        if rest < end:
            self.append_block(padding_at(rest, end - rest, **self._stream))

    @property
    def _stream(self) -> dict[str, int]:
        described = self.writer.descriptor
        return {"session_id": described.session_id, "stream_id": described.stream_id}

    def stop(self, *, is_end_of_stream: bool = True) -> None:
        """Stop the recording after its last whole message; see `RecordingWriter.stop`."""
        self.now_ns += MILLISECOND_NS
        self.writer.stop(self.now_ns, is_end_of_stream=is_end_of_stream)

    def data(self) -> bytes:
        """Return the frames from the start position to `position`."""
        recording = self.archive.recording(self.recording_id)
        return b"".join(data for _, data in recording.read(recording.start_position, recording.position))


class PurgingStore(LocalStore):
    """A local store in which a purge runs before one access: that with the number `due`, counted from 0."""

    def __init__(self, folder: Path, purge: Callable[[LocalStore], object], due: int) -> None:
        super().__init__(folder)
        self.has_purged = False
        self._purge = purge
        self._due = due

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder."""
        self._count()
        return super().names(folder)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, -1 if it does not exist."""
        self._count()
        return super().size(name)

    def version(self, name: str) -> object:
        """Return a value that changes whenever the file is replaced."""
        self._count()
        return super().version(name)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return bytes of a file."""
        self._count()
        return super().read(name, offset, length)

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Read bytes of a file into `target`, and return their number."""
        self._count()
        return super().read_into(name, offset, target)

    def _count(self) -> None:
        self._due -= 1
        if self._due == -1:
            self.has_purged = True
            self._purge(LocalStore(self.folder))


def purging_stores(folder: Path, purge: Callable[[LocalStore], object]) -> Iterator[PurgingStore]:
    """Yield a store of a new copy of an archive for each number of an access, up to the first that is never made.

    Use each for one read. `purge`: gets a store of the copy.
    """
    copy = folder.with_name(f"{folder.name}-copy")
    for due in itertools.count():
        shutil.copytree(folder, copy)
        store = PurgingStore(copy, purge, due)
        yield store
        shutil.rmtree(copy)
        if not store.has_purged:
            return
