"""Log buffers as files of the driver's directory, or as POSIX shared memory.

In both cases a client maps the path in the response: on Linux a shared-memory object is a file under /dev/shm.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import posix_ipc

from aeron_core.concurrent.mapped_file import create_mapped_file, free_space, map_new_file
from aeron_core.driver.conductor.error_sink import Cause
from aeron_core.errors import ErrorCode, StorageError
from aeron_core.frozen import frozen
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.settings import Storage

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.conductor.error_sink import ErrorSink
    from aeron_core.logbuffer.metadata import LogBufferParams
    from aeron_core.settings.driver import DriverFields

SHARED_MEMORY_ROOT: Final = Path("/dev/shm")
SHARED_MEMORY_PREFIX: Final = "aeron-core-"


#: Maximum number of files that are queued for removal: when it is reached, each new log removes one file first. The
#: number is invented. Without a limit, peers and clients could make the driver create logs faster than
#: `resource_free_limit` lets it remove them, and each file takes memory.
MAX_ENDED: Final = 256


@frozen()
class StoredLog:
    """A log buffer, the path at which clients map it, and its length in bytes."""

    log: LogBuffer
    path: Path
    length: int


class LogStorage:
    """Storage of the log buffers of one driver. Used by the conductor only."""

    def __init__(self, settings: DriverFields, counters: SystemCounters, errors: ErrorSink) -> None:
        self._settings = settings
        self._counters = counters
        self._errors = errors
        self._ended: deque[Path] = deque()
        self._undeleted: list[Path] = []
        # Logs whose file exists and is not queued for removal.
        self._live: dict[Path, StoredLog] = {}
        self._shared_memory_prefix = _shared_memory_prefix(settings.aeron_dir)

    def create(self, folder: str, log_id: int, params: LogBufferParams) -> StoredLog:
        """Return a new, initialised log; `folder` is `publications` or `images`.

        Raises StorageError if there is too little space, or the file cannot be created.
        """
        length = params.log_length
        if self._settings.storage is Storage.POSIX:
            path = SHARED_MEMORY_ROOT / f"{self._shared_memory_prefix}{folder}-{log_id}.logbuffer"
        else:
            path = self._settings.aeron_dir / folder / f"{log_id}.logbuffer"
        while len(self._ended) >= MAX_ENDED:
            self._unlink(self._ended.popleft())
        # Checked first, so that a log that does not fit is refused with a storage error and nothing is created.
        self._check_space(path, length)
        buffer = (
            self._create_shared_memory(path, params) if self._is_posix else self._create_file(path, params)
        )
        self._counters.bytes_currently_mapped.get_and_add(length)
        stored = self._live[path] = StoredLog(LogBuffer.initialize(buffer, params), path, length)
        return stored

    @property
    def _is_posix(self) -> bool:
        return self._settings.storage is Storage.POSIX

    def _create_file(self, path: Path, params: LogBufferParams) -> AtomicBuffer:
        return create_mapped_file(path, params.log_length, sparse=params.sparse, populate=not params.sparse)

    def _create_shared_memory(self, path: Path, params: LogBufferParams) -> AtomicBuffer:
        try:
            # Created exclusively: an existing object belongs to another log, which must not be overwritten.
            memory = posix_ipc.SharedMemory(f"/{path.name}", posix_ipc.O_CREX)
        except posix_ipc.ExistentialError as error:
            raise StorageError(
                errno.EEXIST, f"cannot create {path}: it exists already; delete it if no driver uses it"
            ) from error
        except (OSError, posix_ipc.Error) as error:
            # `posix_ipc` has its own errors for a denied permission and a name that is too long.
            code = error.errno if isinstance(error, OSError) else None
            raise StorageError(
                code or errno.EACCES,
                f"cannot create {path}: {error}; free descriptors or memory, or set storage=file",
            ) from error
        try:
            return map_new_file(
                memory.fd, path, params.log_length, sparse=params.sparse, populate=not params.sparse
            )
        except BaseException:
            memory.unlink()
            raise
        finally:
            # The mapping stays valid without the descriptor.
            memory.close_fd()

    def _check_space(self, path: Path, length: int) -> None:
        # A sparse file gets its pages when they are written; if none is free then, the writer is killed by SIGBUS.
        if not self._settings.perform_storage_checks:
            return
        free = free_space(path.parent)
        if free < length:
            hint = (
                f", or enlarge {SHARED_MEMORY_ROOT}: mount -o "
                f"remount,size={_megabytes_of(path.parent, length)}m {SHARED_MEMORY_ROOT}"
                if path.is_relative_to(SHARED_MEMORY_ROOT)
                else ""
            )
            raise StorageError(
                errno.ENOSPC,
                f"insufficient usable storage for new log of length={length} usable={free} in {path.parent}: "
                f"use a shorter term-length, or another aeron.dir{hint}",
            )
        threshold = self._settings.low_file_store_warning_threshold_length
        if free <= threshold:
            # The free space differs with each log that peers or clients cause: limit its texts like those of peers.
            self._errors.record_variable(
                Cause.PEER,
                ErrorCode.UNUSED,
                f"WARNING: space is running low: threshold={threshold} usable={free} in {path.parent}: a log that "
                f"needs more is refused; free space, or use shorter terms",
                kind=f"WARNING: space is running low: threshold={threshold} in {path.parent}",
            )

    def delete(self, stored: StoredLog) -> None:
        """Queue the log's file for removal, once; the memory is freed when its last user unmaps it."""
        if self._live.pop(stored.path, None) is None:
            return
        self._counters.bytes_currently_mapped.get_and_add(-stored.length)
        # Unlinking does not disturb clients: their mappings stay valid until they unmap the file.
        self._ended.append(stored.path)

    def free_ended(self) -> int:
        """Remove the files of some deleted logs; return how many removals were tried.

        To free a long log takes the kernel long, so one call tries at most `resource_free_limit`.
        """
        count = min(len(self._ended), self._settings.resource_free_limit)
        for _ in range(count):
            self._unlink(self._ended.popleft())
        return count

    def delete_all(self) -> None:
        """Remove the files of all logs when the driver closes."""
        for stored in list(self._live.values()):
            self.delete(stored)
        while self._ended:
            self.free_ended()

    def retry_deletions(self) -> None:
        """Retry the deletions that failed; those that fail again are logged and kept for the next call."""
        paths, self._undeleted = self._undeleted, []
        for path in paths:
            self._unlink(path)

    def _unlink(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self._counters.free_fails.get_and_add(1)
            self._errors.record_exception(
                error, f"cannot delete {path}, the driver will retry; check the permissions of its folder"
            )
            # The timer retries: the log occupies memory until it is deleted.
            self._undeleted.append(path)


def _shared_memory_prefix(aeron_dir: Path) -> str:
    # One process may run several drivers, which use the same log ids.
    # The process id lets another driver detect that the owner has ended.
    return f"{SHARED_MEMORY_PREFIX}{os.getpid()}-{zlib.crc32(str(aeron_dir).encode()):08x}-"


def sweep_shared_memory(aeron_dir: Path, root: Path = SHARED_MEMORY_ROOT) -> list[Path]:
    """Delete log buffers in shared memory of drivers whose process has ended; return the deleted paths.

    Those of `aeron_dir` with the id of this process are deleted, too: in a container, a former driver may have had the
    same id. So call it only once this process owns `aeron_dir`. Files that this user may not delete stay, and so do
    those whose process id is in use again. A process of another container counts as ended if its id is not in use here.
    """
    own = _shared_memory_prefix(aeron_dir)
    swept = []
    for path in root.glob(f"{SHARED_MEMORY_PREFIX}*-*.logbuffer"):
        pid = path.name.removeprefix(SHARED_MEMORY_PREFIX).partition("-")[0]
        # The process id of another container may be in use here: such an object stays until that process
        # ends.
        if path.name.startswith(own) or (pid.isdigit() and not _is_alive(int(pid))):
            # Any user can create such a name in /dev/shm, which is sticky: what cannot be deleted stays, and must not
            # keep this driver from starting.
            with suppress(OSError):
                path.unlink(missing_ok=True)
                swept.append(path)
    return swept


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _megabytes_of(folder: Path, more: int) -> int:
    status = os.statvfs(folder)
    # `f_bavail` excludes blocks that are reserved for root, so these count as used.
    used = (status.f_blocks - status.f_bavail) * status.f_frsize
    return -(-(used + more) // (1024 * 1024)) + 1
