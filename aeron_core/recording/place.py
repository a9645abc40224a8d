"""Where a recorder records to: a folder that is the archive, or a spool on the way to an archive elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording.remote.upload_thread import UploadThread
from aeron_core.recording.remote.uploader import Uploader
from aeron_core.recording.retention.retention import Retention, RetentionPolicy
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.arrow_store import open_store
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.recorder import RecorderParams


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """What a recorder is made with."""

    archive: Archive  # on this machine
    params: RecorderParams


@contextmanager
def recording_place(
    to: str, spool: str | None, retention: RetentionPolicy, params: RecorderParams
) -> Iterator[RecordingPlace]:
    """Make the archives that are not there, and with a spool upload from it until the end.

    Raises ConfigurationError for an archive elsewhere without a spool, or of another one. What could not be uploaded
    by the end is told to `params.on_error`, and stays in the spool for the next time.
    """
    if spool is None:
        if not isinstance(open_store(to), LocalStore):
            raise ConfigurationError(f"{to}: needs a spool, a folder of this machine to record into first")
        yield RecordingPlace(Archive.create(to), replace(params, retention=retention))
        return
    archive = Archive.create(spool)
    remote = Archive.create(to, archive.uuid)
    # Of its own, as its thread is.
    uploader = Uploader(Archive.open(spool), remote, params.on_error)
    thread = UploadThread(uploader, Retention(remote, retention, params.on_error), params.clock)
    thread.start()
    try:
        yield RecordingPlace(archive, replace(params, on_segment_finished=thread.wake))
    finally:
        if not thread.close():
            params.on_error(
                RecordingError(f"{spool}: not all is in {to} yet; the next recorder uploads the rest")
            )
