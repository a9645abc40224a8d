"""Directories of drivers that running processes use, whatever the names of these directories.

A driver and its clients map `cnc.dat`, and Linux shows the mappings of a process in /proc/PID/maps to its own user.
Processes of other users are not looked at, not even by root: in a mount namespace of its own, a process can show any
path, such as that of a mount that hangs whoever looks at it. Other systems have no such file: nothing is found there.
Not found: a directory with a line feed in its path, and one on a file system whose mappings have another device number
than its files, such as btrfs.
Invariant: a path is only returned if the file at this path is the one that the process has mapped. A process in a
container shows the paths of its own mount namespace, which may be other files here, and any process may show any path.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from aeron_core.protocol.cnc import CNC_FILE

_PROC: Final = "/proc"
# All limits are invented. They bound what one look costs, whatever other processes do.
#: Processes that are looked at.
_MAX_PROCESSES: Final = 4096
#: Bytes of the mappings of one process, 40 thousand of them: `cnc.dat` may be the last one.
_MAX_LENGTH: Final = 4 * 1024 * 1024
#: Bytes of the mappings of all processes.
_MAX_TOTAL_LENGTH: Final = 64 * 1024 * 1024
#: Directories of one process, and of all of them.
_MAX_OF_PROCESS: Final = 64
_MAX_DIRECTORIES: Final = 256
#: Bytes of one read: Linux returns at most a page of mappings.
_READ_LENGTH: Final = 4096
_END: Final = f"/{CNC_FILE}".encode()
#: Seconds between two looks, at least. Invented.
_INTERVAL_S: Final = 5.0
#: Seconds between two looks for each second of processor time that one takes: at most 1 % of a core.
_INTERVAL_OF_COST: Final = 100.0


class MappedDirectories:
    """Finds directories again and again at a bounded cost: it looks at the processes only now and then.

    Not thread-safe. Returns a directory until its `cnc.dat` is deleted, even if its driver has died.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Look at nothing yet; `clock` returns seconds."""
        self._clock: Final = clock
        self._next_s = clock()
        self._known: set[Path] = set()

    def find(self) -> list[Path]:
        """Return the directories that are known now, sorted."""
        if self._clock() >= self._next_s:
            before_s = time.thread_time()
            found = mapped_directories()
            cost_s = time.thread_time() - before_s
            self._next_s = self._clock() + max(_INTERVAL_S, _INTERVAL_OF_COST * cost_s)
            remembered = sorted(filter(may_have_driver, self._known.difference(found)))
            self._known = set([*found, *remembered][:_MAX_DIRECTORIES])
        return sorted(self._known)


def mapped_directories() -> list[Path]:
    """Return the directories whose `cnc.dat` a process has mapped, of those processes that this user may look at."""
    found: dict[Path, None] = {}
    checked: set[bytes] = set()
    left = _MAX_TOTAL_LENGTH
    for pid in _processes():
        data = _mappings_of(pid, min(left, _MAX_LENGTH))
        left -= len(data)
        for mapping in _mappings_of_cnc(data):
            if mapping in checked:
                continue
            checked.add(mapping)
            directory = _directory_of(mapping)
            if directory is not None:
                found[directory] = None
        if left <= 0 or len(found) >= _MAX_DIRECTORIES:
            break
    return list(found)[:_MAX_DIRECTORIES]


def may_have_driver(directory: Path) -> bool:
    """Return whether a directory contains `cnc.dat`, or this user may not look into it."""
    try:
        (directory / CNC_FILE).stat()
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _processes() -> list[str]:
    try:
        names = [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return []
    return list(islice(filter(_is_own, names), _MAX_PROCESSES))


def _is_own(pid: str) -> bool:
    try:
        return os.stat(f"{_PROC}/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _mappings_of(pid: str, limit: int) -> bytes:
    """Return the lines of a process, at most about `limit` bytes; none if it has ended, or is not to be read."""
    data = bytearray()
    try:
        fd = os.open(f"{_PROC}/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while len(data) < limit and (chunk := os.read(fd, _READ_LENGTH)):
            data += chunk
    except OSError:
        # The process has ended: what was read is as good as it was a moment ago.
        pass
    finally:
        os.close(fd)
    return bytes(data)


def _mappings_of_cnc(data: bytes) -> Iterator[bytes]:
    """Yield device, inode and path of each mapping of a `cnc.dat`, as they are written; deleted files have other ends.

    A line: `7f2c4a5c8000-7f2c4a5c9000 rw-s 00000000 00:1b 178754    /dev/shm/aeron-me/cnc.dat`.
    """
    # Most processes have none, and this search is faster than any split.
    if _END + b"\n" not in data:
        return
    mappings = dict.fromkeys(line.split(b" ", 3)[-1] for line in data.split(b"\n") if line.endswith(_END))
    for _, mapping in zip(range(_MAX_OF_PROCESS), mappings, strict=False):
        yield mapping


def _directory_of(mapping: bytes) -> Path | None:
    """Return the directory of a mapped file, None if another file is at its path, or none that this user can see."""
    try:
        device, inode, path = mapping.split(None, 2)
        major, minor = (int(each, 16) for each in device.split(b":"))
        # Not the target of a symbolic link: the path of a mapping has none.
        status = os.lstat(path)
        is_same = (status.st_dev, status.st_ino) == (os.makedev(major, minor), int(inode))
    except (OSError, ValueError, OverflowError):
        return None
    # What is no file may have a name without a folder.
    return Path(os.fsdecode(path)).parent if is_same and path.startswith(b"/") else None
