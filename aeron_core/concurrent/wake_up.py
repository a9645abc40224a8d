"""Look-up of the semaphore that an agent of a driver waits for, from any process.

Only agents with the idle strategy `signal` have a semaphore; the others poll.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import posix_ipc

from aeron_core._native.semaphore import NamedSemaphore, lock_semaphore

if TYPE_CHECKING:
    from aeron_core.file_access import FileAccess

_PREFIX: Final = "aeron-core-"
_ALL: Final = f"{_PREFIX}*"
#: The whole file name of a semaphore of a driver.
_FILE_NAME: Final = re.compile(rf"sem\.{_PREFIX}[0-9a-f]{{16}}-[a-z]+")
#: Minimum age of a semaphore that is swept: the driver of a newer one may not have locked it yet. Invented.
_MIN_AGE_S: Final = 10.0
#: Where the C library keeps a semaphore, by its name without the slash. Source: sem_open of glibc.
_SEMAPHORE_FILE: Final = "/dev/shm/sem.{}"
CONDUCTOR: Final = "conductor"
"""The agent that executes the commands of clients; some threading modes run others in the same thread."""


def semaphore_name(aeron_dir: Path | str, agent: str) -> str:
    """Return the name of an agent's semaphore, the same in the driver and in all clients of its directory."""
    # Driver and client may name the directory differently, for example through a symbolic link.
    directory = os.path.realpath(aeron_dir)
    return f"/{_PREFIX}{_fnv1a(os.fsencode(directory)):016x}-{agent}"


def find_semaphore(aeron_dir: Path | str, agent: str) -> NamedSemaphore | None:
    """Return the semaphore of `agent`, or None if it has none or this user cannot open it.

    Returns None also for a semaphore that belongs neither to this user nor to the owner of the directory.
    """
    name = semaphore_name(aeron_dir, agent)
    try:
        # Any user can create a semaphore of this name, and truncate its file while other processes have it mapped,
        # which kills them (SIGBUS).
        if os.lstat(_SEMAPHORE_FILE.format(name[1:])).st_uid not in {os.geteuid(), os.stat(aeron_dir).st_uid}:
            return None
        return NamedSemaphore(name)
    except OSError:
        return None


def share_semaphore(name: str, access: FileAccess) -> None:
    """Give a semaphore that this process has created the mode and group of `access`; raises OSError.

    Does nothing if the C library keeps semaphores elsewhere: then only this user can post it.
    """
    with suppress(FileNotFoundError):
        fd = os.open(_SEMAPHORE_FILE.format(name[1:]), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            access.apply(fd)
        finally:
            os.close(fd)


def sweep_semaphores(pattern: str = _ALL, min_age_s: float = _MIN_AGE_S) -> list[str]:
    """Remove semaphores of killed drivers of this user, at least `min_age_s` old; return their names.

    `pattern` is that of their names without the slash.
    """
    swept = []
    for path in Path("/dev/shm").glob(f"sem.{pattern}"):
        # Any file may begin with the prefix, and posix_ipc raises or crashes for names that are not text.
        if _FILE_NAME.fullmatch(path.name) is None:
            continue
        # Another driver may sweep at the same time.
        with suppress(OSError, posix_ipc.Error):
            status = path.lstat()
            if status.st_uid != os.geteuid() or time.time() < status.st_ctime + min_age_s:
                continue
            name = "/" + path.name.removeprefix("sem.")
            lock = lock_semaphore(name)
            if lock is None:
                continue
            with lock:
                posix_ipc.unlink_semaphore(name)
                swept.append(name)
    return swept


def _fnv1a(text: bytes) -> int:
    """Return the 64-bit FNV-1a hash of a text; hashlib is not used because it loads OpenSSL, 4 MiB of memory."""
    # Offset basis and prime of the algorithm.
    digest = 0xCBF29CE484222325
    for byte in text:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return digest
