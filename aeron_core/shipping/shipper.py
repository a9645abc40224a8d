"""Shipper: reads files, publishes their lines, and saves the offsets that are confirmed.

    read ──────── offered ──────── confirmed ──────── saved
         pending          in flight           dirty

Invariant: offered data is ahead of saved offsets by at most about the window, or by one message if that is longer:
so much is shipped twice when the process is killed. Saved offsets were confirmed, or are where reading began.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.errors import ClientError, ClosedError, ConfigurationError
from aeron_core.shipping.confirmed_position import confirmed_position
from aeron_core.shipping.events import EventMaker, JsonEvents, raw_event, raw_object
from aeron_core.shipping.file_watcher import FileWatcher
from aeron_core.shipping.folder_watch import FolderWatch
from aeron_core.shipping.followed_file import FollowedFile, Progress
from aeron_core.shipping.line_splitter import Line
from aeron_core.shipping.offset_registry import Entry, OffsetRegistry
from aeron_core.shipping.shipper_params import ShipperParams

if TYPE_CHECKING:
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication

__all__ = ["Shipper", "ShipperParams", "confirmed_position"]

#: Factor of the intervals of scans and reads while the kernel reports changes: they find what it misses, such as writes
#: through a mapping. An invented number.
_NOTIFIED_FACTOR: Final = 10
#: Pause in seconds of a shipper that polls. An invented number.
_PAUSE_S: Final = 0.01
#: Remedy for a closed publication.
_REOPEN: Final = "start the driver if it has shut down, then ship again, through a new publication"


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
    """One publication and its files; used by one thread, which calls `do_work` repeatedly."""

    def __init__(
        self,
        publication: ExclusivePublication,
        confirmed_position: Callable[[], int],
        params: ShipperParams,
    ) -> None:
        """Lock the state folder and read the saved offsets.

        `confirmed_position` returns that of the publication, in bytes. Raises the errors of `OffsetRegistry`.
        """
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
        self._watch = FolderWatch(polls=params.polls or not params.follows, on_polling=params.on_polling)
        self._is_waiting = False  # `wait` is used: the intervals may be long
        raw = raw_object if params.needs_objects else raw_event
        self._event: EventMaker = raw if params.is_raw else JsonEvents(params.host)
        self._pending: deque[_Pending] = deque()
        self._in_flight: deque[_InFlight] = deque()
        self._saved_position = publication.position
        self._confirmed = self._saved_position
        self._is_dirty = False
        self._next_scan_ns: int | None = None
        self._scanned_ns = 0
        self._read_ns: int | None = None
        self._saved_ns = 0
        self._is_read_to_end = False

    @property
    def is_done(self) -> bool:
        """Whether all data that could be read is confirmed, as of the last read of the files."""
        return self._is_read_to_end and not self._pending and not self._in_flight

    @property
    def file_count(self) -> int:
        """Number of followed files."""
        return len(self._watcher.files)

    @property
    def in_flight(self) -> int:
        """Number of messages that were offered and not confirmed yet; a long line is several."""
        return len(self._in_flight)

    @property
    def unread_length(self) -> int:
        """Bytes of all files that are not yet read, or read and not yet published."""
        pending = sum(item.lines[-1].end - item.lines[0].offset for item in self._pending if item.lines)
        return pending + sum(file.unread_length for file in self._watcher.files.values())

    def do_work(self, now_ns: int) -> int:
        """Run one duty cycle without waiting; return the work count.

        Raises ClosedError if the publication is closed, ClientError at the end of the stream's positions,
        ConfigurationError for a line that the channel cannot send, and OSError if the offsets cannot be saved.
        """
        work = self._take_confirmations(now_ns)
        if self._next_scan_ns is None or (self._params.follows and now_ns >= self._next_scan_ns):
            self._scanned_ns = now_ns
            changes = self._watcher.scan(now_ns)
            # Files may have been created in a folder before it was watched: scan again.
            is_larger = self._is_waiting and self._watch.update(self._watcher.folders())
            self._next_scan_ns = now_ns + (0 if is_larger else self._interval(self._params.scan_interval_ns))
            self._is_dirty = self._is_dirty or changes > 0
            work += changes
        if not self._pending and (self._read_ns is None or now_ns >= self._read_ns):
            work += self._read(now_ns)
        return work + self._offer()

    def wait(self) -> None:
        """Wait for a change of the files, for at most 0.1 s; call it when `do_work` returned 0.

        From the first call on, the kernel is asked for notifications if the extra `ship` is installed and no folder is
        on a network filesystem. Otherwise, and while the publication accepts nothing, it takes 0.01 s.
        """
        if not self._is_waiting:
            self._is_waiting = True
            self._scan_soon()
        if self._pending or not self._watch.is_active:
            time.sleep(_PAUSE_S)
            return
        has_names, has_data = self._watch.wait()
        if has_names:
            self._scan_soon()
        if has_data:
            self._read_ns = None

    def _scan_soon(self) -> None:
        """Scan in the next cycle, unless the last scan was less than a tenth of the interval ago."""
        if self._next_scan_ns is not None:
            self._next_scan_ns = self._scanned_ns + self._params.scan_interval_ns // _NOTIFIED_FACTOR

    def _interval(self, interval_ns: int) -> int:
        return interval_ns * _NOTIFIED_FACTOR if self._watch.is_active else interval_ns

    def settle(self, now_ns: int) -> bool:
        """Process confirmations only; return whether all offered lines are confirmed.

        Raises ClosedError if the publication is closed, and OSError if the offsets cannot be saved.
        """
        self._take_confirmations(now_ns)
        return not self._in_flight

    def close(self) -> None:
        """Save confirmed offsets, close files and unlock the folder; raises OSError if the offsets cannot be saved."""
        try:
            if self._is_dirty:
                self._save(self._saved_ns)
        finally:
            self._watch.close()
            self._watcher.close()
            self._registry.close()

    def _take_confirmations(self, now_ns: int) -> int:
        if self._publication.is_closed:
            raise ClosedError(f"{self._publication!r} was closed: {_REOPEN}")
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
        """Read from every file once; return the number of lines."""
        count = 0
        is_at_end = True
        for file in list(self._watcher.files.values()):
            progress = file.progress
            try:
                lines = file.read(self._params.read_length)
            except OSError as error:
                # The next cycle tries again; the other files are not delayed.
                self._watcher.report_error(file.path, error)
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
        self._read_ns = now_ns + self._interval(self._params.read_interval_ns) if is_at_end else None
        return count

    def _end_of(self, file: FollowedFile, now_ns: int) -> list[Line]:
        """Return the incomplete last line of a file if no more data is expected, else an empty list.

        Stops following a file that has been missing for 30 s once all its lines are confirmed.
        """
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
        """Offer a line, in halves if it exceeds a message; return whether it was accepted. Raises as `do_work`."""
        event = self._event(line, pending.path, self._params.epoch_ns())
        if len(event) > self._publication.max_message_length:
            pending.lines.popleft()
            pending.lines.extendleft(reversed(_halves(line, self._publication)))
            return self._offer_line(pending, pending.lines[0])
        # If nothing is ahead, a message is sent even if it is longer than the window.
        ahead = self._publication.position - self._saved_position
        if ahead and ahead + wire.DATA_HEADER_LENGTH + len(event) > self._params.window_length:
            return False
        result = self._publication.offer(event)
        if result >= 0:
            self._in_flight.append(_InFlight(result, pending.progress, line))
            return True
        if result == wire.RESULT_CLOSED:
            raise ClosedError(f"{self._publication!r} was closed: {_REOPEN}")
        if result == wire.RESULT_MAX_POSITION_EXCEEDED:
            raise ClientError(
                f"{self._publication!r}: the stream has reached its maximum position "
                f"{self._publication.max_possible_position}; restart the shipper to continue on a new stream"
            )
        return False


def _halves(line: Line, publication: ExclusivePublication) -> list[Line]:
    half = len(line.payload) // 2
    if half == 0:
        raise ConfigurationError(
            f"{publication.channel}: the maximum message of {publication.max_message_length} bytes is too short for "
            "a line and the path of its file; set a longer term-length"
        )
    # Only the second half advances the offset: if the first alone is confirmed, the line is sent again.
    first = Line(line.offset, line.offset, line.payload[:half], b"")
    return [first, replace(line, offset=line.offset + half, payload=line.payload[half:])]
