"""Distinct error log in shared memory: one entry per error, with a count of its observations.

Not here: which errors are recorded. Entries are only added; a length of 0 ends the log.
The text of an error that peers cause ends with `; last peer ` and an address of fixed length, padded with blanks, which
is overwritten: if texts were distinct by address, each forged address would add an entry.
Invariant: an entry is complete before its length is stored; then only its count, its time and its last peer change.

Source: aeron_distinct_error_log.c; the last peer is not from the reference.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aeron_core._native import positions, wire
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.clock import Clock


_LAST_PEER: Final = b"; last peer "
#: Longest address of an IPv6 socket with its port; longer ones, of Unix sockets, are cut.
_PEER_LENGTH: Final = len("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")


@frozen(slots=True)
class ErrorRecord:
    """One error with its first and last observation, in ms since the epoch.

    `last_peer` is the address of the last peer that caused it, empty if no peer did. While it is being changed, it may
    be a mixture of two addresses.
    """

    observation_count: int
    first_observation_ms: int
    last_observation_ms: int
    text: str
    last_peer: str = ""

    @property
    def line(self) -> str:
        """The text followed by the last peer, as it is stored but without the padding."""
        return f"{self.text}{_LAST_PEER.decode()}{self.last_peer}" if self.last_peer else self.text


class DistinctErrorLog:
    """Writes the log; `buffer` starts as zeros. Any thread may record.

    Errors with the same code and description share an entry.
    """

    def __init__(self, buffer: AtomicBuffer, clock: Clock) -> None:
        self._buffer = buffer
        self._clock = clock
        self._offsets: dict[tuple[int, str], int] = {}
        # Offset of an entry -> offset of its last peer.
        self._peer_offsets: dict[int, int] = {}
        self._next_offset = 0
        self._end_offset = 0  # of the newest entry, not aligned
        self._dropped_count = 0
        # Reentrant, with a flag: a signal handler or a finalizer may record an error in the thread that it interrupts
        # while this thread is recording one, which would wait for itself.
        self._lock = threading.RLock()
        self._is_recording = False
        self._interrupting: deque[tuple[int, str, str]] = deque()

    @property
    def distinct_count(self) -> int:
        """The number of different errors in the log."""
        return len(self._offsets)

    @property
    def capacity(self) -> int:
        """The length of the log in bytes."""
        return self._buffer.capacity

    def missing_length(self, code: int, description: str, peer: str = "") -> int:
        """Return the bytes that a new entry for this error would take, 0 if there is an entry."""
        if (code, description) in self._offsets:
            return 0
        length = wire.ERROR_LOG_HEADER_LENGTH + len(_encoded(code, description, peer))
        return positions.align(length, wire.ERROR_LOG_ALIGNMENT)

    @property
    def dropped_count(self) -> int:
        """The number of observations dropped because the log was full."""
        return self._dropped_count

    def record(self, code: int, description: str, peer: str = "") -> bool:
        """Count an error; return False if the log is too full for a new entry `(code) description`.

        Any thread, and signal handlers and finalizers: if one interrupts a call in its thread, its error is recorded
        when that call is complete, and True is returned. `peer` replaces the last peer of the entry, if the first call
        for this error had a peer.
        """
        with self._lock:
            if self._is_recording:
                self._interrupting.append((code, description, peer))
                return True
            is_recorded = self._record_alone(code, description, peer)
            # Read while the flag is reset: what interrupts in between records its error itself.
            while (error := self._next_interrupting()) is not None:
                self._record_alone(*error)
        return is_recorded

    def _record_alone(self, code: int, description: str, peer: str) -> bool:
        self._is_recording = True
        try:
            return self._record(code, description, peer)
        finally:
            self._is_recording = False

    def _next_interrupting(self) -> tuple[int, str, str] | None:
        with suppress(IndexError):
            return self._interrupting.popleft()
        return None

    def _record(self, code: int, description: str, peer: str) -> bool:
        now_ms = self._clock.epoch_ms()
        offset = self._offsets.get((code, description))
        if offset is None:
            offset = self._append(_encoded(code, description, peer), now_ms)
            if offset is None:
                self._dropped_count += 1
                return False
            self._offsets[code, description] = offset
            if peer:
                self._peer_offsets[offset] = self._end_offset - _PEER_LENGTH
        elif peer and offset in self._peer_offsets:
            # Not atomic: a reader may get a mixture of two addresses. Addresses are only shown to users.
            self._buffer.put_bytes(self._peer_offsets[offset], _padded(peer))
        self._buffer.get_and_add_i32(offset + wire.ERROR_LOG_OBSERVATION_COUNT_OFFSET, 1)
        self._buffer.put_i64_release(offset + wire.ERROR_LOG_LAST_OBSERVATION_OFFSET, now_ms)
        return True

    def _append(self, data: bytes, now_ms: int) -> int | None:
        length = wire.ERROR_LOG_HEADER_LENGTH + len(data)
        offset = self._next_offset
        if length > self._buffer.capacity - offset:
            return None
        self._buffer.put_bytes(offset + wire.ERROR_LOG_HEADER_LENGTH, data)
        # The observation count remains 0: `record` adds the first observation like every later one.
        self._buffer.put_i64(offset + wire.ERROR_LOG_FIRST_OBSERVATION_OFFSET, now_ms)
        # Set before the length as well: a reader that filters by time must not see a new entry dated 1970.
        self._buffer.put_i64(offset + wire.ERROR_LOG_LAST_OBSERVATION_OFFSET, now_ms)
        # Release: a reader that loads the length with acquire also sees the entry.
        self._buffer.put_i32_release(offset + wire.ERROR_LOG_LENGTH_OFFSET, length)
        # Entries start at multiples of 8, so that their timestamps and counts are aligned for atomic access.
        self._end_offset = offset + length
        self._next_offset = offset + positions.align(length, wire.ERROR_LOG_ALIGNMENT)
        return offset


def _encoded(code: int, description: str, peer: str) -> bytes:
    text = f"({code}) {description}".encode(errors="replace")
    return text + _LAST_PEER + _padded(peer) if peer else text


def _padded(peer: str) -> bytes:
    return peer.encode("ascii", "replace")[:_PEER_LENGTH].ljust(_PEER_LENGTH)


def _parted(data: bytes) -> tuple[str, str]:
    """Return the text of an entry without its last peer, and the last peer, empty if the entry has none."""
    text, mark, peer = data[:-_PEER_LENGTH], _LAST_PEER, data[-_PEER_LENGTH:]
    if not text.endswith(mark):
        return data.decode(errors="replace"), ""
    return text[: -len(mark)].decode(errors="replace"), peer.decode("ascii", "replace").rstrip(" ")


def read_errors(buffer: AtomicBuffer, since_ms: int = 0) -> Iterator[ErrorRecord]:
    """Yield the errors last observed at `since_ms` or later, in the order of their entries.

    Raises ProtocolError at an entry with an impossible length, after yielding all entries before it.
    """
    offset = 0
    while offset + wire.ERROR_LOG_HEADER_LENGTH <= buffer.capacity:
        # Acquire: pairs with the release in `_append`.
        length = buffer.get_i32_acquire(offset + wire.ERROR_LOG_LENGTH_OFFSET)
        if length == 0:
            return
        if not wire.ERROR_LOG_HEADER_LENGTH <= length <= buffer.capacity - offset:
            raise ProtocolError(
                f"error log entry of {length} bytes at {offset}: must be from {wire.ERROR_LOG_HEADER_LENGTH} "
                f"to {buffer.capacity - offset}; the log is damaged, restart the media driver to begin a new one"
            )
        last_observation_ms = buffer.get_i64_acquire(offset + wire.ERROR_LOG_LAST_OBSERVATION_OFFSET)
        if last_observation_ms >= since_ms:
            text, last_peer = _parted(
                buffer.get_bytes(offset + wire.ERROR_LOG_HEADER_LENGTH, length - wire.ERROR_LOG_HEADER_LENGTH)
            )
            yield ErrorRecord(
                observation_count=buffer.get_i32_acquire(offset + wire.ERROR_LOG_OBSERVATION_COUNT_OFFSET),
                first_observation_ms=buffer.get_i64(offset + wire.ERROR_LOG_FIRST_OBSERVATION_OFFSET),
                last_observation_ms=last_observation_ms,
                text=text,
                last_peer=last_peer,
            )
        offset += positions.align(length, wire.ERROR_LOG_ALIGNMENT)
