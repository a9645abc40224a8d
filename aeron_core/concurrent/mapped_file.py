"""Files that processes share by mapping them: creation, opening, and errors that name the remedy.

Not here: the contents of the files. There is no close: a file is unmapped with the last buffer that refers to it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.mapped import map_fd
from aeron_core.errors import DESCRIPTOR_REMEDIES, ConfigurationError, StorageError
from aeron_core.file_access import PRIVATE, FileAccess

_MEBIBYTE = 1024 * 1024


def create_mapped_file(
    path: Path | str, length: int, *, sparse: bool, populate: bool = False, access: FileAccess = PRIVATE
) -> AtomicBuffer:
    """Create a file of `length` zero bytes that did not exist before, with mode and group of `access`, and map it.

    A sparse file allocates disk space when it is written, and a write that finds no space left kills the
    process (SIGBUS); any other file allocates all of it now. With `populate` all its pages become resident
    now, so that no access has to wait for a page fault. Raises ConfigurationError if `length` is below 1, and
    StorageError if the file exists or cannot be created, allocated or mapped; a file that was created is
    deleted then.
    """
    path = Path(path)
    if length <= 0:
        raise ConfigurationError(f"length={length} for {path}: must be at least 1 byte")
    try:
        # O_EXCL: of two processes that create the same file, one fails instead of sharing it by accident.
        fd = access.open(path, os.O_RDWR | os.O_EXCL)
    except OSError as error:
        raise _storage_error("create", path, error) from error
    try:
        return map_new_file(fd, path, length, sparse=sparse, populate=populate)
    except BaseException:
        # O_EXCL succeeded: this process created the file, so it may delete it.
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def map_new_file(fd: int, path: Path, length: int, *, sparse: bool, populate: bool = False) -> AtomicBuffer:
    """Set the length of the empty file `fd` as `create_mapped_file` does, and map it.

    Raises StorageError if the file cannot be allocated or mapped; the caller deletes it.
    """
    try:
        if sparse:
            os.ftruncate(fd, length)
        else:
            # Fails now if the space is not available, instead of with SIGBUS at a later write.
            os.posix_fallocate(fd, 0, length)
        return map_fd(fd, length, populate=populate)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM):
            raise StorageError(error.errno, _space_error_text(path, length, error)) from error
        raise _storage_error("create", path, error) from error


def open_mapped_file(path: Path | str, *, read_only: bool = False) -> AtomicBuffer:
    """Return the mapping of a whole existing file, writable unless `read_only`.

    Raises StorageError if it does not exist, is not a regular file, or cannot be opened or mapped; `errno` is ENODATA
    for an empty file, such as one that is being created.
    """
    path = Path(path)
    fd, length = _open_regular(path, os.O_RDONLY if read_only else os.O_RDWR)
    try:
        return _mapped(fd, path, length, read_only=read_only)
    finally:
        os.close(fd)


class ObservedFile:
    """A file of another process, mapped read-only, whose length is checked before each batch of reads.

    An access past the end of a file that was truncated kills the process (SIGBUS). `check` reduces the time in which
    that may happen to one batch; it cannot exclude it.
    """

    def __init__(self, path: Path | str) -> None:
        """Map the whole file; raises as `open_mapped_file`."""
        self._fd = -1
        self._path = Path(path)
        # The descriptor stays open: the path may name another file by the time of a check.
        self._fd, self._length = _open_regular(self._path, os.O_RDONLY)
        #: The mapping; it outlives this object.
        self.buffer: Final = _mapped(self._fd, self._path, self._length, read_only=True)

    def check(self) -> None:
        """Raise StorageError if the file is shorter than when it was mapped."""
        length = os.fstat(self._fd).st_size
        if length < self._length:
            raise StorageError(
                errno.EIO,
                f"{self._path} was truncated from {self._length} to {length} bytes by another process: restart the "
                f"media driver that uses it",
            )

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _open_regular(path: Path, mode: int) -> tuple[int, int]:
    """Return a descriptor of an existing regular file that is not empty, and its length in bytes."""
    try:
        # O_NONBLOCK: the path may be a named pipe, which would block until a writer opens it.
        fd = os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _storage_error("open", path, error) from error
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode) and status.st_size > 0:
        return fd, status.st_size
    os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(errno.EINVAL, f"cannot map {path}: not a regular file, choose another path")
    raise StorageError(
        errno.ENODATA,
        f"cannot map {path}: the file is empty, wait until the process that creates it has written it",
    )


def _mapped(fd: int, path: Path, length: int, *, read_only: bool) -> AtomicBuffer:
    try:
        return map_fd(fd, length, read_only=read_only)
    except OSError as error:
        raise _storage_error("map", path, error) from error


def free_space(path: Path | str) -> int:
    """Return the bytes available to this user on the filesystem of `path`; raise OSError if it does not exist."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


_REMEDIES: Final = {
    errno.EEXIST: "delete it if no process uses it",
    errno.ENOENT: "check that its folder exists",
    errno.ENOTDIR: "every part of the path before the last must be a directory",
    errno.EACCES: "run as the owner of that path, or change its permissions",
    errno.EPERM: "run as the owner of that path, or change its permissions",
    errno.EROFS: "choose a path on a writable file system",
    **DESCRIPTOR_REMEDIES,
}


def _storage_error(verb: str, path: Path, error: OSError) -> StorageError:
    text = f"cannot {verb} {path}: {error.strerror or error}"
    if verb == "map":
        return StorageError(error.errno, text)  # the text of `map_fd` contains the remedy
    remedy = _REMEDIES.get(error.errno or 0, "choose another path")
    if verb == "open" and error.errno == errno.ENOENT:
        remedy += ", and that the process that creates the file has started"
    return StorageError(error.errno, f"{text}: {remedy}")


def _space_error_text(path: Path, length: int, error: OSError) -> str:
    """Return a message with the space needed, the space available, and the remedy."""
    status = os.statvfs(path.parent)
    free = status.f_bavail * status.f_frsize
    total = status.f_blocks * status.f_frsize
    message = (
        f"cannot create {path}: {error.strerror or error}; {length} bytes are needed and {free} of {total} "
        "are free on its filesystem: choose shorter buffers, a folder on another filesystem"
    )
    if path.is_relative_to("/dev/shm"):
        size = -(-(total - free + length) // _MEBIBYTE)
        return f"{message}, or enlarge /dev/shm: mount -o remount,size={size}m /dev/shm"
    return f"{message}, or free some space"
