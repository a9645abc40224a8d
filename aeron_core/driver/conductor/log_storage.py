"""Log buffers as files of the driver's directory, or as POSIX shared memory.

In both cases a client maps the path in the response: on Linux a shared-memory object is a file under /dev/shm.
"""

from __future__ import annotations

import errno
import os
import re
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import posix_ipc

from aeron_core.concurrent.mapped_file import create_mapped_file, free_space, map_new_file
from aeron_core.errors import ErrorCode, StorageError
from aeron_core.file_locks import close_in_children, try_lock
from aeron_core.frozen import frozen
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.settings import Storage

if TYPE_CHECKING:
    from io import FileIO

    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.conductor.error_sink import ErrorSink
    from aeron_core.logbuffer.metadata import LogBufferParams
    from aeron_core.settings.driver import DriverFields

SHARED_MEMORY_ROOT: Final = Path("/dev/shm")
SHARED_MEMORY_PREFIX: Final = "aeron-core-"
#: End of the name of the file that a driver with logs in shared memory keeps locked.
_LOCK: Final = "lock"
_LOCK_NAME: Final = re.compile(rf"{SHARED_MEMORY_PREFIX}\d+-[0-9a-f]{{8}}-{_LOCK}")

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
        self._access = settings.file_access
        self._counters = counters
        self._errors = errors
        self._ended: deque[Path] = deque()
        self._undeleted: list[Path] = []
        # Logs whose file exists and is not queued for removal.
        self._live: dict[Path, StoredLog] = {}
        self._names = _SharedMemoryNames() if self._is_posix else None
        # Computed once: joining two paths takes about as long as mapping a file.
        self._folders = {name: settings.aeron_dir / name for name in ("publications", "images")}

    def create(self, folder: str, log_id: int, params: LogBufferParams) -> StoredLog:
        """Return a new, initialised log; `folder` is `publications` or `images`.

        Raises StorageError if there is too little space, or the file cannot be created.
        """
        length = params.log_length
        if self._names is not None:
            root, name = SHARED_MEMORY_ROOT, f"{self._names.prefix}{folder}-{log_id}.logbuffer"
        else:
            root, name = self._folders[folder], f"{log_id}.logbuffer"
        while len(self._ended) >= MAX_ENDED:
            self._unlink(self._ended.popleft())
        # Checked first, so that a log that does not fit is refused with a storage error and nothing is created.
        self._check_space(root, length)
        path = root / name
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
        return create_mapped_file(
            path, params.log_length, sparse=params.sparse, populate=not params.sparse, access=self._access
        )

    def _create_shared_memory(self, path: Path, params: LogBufferParams) -> AtomicBuffer:
        try:
            # Created exclusively: an existing object belongs to another log, which must not be overwritten.
            memory = posix_ipc.SharedMemory(f"/{path.name}", posix_ipc.O_CREX, mode=0o600)
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
            self._access.apply(memory.fd)
            return map_new_file(
                memory.fd, path, params.log_length, sparse=params.sparse, populate=not params.sparse
            )
        except BaseException:
            memory.unlink()
            raise
        finally:
            # The mapping stays valid without the descriptor.
            memory.close_fd()

    def _check_space(self, root: Path, length: int) -> None:
        # A sparse file gets its pages when they are written; if none is free then, the writer is killed by SIGBUS.
        if not self._settings.perform_storage_checks:
            return
        free = free_space(root)
        if free < length:
            hint = (
                f", or enlarge {SHARED_MEMORY_ROOT}: mount -o "
                f"remount,size={_megabytes_of(root, length)}m {SHARED_MEMORY_ROOT}"
                if root.is_relative_to(SHARED_MEMORY_ROOT)
                else ""
            )
            raise StorageError(
                errno.ENOSPC,
                f"insufficient usable storage for new log of length={length} usable={free} in {root}: "
                f"use a shorter term-length for the publication, or storage=file with another aeron.dir{hint}",
            )
        threshold = self._settings.low_file_store_warning_threshold_length
        if free <= threshold:
            # Without the free space: it differs each time, and the error log keeps every distinct text.
            self._errors.record(
                ErrorCode.UNUSED,
                f"WARNING: space is running low: threshold={threshold} in {root}: a log that needs more than "
                f"is free is refused; free space, or use shorter terms",
            )

    def delete(self, stored: StoredLog) -> None:
        """Queue the log's file for removal, once; the memory is freed when its last user unmaps it."""
        if self._live.pop(stored.path, None) is None:
            return
        self._counters.bytes_currently_mapped.get_and_add(-stored.length)
        # Unlinking does not disturb clients: their mappings stay valid until they unmap the file.
        self._ended.append(stored.path)

    @property
    def has_ended(self) -> bool:
        """Whether `free_ended` has something to do."""
        return bool(self._ended)

    def free_ended(self) -> int:
        """Remove the files of some deleted logs; return how many removals were tried.

        To free a long log takes the kernel long, so one call tries at most `resource_free_limit`.
        """
        count = min(len(self._ended), self._settings.resource_free_limit)
        for _ in range(count):
            self._unlink(self._ended.popleft())
        return count

    def delete_all(self) -> None:
        """Remove the files of all logs when the driver closes; no log can be created after it."""
        for stored in list(self._live.values()):
            self.delete(stored)
        while self._ended:
            self.free_ended()
        if self._names is not None:
            self._names.release(has_objects=bool(self._undeleted))

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
            # Name the folder, not the file: each path would be a new entry of the log, and peers cause images.
            self._errors.record_exception(
                error, f"cannot delete a log in {path.parent}, the driver will retry; check its permissions"
            )
            # The timer retries: the log occupies memory until it is deleted.
            self._undeleted.append(path)


