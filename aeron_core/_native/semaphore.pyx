"""A named POSIX semaphore that can be waited for without the GIL.

`posix_ipc` creates and unlinks it; this object opens it a second time, because `posix_ipc` exposes no handle.
"""

cimport cython
from libc.errno cimport EEXIST, EINVAL, EPERM, errno
from libc.stdint cimport int64_t
from libc.string cimport strerror

import fcntl
import os

import posix_ipc

from aeron_core.file_locks import close_in_children

cdef extern from "<semaphore.h>" nogil:
    sem_t *SEM_FAILED
    sem_t *sem_open(const char *name, int flags)
    int sem_close(sem_t *semaphore)
    int sem_post(sem_t *semaphore)
    int sem_getvalue(sem_t *semaphore, int *value)

cdef extern from "semaphore_wait.h" nogil:
    bint ac_semaphore_wait(sem_t *semaphore, int64_t timeout_ns)


def lock_semaphore(str name):
    """Return the file of semaphore `name`, locked until it is closed; None if it is locked, or not where glibc puts it.

    The kernel ends the lock with its process: a semaphore without one is left from a process that was killed.
    """
    try:
        file = open(f"/dev/shm/sem.{name[1:]}", "rb", buffering=0, opener=open_without_links)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    close_in_children(file)
    return file


def open_without_links(path, flags):
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def unlink_if_exists(str name):
    try:
        posix_ipc.unlink_semaphore(name)
    except posix_ipc.ExistentialError:
        pass


@cython.final
cdef class NamedSemaphore:
    """A semaphore for wake-ups between processes: a post ends one wait early.

    A post has no effect while another is pending, unless two threads post at the same time.
    """

    def __init__(self, str name, *, bint create=False):
        """Open semaphore `name` ("/…"); with `create`, create it before, in place of an old one of this user.

        Raises OSError if it does not exist, cannot be opened or has no valid name, PermissionError if another user has
        created it, FileExistsError if another process creates it at the same time.
        """
        # posix_ipc crashes for some of these names, and creates semaphores for others that it cannot unlink.
        if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
            raise OSError(EINVAL, f"semaphore name {name!r}: must be text without NUL and without bytes that are not UTF-8")
        self.name = name
        self._semaphore = NULL
        if create:
            # Do not open an existing one: another user may have created it, and could truncate its memory
            # while this process waits in it (SIGBUS).
            try:
                unlink_if_exists(name)
                self._owner = posix_ipc.Semaphore(name, posix_ipc.O_CREX, mode=0o600)
            except posix_ipc.PermissionsError as error:
                raise PermissionError(
                    EPERM,
                    f"cannot create semaphore {name}: another user has created it; delete it as that user, or "
                    "use another name, for a driver another aeron.dir",
                ) from error
            except posix_ipc.Error as error:
                # Another process has created the name after it was unlinked here. The errors of posix_ipc are not
                # OSErrors, which callers expect.
                raise FileExistsError(
                    EEXIST,
                    f"cannot create semaphore {name}: {error}; use another name in each process, for a driver another "
                    "aeron.dir",
                ) from error
            self._lock = lock_semaphore(name)
        cdef sem_t *opened = sem_open(name.encode(), 0)
        if opened == SEM_FAILED:
            code = errno
            raise OSError(
                code,
                f"cannot open semaphore {name}: {strerror(code).decode()}; it must begin with /, and a process of this "
                f"user must have created it",
            )
        self._semaphore = opened

    def __dealloc__(self):
        if self._semaphore != NULL:
            sem_close(self._semaphore)

    cdef bint wait(self, int64_t timeout_ns) noexcept nogil:
        return ac_semaphore_wait(self._semaphore, timeout_ns)

    cdef void post(self) noexcept nogil:
        cdef int value = 0
        # One pending wake-up is enough: more would only make later waits return at once without work.
        if sem_getvalue(self._semaphore, &value) == 0 and value < 1:
            sem_post(self._semaphore)

    def signal(self):
        """Wake the waiting thread, or make the next wait return at once; any thread may call it."""
        self.post()

    def unlink(self):
        """Remove the name if this object created it; processes that have it open keep it."""
        if self._owner is not None:
            # Another process of this user may have removed the name.
            unlink_if_exists(self.name)
            self._owner.close()
            self._owner = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
