"""Mark file of an archive that this process serves: keeps other archives out of the folder, and names the driver.

Not here: reading the mark of another process (`foreign.mark_file`). An archive writes the time every second; another
one takes the folder over when that is 10 s old, or at once if it was closed.

Source: ArchiveMarkFile.java, MarkFile.java.
"""

from __future__ import annotations

import os
import struct
from io import FileIO
from pathlib import Path
from typing import Final

from aeron_core.archive.server.files.catalog import FILE_VERSION
from aeron_core.errors import ArchiveInUseError, ConfigurationError, RecordingError
from aeron_core.file_access import FileAccess
from aeron_core.file_locks import close_in_children, try_lock
from aeron_core.frozen import frozen
from aeron_core.recording.storage.file_store import LocalStore, write_failure
from aeron_core.recording.storage.foreign.mark_file import read_mark
from aeron_core.recording.storage.foreign.recorded_positions import LIVENESS_TIMEOUT_MS

MARK_FILE: Final = "archive-mark.dat"
#: Source: ArchiveMarkFile.HEADER_LENGTH, Archive.Configuration.ERROR_BUFFER_LENGTH_DEFAULT.
_HEADER_LENGTH: Final = 8192
_ERROR_BUFFER_LENGTH: Final = 1024 * 1024
#: Interval of the time. Source: Archive.Configuration.MARK_FILE_UPDATE_INTERVAL_MS.
_UPDATE_INTERVAL_MS: Final = 1000
_MESSAGE_HEADER: Final = struct.pack("<HHHH", 128, 200, 100, 2)
_FIELDS: Final = struct.Struct("<i4xqqqiiiii4xq64x")
_TIME_OFFSET: Final = 16
_INT64: Final = struct.Struct("<q")
_CLOSED: Final = -1


@frozen(slots=True)
class MarkContents:
    """What the mark file of an archive contains besides times."""

    archive_id: int
    control_stream_id: int
    local_control_stream_id: int
    events_stream_id: int
    control_channel: str
    local_control_channel: str
    events_channel: str
    aeron_dir: str


class RunningMark:
    """The mark file of this process; one thread uses it.

    The constructor raises ArchiveInUseError if another archive runs in the folder, RecordingError if the file cannot be
    written, ConfigurationError for channels that are too long.
    """

    def __init__(self, folder: Path, contents: MarkContents, now_ms: int) -> None:
        path = folder / MARK_FILE
        data = _MESSAGE_HEADER + _encoded(contents, now_ms)
        if len(data) > _HEADER_LENGTH:
            raise ConfigurationError(
                f"channels and directory need {len(data)} bytes of {path}: must be at most {_HEADER_LENGTH}"
            )
        check_is_free(folder, now_ms)
        try:
            self._file = FileIO(FileAccess.like(folder).open(path, os.O_RDWR | os.O_NOFOLLOW), "r+")
            if not try_lock(self._file):
                self._file.close()
                raise ArchiveInUseError(f"{folder}: another archive is starting there; choose another folder")
            close_in_children(self._file)
            os.ftruncate(self._file.fileno(), _HEADER_LENGTH + _ERROR_BUFFER_LENGTH)
            os.pwrite(self._file.fileno(), data, 0)
        except OSError as error:
            raise write_failure("write", path, error) from error
        self._update_ms = now_ms

    def do_work(self, now_ms: int) -> None:
        """Store the time if that is due."""
        if now_ms >= self._update_ms + _UPDATE_INTERVAL_MS:
            self._update_ms = now_ms
            os.pwrite(self._file.fileno(), _INT64.pack(now_ms), _TIME_OFFSET)

    def close(self) -> None:
        """Let another archive use the folder at once."""
        if not self._file.closed:
            os.pwrite(self._file.fileno(), _INT64.pack(_CLOSED), _TIME_OFFSET)
            self._file.close()


def check_is_free(folder: Path, now_ms: int) -> None:
    """Raise ArchiveInUseError if an archive runs in the folder, RecordingError if its mark is in another folder."""
    if (folder / "archive-mark.lnk").exists():
        raise RecordingError(
            f"{folder}: its mark file is in another folder, which archive-mark.lnk names; move the file back and "
            "delete the link"
        )
    mark = read_mark(LocalStore(folder))
    if mark is not None and now_ms - mark.activity_ms < LIVENESS_TIMEOUT_MS:
        raise ArchiveInUseError(
            f"{folder}: another archive runs there, or ran there less than {LIVENESS_TIMEOUT_MS // 1000} s ago: stop "
            "it, or choose another folder"
        )


def _encoded(contents: MarkContents, now_ms: int) -> bytes:
    fields = _FIELDS.pack(
        FILE_VERSION,
        now_ms,
        now_ms,
        os.getpid(),
        contents.control_stream_id,
        contents.local_control_stream_id,
        contents.events_stream_id,
        _HEADER_LENGTH,
        _ERROR_BUFFER_LENGTH,
        contents.archive_id,
    )
    texts = [
        text.encode("ascii", "backslashreplace")
        for text in (
            contents.control_channel,
            contents.local_control_channel,
            contents.events_channel,
            contents.aeron_dir,
        )
    ]
    return fields + b"".join(struct.pack("<I", len(text)) + text for text in texts)
