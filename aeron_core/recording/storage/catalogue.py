"""Catalogue: the descriptors of an archive, and the locks that serialise changes to them.

Several processes change a descriptor: a recorder stops a recording while another process purges its beginning.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ArchiveInUseError, RecordingError
from aeron_core.file_locks import close_in_children, try_lock
from aeron_core.recording.storage import names
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import FileStore, LocalStore, make_folder, write_failure

if TYPE_CHECKING:
    from io import FileIO

#: Length of the file that reserves disk space for descriptors. An invented number: a few blocks of any filesystem.
_RESERVE_LENGTH: Final = 64 * 1024
#: Attempts of a starting recorder to take its lock, and seconds between them. Invented numbers: `has_recorder` holds
#: the lock for microseconds, and a user does not notice that a second recorder is refused 0.2 s later.
_ATTEMPTS: Final = 20
_ATTEMPT_INTERVAL_S: Final = 0.01


def read_descriptor(store: FileStore, recording_id: int) -> RecordingDescriptor:
    """Return the descriptor of one recording of the archive in `store`.

    Raises RecordingNotFoundError if there is none, and CorruptRecordingError if it is damaged.
    """
    name = f"{recording_id}/{names.DESCRIPTOR}"
    return RecordingDescriptor.parse(store.read(name), f"{store.uri}/{name}")


def write_descriptor(store: FileStore, descriptor: RecordingDescriptor) -> None:
    """Write the descriptor of a recording, replacing the previous one.

    Raises RecordingError if a local disk fails, OSError if a remote store fails.
    """
    store.write(f"{descriptor.recording_id}/{names.DESCRIPTOR}", descriptor.format())


def keep_reserve(store: FileStore) -> None:
    """Reserve disk space for `write_descriptor_on_full_disk`, if the archive is local and enough is free."""
    if not isinstance(store, LocalStore) or store.size(names.RESERVE) >= _RESERVE_LENGTH:
        return
    try:
        with open(store.folder / names.RESERVE, "wb", opener=store.access.open) as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVE_LENGTH)
    except OSError:
        store.delete(names.RESERVE)


def write_descriptor_on_full_disk(store: FileStore, descriptor: RecordingDescriptor) -> None:
    """Write a descriptor; if that fails, free the reserved disk space and retry.

    For a purge, which frees more space afterwards. Raises RecordingError if the write fails and there is no reserve, or
    if the retry fails.
    """
    try:
        write_descriptor(store, descriptor)
    except RecordingError:
        if store.size(names.RESERVE) < 0:
            raise
        store.delete(names.RESERVE)
        write_descriptor(store, descriptor)


def update_descriptor(store: FileStore, recording_id: int, **changes: object) -> RecordingDescriptor:
    """Set the fields `changes` in the descriptor of one recording, and return the new descriptor.

    Raises the errors of `read_descriptor` and `write_descriptor`. The values are not validated.
    """
    with lock(store):
        descriptor = read_descriptor(store, recording_id).model_copy(update=changes)
        write_descriptor(store, descriptor)
    return descriptor


def has_recorder(store: FileStore) -> bool:
    """Return whether the recorder lock of a local archive is held; False for a remote archive, which has none.

    Raises RecordingError if the file of the lock cannot be opened.
    """
    if not isinstance(store, LocalStore):
        return False
    with _lock_file(store, names.RECORDER_LOCK) as file:
        # Shared: another process that asks at the same time is no recorder. A recorder that starts meanwhile retries.
        return not try_lock(file, shared=True)


@contextmanager
def lock(store: FileStore, name: str = names.ARCHIVE_LOCK) -> Iterator[None]:
    """Hold one of the locks of a local archive until the context exits; a remote archive has none.

    If the lock is held already, waits for it. Raises RecordingError if its file cannot be opened.
    """
    if not isinstance(store, LocalStore):
        yield  # object stores have no locks; only one uploader adds data, that of the locked spool
        return
    with _lock_file(store, name) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def recorder_lock(store: FileStore) -> Iterator[None]:
    """Hold the recorder lock of a local archive until the context exits; a remote archive has none.

    Raises ArchiveInUseError if another recorder holds it, RecordingError if its file cannot be opened.
    """
    if not isinstance(store, LocalStore):
        yield
        return
    with _lock_file(store, names.RECORDER_LOCK) as file:
        for _ in range(_ATTEMPTS):
            if try_lock(file):
                break
            time.sleep(_ATTEMPT_INTERVAL_S)
        else:
            raise ArchiveInUseError(
                f"{store.uri}: another recorder writes into this archive; stop that recorder, or choose another folder"
            )
        yield


@contextmanager
def _lock_file(store: LocalStore, name: str) -> Iterator[FileIO]:
    """Yield the file of a lock, which is created if missing; its lock ends when the context exits."""
    path = store.folder / name
    try:
        make_folder(store.folder, store.access)
        # The opener creates the file if it is missing.
        file = open(path, "r+b", buffering=0, opener=store.access.open)  # noqa: SIM115 - closed below
    except OSError as error:
        raise write_failure("write", path, error) from error
    with file:
        close_in_children(file)
        yield file
