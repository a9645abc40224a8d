"""File stores: the interface to the files of an archive, and the store for local folders.

Not here: file formats (the other modules of this package), remote stores (arrow_store). Names are relative,
with `/` between their parts.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from abc import ABC, abstractmethod
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

from aeron_core.errors import DESCRIPTOR_REMEDIES, RecordingError, RecordingNotFoundError
from aeron_core.file_access import PRIVATE, FileAccess
from aeron_core.recording.storage import names

_NOT_FOUND: Final = (FileNotFoundError, NotADirectoryError)
_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class FileStore(ABC):
    """Files by name; any thread may use it.

    `read` and `read_into` raise RecordingNotFoundError for a missing file. Faults of a local disk raise RecordingError,
    except those of `upload`; they and the faults of a remote store are OSErrors.
    """

    uri: str

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names in a folder; an empty list if it does not exist."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return the size of a file in bytes, -1 if it does not exist."""

    @abstractmethod
    def version(self, name: str) -> object:
        """Return a value that changes whenever the file is replaced, None if it does not exist."""

    @abstractmethod
    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer at the end of the file; -1: all up to the end.

        Raises RecordingNotFoundError if the file does not exist.
        """

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Read from `offset` on into `target` until it is full or the file ends; return the number of bytes.

        Raises RecordingNotFoundError if the file does not exist.
        """
        data = self.read(name, offset, len(target))
        target[: len(data)] = data
        return len(data)

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write or replace a whole file, atomically if the store can: then readers never see a part of it."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file; a missing file is no error."""

    @abstractmethod
    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its content."""

    @abstractmethod
    def upload(self, path: Path, name: str) -> None:
        """Copy a local file to `name`, replacing an existing file."""

    def local_path(self, name: str) -> Path | None:
        """Return the local path of a file, None if the store is remote."""
        return None


class LocalStore(FileStore):
    """Store of the files below a local folder; raises the errors of `FileStore`."""

    def __init__(self, folder: Path, access: FileAccess | None = None) -> None:
        """`access`: mode and group of new files; None: those of `archive.json`, private ones if it is missing.

        In a folder inside, such as that of a recording, new files have the mode and group of that folder.
        """
        self.folder = folder
        self.uri = str(folder)
        self._access = access

    @property
    def access(self) -> FileAccess:
        """Mode and group of new files and folders of the store."""
        if self._access is None:
            with suppress(OSError):
                return FileAccess.like(self.folder / names.ARCHIVE)
        return self._access or PRIVATE

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names in a folder; an empty list if it does not exist."""
        try:
            return sorted(os.listdir(self.folder / folder))
        except _NOT_FOUND:
            return []
        except OSError as error:
            raise _read_failure(self.folder / folder, error) from error

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, -1 if it does not exist."""
        status = self._status(name)
        return -1 if status is None else status.st_size

    def version(self, name: str) -> object:
        """Return the pair of the file's inode and modification time in ns, None if it does not exist.

        For files that `write` replaces: segments, indexes and marks are modified in place.
        """
        status = self._status(name)
        return None if status is None else (status.st_ino, status.st_mtime_ns)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer at the end of the file; -1: all up to the end.

        Raises RecordingNotFoundError if the file does not exist, RecordingError if it cannot be read.
        """
        try:
            with open_regular_file(f"{self.uri}/{name}") as file:
                if length >= 0:
                    return _read_fully(file.fileno(), offset, length)
                file.seek(offset)
                return file.read()
        except _NOT_FOUND:
            raise missing(self.folder / name) from None
        except OSError as error:
            raise _read_failure(self.folder / name, error) from error

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Read from `offset` on into `target` until it is full or the file ends; return the number of bytes.

        Raises RecordingNotFoundError if the file does not exist, RecordingError if it cannot be read.
        """
        try:
            with open_regular_file(f"{self.uri}/{name}") as file:
                filled = 0
                while filled < len(target):
                    read = os.preadv(file.fileno(), [target[filled:]], offset + filled)
                    if read == 0:
                        break
                    filled += read
                return filled
        except _NOT_FOUND:
            raise missing(self.folder / name) from None
        except OSError as error:
            raise _read_failure(self.folder / name, error) from error

    def write(self, name: str, data: bytes) -> None:
        """Write or replace a whole file atomically, so that readers never see a part of it, and flush it to disk.

        Raises RecordingError if that fails.
        """
        path = self.folder / name
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            make_folder(path.parent, self.access)
            with self._new_file(draft) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            with suppress(OSError):  # as on a filesystem that is read-only since an error
                draft.unlink(missing_ok=True)
            raise write_failure("write", path, error) from error
        sync_folder(path.parent)

    def delete(self, name: str) -> None:
        """Delete a file; a missing file is no error. Raises RecordingError if it cannot be deleted."""
        path = self.folder / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise write_failure("delete", path, error) from error

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its content; ignore errors, and leave what cannot be deleted."""
        shutil.rmtree(self.folder / folder, ignore_errors=True)

    def upload(self, path: Path, name: str) -> None:
        """Copy a local file to `name`, replacing an existing file, and flush it to disk.

        Raises OSError if that fails, RecordingError if only the flush of a folder fails.
        """
        target = self.folder / name
        make_folder(target.parent, self.access)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with path.open("rb") as source, self._new_file(draft) as copy:
                shutil.copyfileobj(source, copy)
                copy.flush()
                # The uploader may delete the original afterwards: the copy must survive a crash of the machine.
                os.fsync(copy.fileno())
            draft.replace(target)
        except OSError:
            with suppress(OSError):  # a part of a copy would take space of a disk that is full
                draft.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)

    def local_path(self, name: str) -> Path | None:
        """Return the path of a file, whether it exists or not."""
        return self.folder / name

    def _new_file(self, path: Path) -> BinaryIO:
        """Create a file, replacing one of this name, and open it for writing; raises OSError if that fails."""
        path.unlink(missing_ok=True)
        access = self.access if path.parent == self.folder else FileAccess.like(path.parent)
        # Exclusive: the open fails if another user of the folder has meanwhile put a link there.
        return open(path, "xb", opener=access.open)

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return (self.folder / name).stat()
        except _NOT_FOUND:
            return None
        except OSError as error:
            raise _read_failure(self.folder / name, error) from error


