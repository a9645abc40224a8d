"""Segment files of one recording: their names and lengths, and a writer for the blocks of a log buffer.

Not here: which of them a request changes (segment_requests). A file has its full length from the beginning, with a hole
before the first frame and after the last; of padding only the header is written. A file that is being deleted may have
`.del` after its name. Source: RecordingWriter.java, ArchiveConductor.java.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core._native import positions, wire
from aeron_core.errors import ArchiveErrorCode, ArchiveRefusedError, RecordingError
from aeron_core.file_access import FileAccess
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import sync_folder, write_failure

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued

DELETED_SUFFIX: Final = ".del"
# O_NONBLOCK: opening a named pipe would wait until another process opens it.
_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: Bytes of one search for the first frame of a file.
_SEARCH_LENGTH: Final = 1024 * 1024
#: Frame length, type, term offset, session, stream and term id of a data frame. Source: wire.DATA_…_OFFSET.
_FRAME: Final = struct.Struct("<iBBHiiii")


class SegmentFiles:
    """The files of a recording as its entry describes them; one thread uses it."""

    def __init__(self, folder: Path, recording: Catalogued) -> None:
        self.folder = folder
        self.recording = recording

    def base_of(self, position: int) -> int:
        """Return the position of the first byte of the file that holds `position`."""
        recording = self.recording
        return names.segment_base_position(
            recording.start_position, position, recording.term_length, recording.segment_length
        )

    def path(self, base: int) -> Path:
        """Return the path of the file that begins at `base`, whether it exists or not."""
        return self.folder / names.segment_file(self.recording.recording_id, base)

    def all_paths(self) -> list[Path]:
        """Return the files of the recording, with those before its start and those being deleted."""
        prefix = f"{self.recording.recording_id}-"
        found = [self.folder / name for name in os.listdir(self.folder) if name.startswith(prefix)]
        return [path for path in found if base_in(path.name) is not None]

    def open(self, base: int, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of the file that begins at `base`; raise RecordingError if it cannot be opened."""
        return self._open_path(self.path(base), flags)

    def _open_path(self, path: Path, flags: int) -> int:
        try:
            if flags & os.O_CREAT:
                fd = FileAccess.like(self.folder).open(path, flags | _FLAGS)
            else:
                fd = os.open(path, flags | _FLAGS)
        except OSError as error:
            raise write_failure("open", path, error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise RecordingError(
                f"cannot open {path}: must be a regular file, not a pipe or device: remove it"
            )
        return fd

    def has_frame_at(self, position: int) -> bool:
        """Return whether a frame of the stream begins at `position`; raise RecordingError if it cannot be read."""
        base = self.base_of(position)
        fd = self.open(base)
        try:
            header = os.pread(fd, wire.DATA_HEADER_LENGTH, position - base)
        finally:
            os.close(fd)
        return len(header) == wire.DATA_HEADER_LENGTH and self._is_frame(header, position)

    def first_frame_of(self, base: int) -> int:
        """Return the position of the first frame of a file; raise ArchiveRefusedError if its first term has none."""
        recording, path = self.recording, self.path(base)
        fd = self.open(base)
        try:
            for begin in range(0, recording.term_length, _SEARCH_LENGTH):
                data = os.pread(fd, min(_SEARCH_LENGTH, recording.term_length - begin), begin)
                for at in range(0, len(data) - wire.DATA_HEADER_LENGTH + 1, wire.FRAME_ALIGNMENT):
                    if data[at : at + 4] == bytes(4):
                        continue
                    if self._is_frame(data[at : at + wire.DATA_HEADER_LENGTH], base + begin + at):
                        return base + begin + at
                    raise refused(f"{path}: the frame at offset {begin + at} is not of this recording")
        finally:
            os.close(fd)
        raise refused(f"{path}: has no frame in its first term")

    def erase_after(self, position: int) -> None:
        """Make the rest of the file that holds `position` a hole; does nothing if there is no such file."""
        base = self.base_of(position)
        path = self.path(base)
        if not path.exists():
            return
        fd = self.open(base, os.O_RDWR)
        try:
            os.ftruncate(fd, position - base)
            os.ftruncate(fd, self.recording.segment_length)
        except OSError as error:
            raise write_failure("truncate", path, error) from error
        finally:
            os.close(fd)

    def sync(self) -> None:
        """Flush the files and the folder to disk; raises RecordingError if that fails."""
        for path in self.all_paths():
            fd = self._open_path(path, os.O_RDONLY)
            try:
                os.fsync(fd)
            except OSError as error:
                raise write_failure("flush", path, error) from error
            finally:
                os.close(fd)
        sync_folder(self.folder)

    def _is_frame(self, header: bytes, position: int) -> bool:
        recording = self.recording
        length, _, _, _, term_offset, _, stream_id, term_id = _FRAME.unpack_from(header)
        bits = positions.position_bits_to_shift(recording.term_length)
        return bool(
            length > 0
            and term_offset == position % recording.term_length
            and stream_id == recording.stream_id
            and term_id == positions.compute_term_id(position, bits, recording.initial_term_id)
        )


class BlockWriter:
    """Writes the blocks of one image from `position` on; one thread uses it.

    Constructor and methods raise RecordingError if the disk fails, or a file of a later segment exists.
    """

    def __init__(self, files: SegmentFiles, position: int, *, sync: bool = False) -> None:
        self.position = position
        self._files = files
        self._sync = sync
        self._base = files.base_of(position)
        self._fd = self._open()

    def on_block(self, block: memoryview, _session_id: int, _term_id: int) -> None:
        """Write a block of whole frames, or one frame of padding; it follows the position."""
        self.write(block, len(block))

    def write(self, block: memoryview, length: int) -> None:
        """Write a block of `length` bytes of one term; of padding, the body may be missing."""
        if (
            int.from_bytes(block[wire.FRAME_TYPE_OFFSET : wire.FRAME_TYPE_OFFSET + 2], "little")
            == wire.TYPE_PAD
        ):
            block = block[: wire.DATA_HEADER_LENGTH]
        offset, path = self.position - self._base, self._files.path(self._base)
        try:
            written = 0
            while written < len(block):
                written += os.pwrite(self._fd, block[written:], offset + written)
            if self._sync:
                os.fdatasync(self._fd)
        except OSError as error:
            raise write_failure("write", path, error) from error
        self.position += length
        if self.position - self._base >= self._files.recording.segment_length:
            self._roll_over()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _roll_over(self) -> None:
        self.close()
        self._base += self._files.recording.segment_length
        path = self._files.path(self._base)
        if path.exists():
            raise RecordingError(f"{path}: exists already; move the file away, then extend the recording")
        self._fd = self._open()

    def _open(self) -> int:
        fd = self._files.open(self._base, os.O_RDWR | os.O_CREAT)
        try:
            os.ftruncate(fd, self._files.recording.segment_length)
            if self._sync:
                sync_folder(self._files.folder)
        except OSError as error:
            os.close(fd)
            raise write_failure("resize", self._files.path(self._base), error) from error
        except RecordingError:
            os.close(fd)
            raise
        return fd


def base_in(name: str) -> int | None:
    """Return the base position in the name of a segment file, which may end with `.del`; None for another name."""
    return names.parse_segment_file(name.removesuffix(DELETED_SUFFIX))


def refused(text: str, code: ArchiveErrorCode = ArchiveErrorCode.GENERIC) -> ArchiveRefusedError:
    """Return the error for a request that is not carried out; the client receives `text` and `code`."""
    return ArchiveRefusedError(text, code, 0)
