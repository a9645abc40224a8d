"""How far a recording is that is being written, in a page that the recorder and all readers map.

Invariant: the position in it is stored, with release, only after everything before it is as durable as the
recorder promises; whoever loads it, with acquire, can read the files up to there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import create_mapped_file, open_mapped_file
from aeron_core.errors import CorruptRecordingError, StorageError

LENGTH: Final = 4096
_MAGIC: Final = 0x4B52_414D  # "MARK"
_VERSION: Final = 1
_MAGIC_OFFSET: Final = 0
_VERSION_OFFSET: Final = 4
_PID_OFFSET: Final = 8
_POSITION_OFFSET: Final = 64  # each on a cache line of its own
_HEARTBEAT_OFFSET: Final = 128
_BOOT_ID_OFFSET: Final = 192
_BOOT_ID_LENGTH: Final = 36


class RecordingMark:
    """The mark of one recording; one recorder writes it, any process may read it."""

    def __init__(self, buffer: AtomicBuffer) -> None:
        if (
            buffer.capacity < LENGTH
            or buffer.get_i32_acquire(_MAGIC_OFFSET) != _MAGIC
            or buffer.get_i32(_VERSION_OFFSET) != _VERSION
        ):
            raise CorruptRecordingError(
                f"mark of a recording: must be {LENGTH} bytes that begin with MARK and version {_VERSION}"
            )
        self._buffer = buffer

    @classmethod
    def create(cls, path: Path, position: int, *, pid: int, now_ms: int) -> RecordingMark:
        """Make the file anew, for a recorder that begins at `position`."""
        # Beside the one that a dead recorder left, and then in its place: readers always find one that is whole.
        # Those that have mapped the old page keep it, and look again.
        unfinished = path.with_name(f"{path.name}.new")
        unfinished.unlink(missing_ok=True)
        buffer = create_mapped_file(unfinished, LENGTH, sparse=False)
        buffer.put_i32(_VERSION_OFFSET, _VERSION)
        buffer.put_i32(_PID_OFFSET, pid)
        buffer.put_bytes(_BOOT_ID_OFFSET, boot_id().encode("ascii")[:_BOOT_ID_LENGTH])
        buffer.put_i64(_POSITION_OFFSET, position)
        buffer.put_i64(_HEARTBEAT_OFFSET, now_ms)
        # Release: who sees the magic number sees all of the above.
        buffer.put_i32_release(_MAGIC_OFFSET, _MAGIC)
        try:
            unfinished.replace(path)
        except OSError as error:
            raise StorageError(error.errno, f"cannot put {path} in its place: {error.strerror}") from error
        return cls(buffer)

    @classmethod
    def open(cls, path: Path) -> RecordingMark | None:
        """Return the mark that a recorder keeps or has left, None where there is none yet."""
        try:
            return cls(open_mapped_file(path, read_only=True))
        except StorageError:
            return None

    @property
    def position(self) -> int:
        """How far the recording is."""
        return self._buffer.get_i64_acquire(_POSITION_OFFSET)

    def move(self, position: int) -> None:
        """Tell readers that they can read up to `position`."""
        self._buffer.put_i64_release(_POSITION_OFFSET, position)

    @property
    def heartbeat_ms(self) -> int:
        """When the recorder last said that it is alive, in milliseconds since the epoch."""
        return self._buffer.get_i64_acquire(_HEARTBEAT_OFFSET)

    def beat(self, now_ms: int) -> None:
        """Say that the recorder is alive."""
        self._buffer.put_i64_release(_HEARTBEAT_OFFSET, now_ms)

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the machine has been up since the mark was made: what was written then is still there."""
        return self._buffer.get_bytes(_BOOT_ID_OFFSET, _BOOT_ID_LENGTH) == boot_id().encode("ascii")


def boot_id() -> str:
    """Return what Linux calls this time of being up."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
