"""Opening of an archive to read: a folder, a URI of a file system, or the address of a running Aeron Archive."""

from __future__ import annotations

from pathlib import Path

from aeron_core.archive.reading.address import ArchiveAddress, is_address
from aeron_core.recording.storage.archive import Archive


def open_archive(where: str | Path, *, is_patient: bool = False) -> Archive:
    """Return the archive at a path, URI or address.

    `is_patient`: whether to wait up to `reconnect-timeout` for a running archive that another process has reached.
    Raises the errors of `Archive.open`, and ConfigurationError for a wrong address. The first request to a running
    archive opens a session with it.
    """
    if not is_address(where):
        return Archive.open(where)
    from aeron_core.archive.reading.contents import RemoteContents  # noqa: PLC0415 - imports a client

    contents = RemoteContents(ArchiveAddress.parse(str(where)), is_patient=is_patient)
    return Archive(contents.store, contents)
