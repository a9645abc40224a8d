"""Log buffers that this client has mapped.

Publications that share a stream share one mapping, and so do images of the same stream for several subscriptions. An
unused mapping is kept for a linger time, so that closing and adding again does not map the file again.

Not here: unmapping. A mapping is released with the last object that refers to it, so that a memoryview that a
program kept never dangles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.descriptor import LogBuffer

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer

Opener = Callable[[str], "AtomicBuffer"]


@dataclass(slots=True)
class _Entry:
    log: LogBuffer
    users: int = 0


class LogBuffers:
    """Log buffers by registration id of the stream or correlation id of the image.

    Used under the lock of the client's conductor.
    """

    def __init__(self, linger_ns: int, *, pre_touch: bool = False, opener: Opener = open_mapped_file) -> None:
        self._linger_ns = linger_ns
        self._pre_touch = pre_touch
        self._open = opener
        self._entries: dict[int, _Entry] = {}
        # Time in ns since which each log is unused, oldest first: a sweep costs nothing for logs in use.
        self._unused_since_ns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def acquire(self, registration_id: int, path: str) -> LogBuffer:
        """Return the log at `path` for one more user.

        Raises StorageError if it cannot be mapped, ProtocolError if it is not a log or its path contains NUL.
        """
        entry = self._entries.get(registration_id)
        if entry is None:
            if "\0" in path:
                raise ProtocolError(f"path {path!r} of a log: must not contain NUL; restart the media driver")
            buffer = self._open(path)
            if self._pre_touch:
                # Reading one byte of each page maps it; no page is smaller than this.
                bytes(memoryview(buffer)[:: wire.PAGE_MIN_SIZE])
            try:
                entry = self._entries[registration_id] = _Entry(LogBuffer(buffer))
            except ProtocolError as error:
                raise ProtocolError(f"{path}: {error}", error.code) from error
        entry.users += 1
        self._unused_since_ns.pop(registration_id, None)
        return entry.log

    def release(self, registration_id: int, now_ns: int) -> None:
        """Release the log for one user; after the last, its linger time begins at `now_ns`. Ignores an unknown id."""
        entry = self._entries.get(registration_id)
        if entry is not None:
            entry.users -= 1
            if entry.users == 0:
                self._unused_since_ns[registration_id] = now_ns

    def sweep(self, now_ns: int) -> int:
        """Drop logs that were unused for the linger time; return how many."""
        expired = []
        for registration_id, since_ns in self._unused_since_ns.items():
            if now_ns - since_ns < self._linger_ns:
                break
            expired.append(registration_id)
        for registration_id in expired:
            del self._entries[registration_id], self._unused_since_ns[registration_id]
        return len(expired)

    def clear(self) -> None:
        """Drop all logs, used or not."""
        self._entries.clear()
        self._unused_since_ns.clear()
