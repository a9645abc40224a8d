"""Target of a recorder: a local archive, or a local spool whose recordings are uploaded to another archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.file_access import PRIVATE, FileAccess
from aeron_core.recording.remote.upload_thread import UploadThread
from aeron_core.recording.remote.uploader import Uploader
from aeron_core.recording.retention.retention import Retention, RetentionPolicy
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.arrow_store import open_store
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.recorder import EpochClock, RecorderParams


@dataclass(frozen=True, slots=True)
class RecordingTarget:
    """The archive and parameters of a recorder."""

    archive: Archive  # on this machine
    params: RecorderParams


@contextmanager
def recording_target(  # noqa: PLR0913 - the options of a recorder
    to: str,
    spool: str | None,
    retention: RetentionPolicy,
    params: RecorderParams,
    *,
    verify: bool = True,
    access: FileAccess = PRIVATE,
) -> Iterator[RecordingTarget]:
    """Yield the archive to record into and its parameters, made from `params`; create missing archives.

    Without `spool` this is the archive `to`, a local folder. With `spool`, a local folder, a thread uploads finished
    segments and stopped recordings to `to`, the rest when the context exits. What could not be uploaded stays in the
    spool for the next recorder, and so do damaged segments with `verify`; `params.on_error` is called for both.
    The thread calls `params.clock` too, or its own copy of an EpochClock.
    `retention` limits `to` in either case; `access` is the mode and group of what is created in local archives. Raises
    ConfigurationError for a remote archive without a spool, a spool that is not local or belongs to another archive, an
    unsupported URI, and a folder with other files; RecordingError if an archive is damaged or the disk fails, OSError
    if a remote store fails.
    """
    if spool is None:
        if not isinstance(open_store(to), LocalStore):
            raise ConfigurationError(
                f"{to}: is no local folder: it needs a spool, a local folder to record into first: set --spool, or "
                "recording.spool"
            )
        yield RecordingTarget(Archive.create(to, access=access), replace(params, retention=retention))
        return
    if not isinstance(open_store(spool), LocalStore):
        raise ConfigurationError(
            f"spool {spool}: must be a local folder, because segments are recorded there before they are uploaded"
        )
    archive = Archive.create(spool, access=access)
    remote = Archive.create(to, archive.uuid, access)
    # A second Archive object, because an Archive is for one thread, and the uploader runs on its own.
    uploader = Uploader(Archive.open(spool), remote, params.on_error, verify=verify)
    # An EpochClock belongs to one thread.
    clock = params.clock.copy() if isinstance(params.clock, EpochClock) else params.clock
    thread = UploadThread(uploader, Retention(remote, retention, params.on_error), clock)
    thread.start()
    try:
        yield RecordingTarget(archive, replace(params, on_segment_finished=thread.wake))
    finally:
        if not thread.close():
            params.on_error(
                RecordingError(f"{spool}: some segments are not in {to} yet; the next recorder tries again")
            )
