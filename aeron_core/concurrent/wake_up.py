"""Bells and semaphores that end the wait of an agent of a driver, from any process.

The folder `bells` in the directory of a driver holds a named pipe for each of its threads that sleeps, and a file of
int32 and int64 fields: by agent the number of its thread, by thread the flag of its bell, and the ids of the clients
that ring. Agents with other idle strategies than `backoff` and `signal`, and drivers of the reference, have no bell;
clients that do not ring are served at the end of a sleep. The semaphores are for the idle strategy `signal`.

Event loops of clients wait with pipes, too, which clients create. Their fields: by pipe the client that uses it, and by
stream the mask of the pipes that a message rings.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import posix_ipc

from aeron_core._native.park import PIPES, Bell, StreamBells
from aeron_core._native.semaphore import NamedSemaphore, lock_semaphore
from aeron_core.concurrent.mapped_file import create_mapped_file, open_mapped_file
from aeron_core.errors import AeronError
from aeron_core.file_access import FileAccess

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer

#: Bytes of one read, which empties most pipes.
_PIPE_READ: Final = 4096
_PREFIX: Final = "aeron-core-"
_ALL: Final = f"{_PREFIX}*"
#: The whole file name of a semaphore of a driver.
_FILE_NAME: Final = re.compile(rf"sem\.{_PREFIX}[0-9a-f]{{16}}-[a-z]+(-[0-9])?")
#: Minimum age of a semaphore that is swept: the driver of a newer one may not have locked it yet. Invented.
_MIN_AGE_S: Final = 10.0
#: Where the C library keeps a semaphore, by its name without the slash. Source: sem_open of glibc.
_SEMAPHORE_FILE: Final = "/dev/shm/sem.{}"
CONDUCTOR: Final = "conductor"
"""The agent that executes the commands of clients; some threading modes run others in the same thread."""


#: The folder of the bells in the directory of a driver.
BELLS_FOLDER: Final = "bells"
_FLAGS_FILE: Final = "flags.dat"
#: Agents in the order of their fields, an int32 each from offset 0: 1 + the number of the thread, 0 without a bell.
_AGENTS: Final = ("conductor", "sender", "receiver")
#: The flag of a thread is in a cache line of its own, because each offer reads it.
_FLAGS_OFFSET: Final = 64
_LINE_LENGTH: Final = 64
#: The lines before the ids of clients.
_MAX_BELLS: Final = 7
#: Ids of clients that ring, an int64 each, at the id modulo their number: ids are not used twice, so that one that is
#: stored stays right, and one that another has replaced only makes the driver poll.
_CLIENTS_OFFSET: Final = 512
_CLIENT_SLOTS: Final = 448
#: The client of each pipe of an event loop, an int64 each, 0 if it is free.
_OWNERS_OFFSET: Final = _CLIENTS_OFFSET + 8 * _CLIENT_SLOTS
#: The masks of streams, an int32 each. The number is invented: the rest of two pages.
_MASKS_OFFSET: Final = _OWNERS_OFFSET + 8 * PIPES
_LENGTH: Final = 8192
_MASKS: Final = (_LENGTH - _MASKS_OFFSET) // 4


class Bells:
    """The bells of a driver; used by its conductor once its threads run."""

    def __init__(self, aeron_dir: Path, access: FileAccess) -> None:
        """Create the folder; raises OSError, such as StorageError, if it cannot be created."""
        self._folder = aeron_dir / BELLS_FOLDER
        self._access = access
        access.make_folder(self._folder)
        # The file last: clients that find it wait for bells.
        descriptor = _descriptor_of(self._folder)
        try:
            self._memory = create_mapped_file(
                self._folder / _FLAGS_FILE, _LENGTH, sparse=False, access=access
            )
        except BaseException:
            os.close(descriptor)
            raise
        self._streams = StreamBells(self._memory, _MASKS_OFFSET, _MASKS, descriptor)
        self._count = 0

    def add(self, agents: Iterable[str]) -> Bell:
        """Return the bell of a thread that runs `agents`; raises OSError if the system refuses it."""
        number, self._count = self._count, self._count + 1
        path = self._folder / str(number)
        os.mkfifo(path, 0o600)
        pipe = _open_pipe(path)
        self._access.apply(pipe)
        bell = Bell(pipe, self._memory, _FLAGS_OFFSET + number * _LINE_LENGTH, is_waiting=True)
        for agent in agents:
            self._memory.put_i32_release(4 * _AGENTS.index(agent), number + 1)
        return bell

    def is_rung_by(self, client_id: int) -> bool:
        """Return whether a client rings the bells after each message and command."""
        return self._memory.get_i64_acquire(_slot_of(client_id)) == client_id

    def of_stream(self, correlation_id: int) -> Bell:
        """Return the bell of a stream, for the agent that writes it or sees that it was written."""
        return self._streams.bell(correlation_id)

    def forget(self, client_id: int) -> None:
        """Free the pipes of a client that has ended, which may have been killed."""
        for number in range(PIPES):
            self._memory.compare_and_set_i64(_OWNERS_OFFSET + 8 * number, client_id, 0)


class DriverBells:
    """The bells of a driver as one of its clients uses them."""

    def __init__(self, aeron_dir: Path | str, client_id: int) -> None:
        self._folder = Path(aeron_dir) / BELLS_FOLDER
        self._client_id = client_id
        self._bells: dict[str, Bell] = {}
        #: None if the driver has no bells.
        self.streams: StreamBells | None = None
        try:
            self._memory = open_mapped_file(self._folder / _FLAGS_FILE)
            if self._memory.capacity < _LENGTH:
                return
            self.streams = StreamBells(self._memory, _MASKS_OFFSET, _MASKS, _descriptor_of(self._folder))
            for agent in (CONDUCTOR, "sender"):
                self._open(agent)
        except (AeronError, OSError):
            return
        # From now on the driver need not look for messages of this client, unless the sender has no bell, as before its
        # thread starts.
        if "sender" in self._bells:
            self._memory.put_i64_release(_slot_of(client_id), client_id)

    def of(self, agent: str) -> Bell | None:
        """Return the bell of `conductor` or `sender`, None if it has none."""
        return self._bells.get(agent)

    def claim_pipe(self) -> LoopPipe | None:
        """Return a pipe for one event loop of this client; None if there are no bells, or none is free or usable."""
        if self.streams is None:
            return None
        for number in range(PIPES):
            if self._memory.compare_and_set_i64(_OWNERS_OFFSET + 8 * number, 0, self._client_id):
                try:
                    return LoopPipe(self._folder, self._memory, number, self._client_id)
                except OSError as error:
                    self._memory.compare_and_set_i64(_OWNERS_OFFSET + 8 * number, self._client_id, 0)
                    if error.errno in {errno.EMFILE, errno.ENFILE}:
                        return None
                    # Another user may have created it, without access for this one: leave it to that user.
        return None

    def _open(self, agent: str) -> None:
        number = self._memory.get_i32_acquire(4 * _AGENTS.index(agent)) - 1
        if 0 <= number < _MAX_BELLS:
            pipe = _open_pipe(self._folder / str(number))
            self._bells[agent] = Bell(pipe, self._memory, _FLAGS_OFFSET + number * _LINE_LENGTH)


class LoopPipe:
    """The pipe of one event loop, readable once a stream for which it waits has rung; `close` gives it back.

    The driver gives back those of clients that end without `close`.
    """

    def __init__(self, folder: Path, memory: AtomicBuffer, number: int, client_id: int) -> None:
        """Open the pipe `number`, which the caller has claimed; raises OSError."""
        #: The bit in the masks of streams.
        self.number: Final = number
        self._memory = memory
        self._client_id = client_id
        self._process_id = os.getpid()
        path = folder / f"c{number}"
        try:
            os.mkfifo(path, 0o600)
        except FileExistsError:
            # Of an earlier client: pipes stay, because those that ring keep them open.
            self.fd = _open_pipe(path)
        else:
            try:
                self.fd = _open_pipe(path)
                # For all that may use the directory, as the flags.
                FileAccess.like(folder).apply(self.fd)
            except OSError:
                # Without its mode, no other user could ever use the number.
                path.unlink(missing_ok=True)
                raise
        self.drain()

    @property
    def is_claimed(self) -> bool:
        """Whether the pipe still belongs to the client: the driver frees it when the client ends, in its view."""
        return self._memory.get_i64_acquire(_OWNERS_OFFSET + 8 * self.number) == self._client_id

    def drain(self) -> None:
        """Make the pipe unreadable until the next ring."""
        try:
            while len(os.read(self.fd, _PIPE_READ)) == _PIPE_READ:
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Close the descriptor and free the pipe for other clients; closing twice does nothing."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        os.close(fd)
        # A forked child has a copy of the descriptor, but not the claim.
        if os.getpid() == self._process_id:
            self._memory.compare_and_set_i64(_OWNERS_OFFSET + 8 * self.number, self._client_id, 0)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            self.close()


def _descriptor_of(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _slot_of(client_id: int) -> int:
    return _CLIENTS_OFFSET + 8 * (client_id % _CLIENT_SLOTS)


def _open_pipe(path: Path) -> int:
    # For reading too, in every process: a write then never fails because nothing reads, which would raise SIGPIPE.
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISFIFO(os.fstat(pipe).st_mode):
        os.close(pipe)
        raise FileNotFoundError(errno.ENOENT, f"{path} is not a named pipe")
    return pipe


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
