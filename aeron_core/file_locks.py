"""Files that are open as locks (flock), for a process and not for its forked children.

A child shares the open files of its process, and with them their locks: if the process was killed, its lock would last
until the child ends. So a child closes them. That leaves the lock: it ends with the last descriptor of the open file.
A child that goes on in place of its process, as a daemon does, would be without the lock: objects with a lock refuse to
work in children, see `fault_of_child`.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

if TYPE_CHECKING:
    from io import FileIO

_held: Final[WeakSet[FileIO]] = WeakSet()


def close_in_children(file: FileIO) -> None:
    """Have children that are forked from now on close `file`; in this process it stays open."""
    _held.add(file)


def fault_of_child(process_id: int, what: str) -> str:
    """Return an error text unless this is the process `process_id`, which opened `what`, then ""."""
    if os.getpid() == process_id:
        return ""
    return (
        f"{what}: was opened by process {process_id}, of which this is a forked child without its locks: open it after "
        "forking, such as after becoming a daemon"
    )


def try_lock(file: FileIO, *, shared: bool = False) -> bool:
    """Return whether the file is locked now, False if another open file has a lock that excludes this one.

    Raises OSError if the kernel, a sandbox or the file system allows no locks.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _close_in_child() -> None:
    for file in list(_held):
        with suppress(OSError):
            file.close()


os.register_at_fork(after_in_child=_close_in_child)