def open_regular_file(path: str) -> FileIO:
    """Open a regular file for reading; raises OSError if that fails, or the path is that of a pipe or a device.

    Another user of the folder may have put a pipe there, whose reader would wait, or a device without an end.
    """
    file = open(path, "rb", buffering=0, opener=_open_without_waiting)  # noqa: SIM115 - for the caller
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def write_failure(verb: str, path: Path, error: OSError) -> RecordingError:
    """Return an exception with the file, the cause and a remedy; `verb`: what failed, such as `write`."""
    failure = f"cannot {verb} {path}: {error.strerror or error}"
    if error.errno in _NOT_ALLOWED:
        return RecordingError(f"{failure}; let user {os.geteuid()} write there, or choose another folder")
    if error.errno not in _DISK_FULL:
        remedy = DESCRIPTOR_REMEDIES.get(error.errno or 0, "remove the cause, or choose another folder")
        return RecordingError(f"{failure}; {remedy}")
    existing = next(parent for parent in path.parents if parent.exists())
    status = os.statvfs(existing)
    free = status.f_bavail * status.f_frsize
    return RecordingError(
        f"{failure}; {free} bytes are free on its filesystem: free disk space, or purge recordings"
    )


def make_folder(folder: Path, access: FileAccess) -> None:
    """Create a local folder and its missing parents, with mode and group of `access`, and flush them to disk.

    Raises OSError if a folder cannot be created, RecordingError if the flush fails.
    """
    if folder.is_dir():
        return
    if folder.exists():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    make_folder(folder.parent, access)
    access.make_folders(folder)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of a local folder to disk; raises RecordingError if that fails."""
    fd = -1
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(fd)
    except OSError as error:
        raise write_failure("flush", folder, error) from error
    finally:
        if fd >= 0:
            os.close(fd)


def _read_fully(fd: int, offset: int, length: int) -> bytes:
    """Return `length` bytes, fewer only at the end of the file; one system call returns at most 2 GiB."""
    data = os.pread(fd, length, offset)
    while len(data) < length:
        more = os.pread(fd, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def missing(path: Path | str) -> RecordingNotFoundError:
    """Return the exception for a missing file."""
    return RecordingNotFoundError(
        f"{path}: there is no such file; check the path of the archive, or restore a copy"
    )


def _read_failure(path: Path, error: OSError) -> RecordingError:
    if error.errno in _NOT_ALLOWED:
        remedy = f"let user {os.geteuid()} read it"
    else:
        remedy = DESCRIPTOR_REMEDIES.get(error.errno or 0, "remove the cause, or restore a copy of it")
    return RecordingError(f"cannot read {path}: {error.strerror or error}; {remedy}")
