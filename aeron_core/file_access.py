"""Modes and groups of new files and folders: other users have no access unless a setting gives it to them.

Not here: the settings (`dir_mode`, `dir_group`), and the table of all files, which is in docs/explanation/security.md.
Invariant: a file is created with mode 0600 and a folder with 0700, and gets further permissions afterwards. So no other
user can open it in between, and the umask of the process has no effect.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen

_OWNER_FILE: Final = 0o600
_OWNER_FOLDER: Final = 0o700
#: With a group, its members have the same access as the owner, unless `dir_mode` is set.
_GROUP_FOLDER: Final = 0o770
_OF_GROUP: Final = 0o070
#: Read and write permissions of others than the owner.
_SHARED: Final = 0o066
_READABLE: Final = 0o044


@frozen()
class FileAccess:
    """Mode and group of what one driver or recorder creates."""

    #: Permission bits of folders; files have the same ones without execution.
    folder_mode: int = _OWNER_FOLDER
    #: Id of the group; None: the kernel chooses, usually the primary group of the process.
    group_id: int | None = None
    #: Without it, a group that this process cannot give to a file leaves the file without permissions for its group.
    is_group_required: bool = True

    @classmethod
    def of(cls, mode: int | None, group: str) -> FileAccess:
        """Return the access that `dir_mode` and `dir_group` describe; `group`: name or number, empty for none.

        Raises ConfigurationError if the group does not exist, the process is neither a member nor root, or the mode
        gives it no access.
        """
        if not group:
            return cls(_OWNER_FOLDER if mode is None else mode)
        folder_mode = _GROUP_FOLDER if mode is None else mode
        if not folder_mode & _OF_GROUP:
            raise ConfigurationError(
                f"dir_mode={folder_mode:04o} gives the group dir_group={group} no access: must be a mode such as 0770, "
                f"or without dir_group"
            )
        return cls(folder_mode, _group_id_of(group))

    @classmethod
    def like(cls, path: Path) -> FileAccess:
        """Return the access to an existing file or folder, for what is added beside or inside; raises OSError."""
        status = path.stat()
        shared = status.st_mode & _SHARED
        # A folder can be searched by those that can read it.
        return cls(_OWNER_FOLDER | shared | (shared & _READABLE) >> 2, status.st_gid, is_group_required=False)

    @property
    def file_mode(self) -> int:
        """Permission bits of files."""
        return self.folder_mode & 0o666

    def make_folder(self, path: Path) -> None:
        """Create one folder; raises FileExistsError if the path exists, and OSError if it cannot be created."""
        os.mkdir(path, _OWNER_FOLDER)
        # Another user with write access to the parent may have replaced the folder by a link.
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._apply(fd, self.folder_mode)
        finally:
            os.close(fd)

    def make_folders(self, path: Path) -> None:
        """Create a folder and its missing parents; one that exists stays as it is. Raises OSError."""
        if not path.is_dir():
            if path.parent != path:
                self.make_folders(path.parent)
            try:
                self.make_folder(path)
            except FileExistsError:
                # Another process has just created it, unless it is a file.
                if not path.is_dir():
                    raise

    def open(self, path: str | Path, flags: int) -> int:
        """Return a descriptor of a file, which is created if it is missing; the `opener` of the builtin `open`.

        An existing file keeps its mode. Raises OSError, FileExistsError for an existing file with O_EXCL.
        """
        flags |= os.O_CLOEXEC
        while True:
            try:
                fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, _OWNER_FILE)
            except FileExistsError:
                if flags & os.O_EXCL:
                    raise
            else:
                break
            try:
                return os.open(path, flags & ~os.O_CREAT)
            except FileNotFoundError:
                # Deleted between the two calls, unless it is a link to a file that is missing.
                if os.path.islink(path):
                    raise
        try:
            self.apply(fd)
        except BaseException:
            os.close(fd)
            with suppress(OSError):
                os.unlink(path)
            raise
        return fd

    def apply(self, fd: int) -> None:
        """Set group and mode of an open file that this process has created; raises OSError."""
        self._apply(fd, self.file_mode)

    def _apply(self, fd: int, mode: int) -> None:
        status = os.fstat(fd)
        # The group first: with the mode first, members of the former group would have access for a moment.
        if self.group_id not in (None, status.st_gid):
            try:
                os.fchown(fd, -1, self.group_id or 0)
            except PermissionError:
                if self.is_group_required:
                    raise
                mode &= ~_OF_GROUP
        if stat.S_IMODE(status.st_mode) & 0o777 == mode:
            return
        try:
            os.fchmod(fd, mode)
        except PermissionError:
            # Some file systems have the same mode for all files, by an option of their mount.
            if status.st_mode & _SHARED & ~mode:
                raise


PRIVATE: Final = FileAccess()
"""Access of the user of the process only."""


def _group_id_of(group: str) -> int:
    import grp  # noqa: PLC0415 - lazy: only a setting needs it

    try:
        found = grp.getgrgid(int(group)) if group.isascii() and group.isdigit() else grp.getgrnam(group)
    except (KeyError, OverflowError, ValueError):
        raise ConfigurationError(
            f"dir_group={group}: no such group: must be the name or number of a group of this machine, see `getent "
            "group`"
        ) from None
    # Root may give a file to any group.
    if os.geteuid() != 0 and found.gr_gid not in {os.getegid(), *os.getgroups()}:
        raise ConfigurationError(
            f"dir_group={group}: user {os.geteuid()} is not a member: must be a group of this process, see `id`; add "
            f"the user with `usermod -a -G {found.gr_name}`, and log in again"
        )
    return found.gr_gid