class _SharedMemoryNames:
    """A prefix for the shared-memory objects of one driver, and a lock that shows that the driver lives.

    The kernel ends the lock with the process. A process id shows nothing: containers may share /dev/shm, but number
    their processes separately.
    """

    def __init__(self) -> None:
        self.prefix, self._lock = _claim_prefix()

    def release(self, *, has_objects: bool) -> None:
        """End the lock, once; its file stays if objects are left, so that the next driver deletes both.

        The file also stays if it cannot be deleted, without an error.
        """
        try:
            if not has_objects:
                with suppress(OSError):
                    Path(self._lock.name).unlink(missing_ok=True)
        finally:
            self._lock.close()


def _claim_prefix() -> tuple[str, FileIO]:
    while True:
        # The process id shows users which process owns the file.
        prefix = f"{SHARED_MEMORY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}-"
        path = SHARED_MEMORY_ROOT / f"{prefix}{_LOCK}"
        try:
            lock = open(path, "xb", buffering=0, opener=_open_own)  # noqa: SIM115 - open while the driver lives
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(
                error.errno or errno.EACCES,
                f"cannot create {path}: {error.strerror or error}; free descriptors or memory, or set storage=file",
            ) from error
        try:
            # A driver that sweeps may have locked or deleted the file before this lock: try another name.
            if try_lock(lock) and path.exists():
                close_in_children(lock)
                return prefix, lock
        except OSError as error:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            lock.close()
            raise StorageError(
                error.errno or errno.ENOLCK,
                f"cannot lock {path}: {error.strerror or error}; set storage=file",
            ) from error
        lock.close()


def sweep_shared_memory(root: Path = SHARED_MEMORY_ROOT) -> list[Path]:
    """Delete log buffers in shared memory of drivers that have ended without closing; return the deleted paths.

    A driver has ended if its lock is free, whatever its process id; any driver of this machine that shares `root` keeps
    its logs. Files that this user may not open or delete stay.
    """
    swept: list[Path] = []
    for path in root.glob(f"{SHARED_MEMORY_PREFIX}*"):
        # Compare the whole name, because any user can create files in /dev/shm: `aeron-core-lock`, for example, would
        # select the logs of all drivers.
        if _LOCK_NAME.fullmatch(path.name) is None:
            continue
        # OSError: the file belongs to another user or cannot be locked, or another driver has just deleted it.
        with suppress(OSError), open(path, "rb", buffering=0, opener=_open_own) as lock:
            if try_lock(lock):
                swept += _sweep_logs(path)
    return swept


def _sweep_logs(lock: Path) -> list[Path]:
    logs = list(lock.parent.glob(f"{lock.name.removesuffix(_LOCK)}*.logbuffer"))
    for log in logs:
        # What cannot be deleted stays, and must not keep this driver from starting.
        with suppress(OSError):
            log.unlink(missing_ok=True)
    left = [log for log in logs if log.exists()]
    # The next driver that sweeps finds by this file the logs that are left.
    if not left:
        lock.unlink(missing_ok=True)
    return [log for log in logs if log not in left]


def _open_own(path: str, flags: int) -> int:
    # Another user may have created a link or a pipe of this name. The mode keeps other users from opening the file of
    # this driver, and so from locking it.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def _megabytes_of(folder: Path, more: int) -> int:
    status = os.statvfs(folder)
    # `f_bavail` excludes blocks that are reserved for root, so these count as used.
    used = (status.f_blocks - status.f_bavail) * status.f_frsize
    return -(-(used + more) // (1024 * 1024)) + 1
