"""Private directories of embedded drivers: one each, so that no driver takes over the directory of a killed one."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from aeron_core.driver.directory import delete_undoubted_directory, has_exited
from aeron_core.errors import ActiveDriverError, CncIncompatibleError, CncNotReadyError

# Process id and random bytes: ids are reused, and one process may run several drivers.
_SUFFIX: Final = re.compile(r"-(\d{1,10})-[0-9a-f]{8}")
# As `glob.escape`, whose module takes longer to import.
_SPECIAL: Final = re.compile(r"([*?[])")


def new_private_directory(default: Path) -> Path:
    """Return an unused path beside `default`; the directory does not exist yet."""
    # The directory is not created here: the driver creates it, as it does with any other.
    return default.with_name(f"{default.name}-{os.getpid()}-{os.urandom(4).hex()}")


def sweep_private_directories(default: Path, timeout_ms: int) -> list[Path]:
    """Delete this user's private directories of ended processes beside `default`; return their paths.

    The driver's heartbeat must also be older than `timeout_ms`, and its lock free: the process id may belong to another
    container that shares this filesystem. Waits for none of them: a later start deletes what is in doubt.
    """
    escaped = _SPECIAL.sub(r"[\1]", default.name)
    return [
        path
        for path in default.parent.glob(f"{escaped}-*-*")
        if _is_orphaned(path, default.name) and _is_deleted(path, timeout_ms)
    ]


def _is_orphaned(path: Path, prefix: str) -> bool:
    # A process id that was reused hides a dead directory only until that process ends too.
    match = _SUFFIX.fullmatch(path.name, len(prefix))
    if match is None or not has_exited(int(match[1])):
        return False
    # Every user may create entries in /dev/shm, and their owners may delete them at any time.
    with suppress(OSError):
        status = path.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return False


def _is_deleted(path: Path, timeout_ms: int) -> bool:
    # OSError: another driver may sweep at the same time.
    with suppress(ActiveDriverError, CncIncompatibleError, CncNotReadyError, OSError):
        return delete_undoubted_directory(path, timeout_ms)
    return False
