"""Folders and files of this user alone, at paths that others may know.

Another user may have created such a path first, as a folder of theirs or as a link. So every private folder is opened
without following links, and checked by its descriptor before it is used.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from aeron_core.errors import RecordingError
from aeron_core.file_access import FileAccess

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OF_OTHERS: Final = 0o077
_WRITABLE_BY_OTHERS: Final = 0o022


def create_private_file(folder: Path, name: str, private_parts: int) -> int:
    """Create and open a file that only this user can read; return its descriptor.

    Creates missing folders, for this user alone; the last `private_parts` (at least 1) of the path must belong to this
    user, and become accessible to this user only. Raises OSError, and RecordingError for a folder of another user.
    """
    base = folder.parents[private_parts - 1]
    fd = _open_base(base)
    try:
        for part in folder.parts[-private_parts:]:
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=fd)
            inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
            base /= part
            _check_folder(fd, base)
        return os.open(name, _NEW_FILE, 0o600, dir_fd=fd)
    finally:
        os.close(fd)


def open_private_file(path: Path) -> int:
    """Open a file that only this user could write, in a private folder, to read it; return its descriptor.

    Raises OSError, and RecordingError if another user could have replaced or changed it.
    """
    folder = os.open(path.parent, _FOLDER)
    try:
        _check_folder(folder, path.parent)
        fd = os.open(path.name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not _is_private(status):
        os.close(fd)
        raise RecordingError(
            f"{path}: mode {status.st_mode:o}, of user {status.st_uid}: must be a regular file of user "
            f"{os.geteuid()}, writable by no other; restart the query, or run the job again, to write it again"
        )
    return fd


def _open_base(path: Path) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        FileAccess().make_folders(path)
        return os.open(path, flags)


def _check_folder(fd: int, path: Path) -> None:
    status = os.fstat(fd)
    if status.st_uid != os.geteuid():
        raise RecordingError(
            f"{path}: belongs to user {status.st_uid}: must belong to user {os.geteuid()}; delete it, or set another "
            "folder with option staging"
        )
    # The folder may be accessible to others, as the umask permitted when it was created. What they have left there does
    # no harm: names of files are random, each is created anew, and the commit compares its content.
    if status.st_mode & _OF_OTHERS:
        os.fchmod(fd, 0o700)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS
