"""Opening of an archive to read: a folder, a URI of a file system, or the address of a running Aeron Archive."""

from __future__ import annotations

from pathlib import Path

from aeron_core.archive.reading.address import ArchiveAddress, is_address
from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.archive import Archive, FrameChecksum


def open_archive(
    where: str | Path, *, is_patient: bool = False, checksum: FrameChecksum | None = None
) -> Archive:
    """Return the archive at a path, URI or address.

    `is_patient`: whether to wait up to `reconnect-timeout` for a running archive that another process has reached.
    `checksum`: see `Archive.open`. Raises its errors, and ConfigurationError for a wrong address, or one with a
    checksum. The first request to a running archive opens a session with it.
    """
    if not is_address(where):
        return Archive.open(where, checksum=checksum)
    if checksum is not None:
        raise ConfigurationError(
            f"checksum={checksum} for {where}: must be given only for a folder: a running archive compares what it "
            "replays, if it was started with aeron.archive.replay.checksum or --replay-checksum; omit it"
        )
    from aeron_core.archive.reading.contents import RemoteContents  # noqa: PLC0415 - imports a client

    contents = RemoteContents(ArchiveAddress.parse(str(where)), is_patient=is_patient)
    return Archive(contents.store, contents)
