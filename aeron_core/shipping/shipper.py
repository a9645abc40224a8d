"""Reads files, publishes their lines, and saves how far they are confirmed to have arrived.

    read ──────── offered ──────── confirmed ──────── saved
         pending          in flight           dirty

Invariant: what is offered is never more than the window ahead of what is saved: so much comes twice, at most, when the
process is killed. What is saved was confirmed.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.concurrent.counter_types import SENDER_POSITION
from aeron_core.errors import ClientError, ClosedError, ConfigurationError
from aeron_core.shipping.events import EventMaker, JsonEvents, raw_event, raw_object
from aeron_core.shipping.file_watcher import FileWatcher
from aeron_core.shipping.followed_file import FollowedFile, Progress
from aeron_core.shipping.line_splitter import Line
from aeron_core.shipping.offset_registry import Entry, OffsetRegistry

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.concurrent.counters import CountersReader

_NS_PER_MS: Final = 1_000_000
_REGISTRATION_ID_LENGTH: Final = 8


def _ignore(_: OSError) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipperParams:
    """What is shipped, and how."""

    patterns: Sequence[str]
    state_folder: Path
    from_end: bool = False
    is_raw: bool = False
    needs_objects: bool = False  # with `is_raw`: the channel takes nothing else
    follows: bool = True  # else what is there, and no more
    host: str = field(default_factory=socket.gethostname)
    max_line_length: int = 64 * 1024  # an invented number: stack traces in one line are longer, and are cut
    window_length: int = 1024 * 1024  # an invented number: some thousand lines may come twice
    read_length: int = 64 * 1024  # of one file, before it is another's turn
    look_interval_ns: int = 1000 * _NS_PER_MS  # for files that are new
    read_interval_ns: int = 100 * _NS_PER_MS  # for more of a file that had none
    save_interval_ns: int = 500 * _NS_PER_MS
    on_error: Callable[[OSError], object] = _ignore
    epoch_ns: Callable[[], int] = time.time_ns


@dataclass(slots=True)
class _Pending:
    file: FollowedFile
    progress: Progress
    lines: deque[Line]
    path: str


@dataclass(frozen=True, slots=True)
class _InFlight:
    position: int
    progress: Progress
    line: Line


class Shipper:
    """One publication and the files that go to it. One thread, which calls `do_work` again and again."""

    def __init__(
        self,
        publication: ExclusivePublication,
        confirmed_position: Callable[[], int],
        params: ShipperParams,
    ) -> None:
        """Take the state folder; raises ConfigurationError where another shipper has it."""
        self.lines = 0
        self.bytes = 0
        self._publication = publication
        self._confirmed_position = confirmed_position
        self._params = params
        self._registry = OffsetRegistry(params.state_folder)
        self._watcher = FileWatcher(
            params.patterns,
            self._registry,
            from_end=params.from_end,
            max_line_length=params.max_line_length,
            on_error=params.on_error,
        )
        raw = raw_object if params.needs_objects else raw_event
        self._event: EventMaker = raw if params.is_raw else JsonEvents(params.host)
        self._pending: deque[_Pending] = deque()
        self._in_flight: deque[_InFlight] = deque()
        self._saved_position = publication.position
        self._confirmed = self._saved_position
        self._is_dirty = False
        self._look_ns: int | None = None
        self._read_ns: int | None = None
        self._saved_ns = 0
        self._is_read_to_end = False

    @property
    def is_done(self) -> bool:
        """Whether all that there was has arrived; while it follows files, as of the last look."""
        return self._is_read_to_end and not self._pending and not self._in_flight

    @property
    def file_count(self) -> int:
        """Files that are followed."""
        return len(self._watcher.files)

    @property
    def in_flight(self) -> int:
        """Lines that were offered and are not confirmed."""
        return len(self._in_flight)

    @property
    def unread_length(self) -> int:
        """Bytes of all files that are still to be read, or were read and not yet published."""
        pending = sum(item.lines[-1].end - item.lines[0].offset for item in self._pending if item.lines)
        return pending + sum(file.unread_length for file in self._watcher.files.values())

    def do_work(self, now_ns: int) -> int:
        """Do what there is to do without waiting; return how much that was. Raises ClosedError, OSError."""
        work = self._take_confirmations(now_ns)
        if self._look_ns is None or (self._params.follows and now_ns >= self._look_ns):
            self._look_ns = now_ns + self._params.look_interval_ns
            changes = self._watcher.look(now_ns)
            self._is_dirty = self._is_dirty or changes > 0
            work += changes
        if not self._pending and (self._read_ns is None or now_ns >= self._read_ns):
            work += self._read(now_ns)
        return work + self._offer()

    def settle(self, now_ns: int) -> bool:
        """Read and offer no more; return whether all that was offered has arrived, which is saved."""
        self._take_confirmations(now_ns)
        return not self._in_flight

    def close(self) -> None:
        """Save what has arrived, and close all files."""
        try:
            if self._is_dirty:
                self._save(self._saved_ns)
        finally:
            self._watcher.close()
            self._registry.close()

    def _take_confirmations(self, now_ns: int) -> int:
        if self._publication.is_closed:
            raise ClosedError(f"{self._publication!r} was closed")
        confirmed = self._confirmed_position()
        count = 0
        while self._in_flight and self._in_flight[0].position <= confirmed:
            arrived = self._in_flight.popleft()
            if arrived.line.end > arrived.line.offset:
                arrived.progress.confirm(arrived.line)
                self.lines += 1
                self.bytes += arrived.line.end - arrived.line.offset
            self._confirmed = arrived.position
            count += 1
        self._is_dirty = self._is_dirty or count > 0
        if self._is_dirty and (
            now_ns - self._saved_ns >= self._params.save_interval_ns
            or self._confirmed - self._saved_position >= self._params.window_length // 2
        ):
            self._save(now_ns)
        return count

    def _save(self, now_ns: int) -> None:
        epoch_ns = self._params.epoch_ns()
        entries = {key: Entry.of(key, file.progress, epoch_ns) for key, file in self._watcher.files.items()}
        self._registry.save(entries, epoch_ns)
        self._saved_position = self._confirmed
        self._saved_ns = now_ns
        self._is_dirty = False

    def _read(self, now_ns: int) -> int:
        """Read on in every file once; return the number of lines."""
        count = 0
        is_at_end = True
        for file in list(self._watcher.files.values()):
            progress = file.progress
            try:
                lines = file.read(self._params.read_length)
            except OSError as error:
                # It is tried again with the others, which it does not hold up.
                self._watcher.tell(file.path, error)
                continue
            if file.progress is not progress:
                self._watcher.note_rewritten(progress, now_ns)
                self._is_dirty = True
            if lines is None:
                lines = self._end_of(file, now_ns)
            else:
                is_at_end = False
                file.read_ns = now_ns
            if lines:
                self._pending.append(_Pending(file, progress, deque(lines), progress.path))
                count += len(lines)
        self._is_read_to_end = is_at_end and count == 0
        self._read_ns = now_ns + self._params.read_interval_ns if is_at_end else None
        return count

    def _end_of(self, file: FollowedFile, now_ns: int) -> list[Line]:
        """Return what is left of a file that will not be read on, closing it."""
        if not self._params.follows:
            return file.finish()
        if not self._watcher.is_over(file, now_ns):
            return []
        if any(item.progress is file.progress for item in self._in_flight):
            return []
        lines = file.finish()
        if not lines:
            if self._is_dirty:
                self._save(now_ns)
            self._watcher.drop(file)
        return lines

    def _offer(self) -> int:
        offered = 0
        while self._pending:
            pending = self._pending[0]
            while pending.lines:
                if not self._offer_line(pending, pending.lines[0]):
                    return offered
                pending.lines.popleft()
                offered += 1
            self._pending.popleft()
        return offered

    def _offer_line(self, pending: _Pending, line: Line) -> bool:
        """Return whether it was accepted; one that is too long as a message is put there in halves, to be tried."""
        event = self._event(line, pending.path, self._params.epoch_ns())
        if len(event) > self._publication.max_message_length:
            pending.lines.popleft()
            pending.lines.extendleft(reversed(_halves(line, self._publication)))
            return self._offer_line(pending, pending.lines[0])
        # The first one goes whatever its length.
        ahead = self._publication.position - self._saved_position
        if ahead and ahead + wire.DATA_HEADER_LENGTH + len(event) > self._params.window_length:
            return False
        result = self._publication.offer(event)
        if result >= 0:
            self._in_flight.append(_InFlight(result, pending.progress, line))
            return True
        if result == wire.RESULT_CLOSED:
            raise ClosedError(f"{self._publication!r} was closed")
        if result == wire.RESULT_MAX_POSITION_EXCEEDED:
            raise ClientError(f"{self._publication!r}: the stream has no positions left")
        return False


def _halves(line: Line, publication: ExclusivePublication) -> list[Line]:
    half = len(line.payload) // 2
    if half == 0:
        raise ConfigurationError(
            f"{publication.channel}: its longest message of {publication.max_message_length} bytes has no room for "
            "a line and the path of its file; give it a longer term-length"
        )
    # Only the second half has the end of the line: with the first one alone, nothing of it counts.
    first = Line(line.offset, line.offset, line.payload[:half], b"")
    return [first, replace(line, offset=line.offset + half, payload=line.payload[half:])]


def confirmed_position(aeron: Aeron, publication: ExclusivePublication) -> Callable[[], int]:
    """Return what says up to which position a publication has done its part.

    That is the sender position of the driver, which for a medium with acknowledgements is what the peer has, and for
    others what was sent; and the publication's own position where there is no sender, as for IPC.
    """
    found = _SenderPosition.find(aeron.counters_reader, publication)
    return (lambda: publication.position) if found is None else found.get


class _SenderPosition:
    """The counter of a publication, for as long as it is that.

    A driver that takes a client for dead, one that was stopped for a while, say, gives its counters to others before
    the client knows.
    """

    def __init__(self, counters: CountersReader, counter_id: int, key: bytes) -> None:
        self._counters = counters
        self._id = counter_id
        self._key = key
        self._position = counters.value(counter_id)

    @classmethod
    def find(cls, counters: CountersReader, publication: ExclusivePublication) -> _SenderPosition | None:
        # By the key, which drivers of any version write.
        key = publication.original_registration_id.to_bytes(_REGISTRATION_ID_LENGTH, "little", signed=True)
        for record in counters:
            if record.type_id == SENDER_POSITION and record.key.startswith(key):
                return cls(counters, record.id, key)
        return None

    def get(self) -> int:
        position = self._counters.value(self._id)
        # The key is looked at last: it goes before the counter can be another one's.
        if self._counters.key(self._id).startswith(self._key):
            self._position = position
        return self._position
