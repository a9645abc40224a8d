"""Mark: the current position of a live recording, in a page that the recorder and all readers map.

Invariant: the position is stored, with release, only after everything before it is as durable as the recorder's
durability policy requires; a reader that loads it, with acquire, can read the files up to there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import create_mapped_file, open_mapped_file
from aeron_core.errors import CorruptRecordingError, StorageError
from aeron_core.file_access import FileAccess

LENGTH: Final = 4096
_MAGIC: Final = 0x4B52_414D  # "MARK"
_VERSION: Final = 1
_MAGIC_OFFSET: Final = 0
_VERSION_OFFSET: Final = 4
_PID_OFFSET: Final = 8
_IS_FLUSHED_OFFSET: Final = 12
_POSITION_OFFSET: Final = 64  # each on its own cache line
_HEARTBEAT_OFFSET: Final = 128
_BOOT_ID_OFFSET: Final = 192
_BOOT_ID_LENGTH: Final = 36


class RecordingMark:
    """The mark of one recording; one recorder writes it, any process may read it.

    The constructor raises CorruptRecordingError if the buffer is not a mark of this version.
    """

    def __init__(self, buffer: AtomicBuffer, path: Path) -> None:
        if (
            buffer.capacity < LENGTH
            or buffer.get_i32_acquire(_MAGIC_OFFSET) != _MAGIC
            or buffer.get_i32(_VERSION_OFFSET) != _VERSION
        ):
            raise CorruptRecordingError(
                f"{path}: {buffer.capacity} bytes that begin with {buffer.get_bytes(0, min(buffer.capacity, 8))!r}: "
                f"must be at least {LENGTH} bytes that begin with MARK and version {_VERSION}; delete it while no "
                "recorder is running: the next one finds the end of the recording without it"
            )
        self._buffer = buffer

    @classmethod
    def create(
        cls, path: Path, position: int, *, pid: int, now_ms: int, is_flushed: bool = False
    ) -> RecordingMark:
        """Create the file for a recorder that begins at `position`; raise StorageError if it cannot be written.

        `is_flushed`: whether the recorder flushes data to disk before it moves the mark past it. `now_ms`: time of the
        first heartbeat, since the epoch.
        """
        # Create a new file and rename it over that of an earlier recorder: readers always find a complete mark.
        # Readers that mapped the old page keep it until they reopen the mark.
        unfinished = path.with_name(f"{path.name}.new")
        with suppress(OSError):  # the next line then raises an error with the file and a remedy
            unfinished.unlink(missing_ok=True)
        buffer = create_mapped_file(unfinished, LENGTH, sparse=False, access=FileAccess.like(path.parent))
        buffer.put_i32(_VERSION_OFFSET, _VERSION)
        buffer.put_i32(_PID_OFFSET, pid)
        buffer.put_i32(_IS_FLUSHED_OFFSET, int(is_flushed))
        buffer.put_bytes(_BOOT_ID_OFFSET, boot_id().encode("ascii")[:_BOOT_ID_LENGTH])
        buffer.put_i64(_POSITION_OFFSET, position)
        buffer.put_i64(_HEARTBEAT_OFFSET, now_ms)
        # Release, paired with the acquire in the constructor: a reader that sees the magic number sees all fields
        # above.
        buffer.put_i32_release(_MAGIC_OFFSET, _MAGIC)
        try:
            unfinished.replace(path)
        except OSError as error:
            raise StorageError(
                error.errno,
                f"cannot replace {path}: {error.strerror}; delete it, or let user {os.geteuid()} replace it",
            ) from error
        return cls(buffer, path)

    @classmethod
    def open(cls, path: Path) -> RecordingMark | None:
        """Return the mark of the current or last recorder, None if the file is missing, empty or cannot be opened.

        Raises CorruptRecordingError if the file is not a mark of this version.
        """
        try:
            return cls(open_mapped_file(path, read_only=True), path)
        except StorageError:
            return None

    @property
    def position(self) -> int:
        """The position up to which readers may read."""
        return self._buffer.get_i64_acquire(_POSITION_OFFSET)

    def move(self, position: int) -> None:
        """Let readers read up to `position`."""
        self._buffer.put_i64_release(_POSITION_OFFSET, position)

    @property
    def heartbeat_ms(self) -> int:
        """Time of the recorder's last heartbeat, in milliseconds since the epoch."""
        return self._buffer.get_i64_acquire(_HEARTBEAT_OFFSET)

    def beat(self, now_ms: int) -> None:
        """Store the time of a heartbeat, in milliseconds since the epoch."""
        self._buffer.put_i64_release(_HEARTBEAT_OFFSET, now_ms)

    @property
    def is_flushed(self) -> bool:
        """Whether the recorder flushes data before it moves the mark, so that the data survives a machine crash."""
        return self._buffer.get_i32(_IS_FLUSHED_OFFSET) != 0

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the mark was created since the last boot: then unflushed data is still in the page cache."""
        return self._buffer.get_bytes(_BOOT_ID_OFFSET, _BOOT_ID_LENGTH) == boot_id().encode("ascii")


def boot_id() -> str:
    """Return the id that Linux generates at each boot, 36 characters."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
