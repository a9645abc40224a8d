"""Watch of folders: the kernel reports new, renamed and growing files in them, through the library watchfiles.

    notified -> polling    watchfiles is not installed, a folder is on a network filesystem, or a limit is reached

It never returns to `notified`. Not here: what a change means (shipper), and which folders matter (file_watcher).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from watchfiles.main import FileChange

#: Time in ms between two looks at what the kernel has reported, which bounds the latency: a compromise, 1 ms would use
#: 3 % of a processor.
_STEP_MS: Final = 10
#: Longest time in ms for which changes are collected, and that one `wait` takes without a change.
_DEBOUNCE_MS: Final = 50
_WAIT_MS: Final = 100
#: Filesystems whose files other hosts change, of which the kernel reports nothing here.
_NETWORK: Final = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "ceph",
    "fuse.",
    "gfs",
    "gpfs",
    "lustre",
    "ocfs",
    "virtiofs",
)


class FolderWatch:
    """Folders that are watched without those below them; used by one thread."""

    def __init__(self, *, polls: bool, on_polling: Callable[[str], object]) -> None:
        """Watch nothing yet. With `polls` nothing ever is; `on_polling` gets the reason if a limit prevents it."""
        self.is_active = False
        self._polls = polls
        self._on_polling = on_polling
        self._folders: frozenset[tuple[str, int, int]] = frozenset()
        self._changes: Generator[set[FileChange], None, None] | None = None

    def update(self, paths: frozenset[str]) -> bool:
        """Watch these folders from now on; return whether there are new ones, in which files may be new already."""
        folders = frozenset(_identified(paths))
        if self._polls or folders == self._folders:
            return False
        is_larger = not folders <= self._folders
        self.close()
        try:
            self._start(folders)
        except FileNotFoundError:
            return False  # a folder was deleted meanwhile: the next scan finds the others
        except ImportError:
            self._polls = True
        except (OSError, RuntimeError) as error:
            self._fall_back(error)
        return self.is_active and is_larger

    def wait(self) -> tuple[bool, bool]:
        """Wait up to 100 ms for a change; return whether there are new names, and new data. Only if `is_active`."""
        assert self._changes is not None
        try:
            changes = next(self._changes)
        except (OSError, RuntimeError, StopIteration) as error:
            self._fall_back(error)
            return True, True
        # Change.modified is 2: its class would have to be imported.
        return any(kind != 2 for kind, _ in changes), bool(changes)

    def _fall_back(self, error: Exception) -> None:
        # Errors of watchfiles have no number.
        self._polls = True
        self._on_polling(
            f"folders cannot be watched ({error}): looking for changes every second instead; if a limit is "
            "reached, raise sysctl fs.inotify.max_user_watches or fs.inotify.max_user_instances"
        )
        self.close()

    def close(self) -> None:
        """Stop watching; closing twice does nothing."""
        if self._changes is not None:
            self._changes.close()
        self._changes, self._folders, self.is_active = None, frozenset(), False

    def _start(self, folders: frozenset[tuple[str, int, int]]) -> None:
        from watchfiles import watch  # noqa: PLC0415 - optional, and slow to import

        paths = [path for path, _, _ in folders]
        if any(_filesystem_of(path).startswith(_NETWORK) for path in paths):
            self._polls = True
            return
        self._changes = watch(
            # Folders that cannot be read are left out here: watchfiles would ignore the limit of watches with them.
            *sorted(path for path in paths if os.access(path, os.R_OK)),
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=_WAIT_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
            force_polling=False,
            recursive=False,
            ignore_permission_denied=False,
        )
        # A generator: the watch begins here.
        next(self._changes)
        self._folders, self.is_active = folders, True


def watched_folders(pattern: str) -> Iterator[str]:
    """Yield the folders in which a new file or folder may match a pattern: those that exist of each of its parts."""
    folder = os.path.dirname(os.path.abspath(pattern))
    while glob.has_magic(folder):
        yield from (path.rstrip(os.sep) for path in glob.glob(f"{folder}{os.sep}", recursive=True))
        folder = os.path.dirname(folder)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    yield folder


def _identified(paths: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the folders that exist with device and inode: one that was created again has to be watched again."""
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        yield path, status.st_dev, status.st_ino


def _filesystem_of(folder: str) -> str:
    """Return the type of the filesystem of a folder, "" if it is unknown."""
    path = os.path.realpath(folder)
    kind, length = "", -1
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    for line in mounts.splitlines():
        # Source: proc_pid_mountinfo(5); blanks of a path are octal.
        fields, _, rest = line.partition(" - ")
        point = fields.split()[4].replace("\\040", " ")
        if len(point) >= length and (path == point or path.startswith(point.rstrip("/") + "/")):
            kind, length = rest.split()[0], len(point)
    return kind
