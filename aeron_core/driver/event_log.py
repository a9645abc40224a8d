"""Event log of a driver: one line per event, in a file or on standard output.

Not here: the names of events, and the settings that enable them (`events`).
Invariant: any thread may log an event; a thread of the log writes it, so that no agent waits for a disk. If no event is
enabled, there is no such thread and no socket is wrapped.
Source: aeron_driver_agent.c.
"""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TextIO

from aeron_core.driver import events
from aeron_core.driver.frame_text import describe_frame, is_nak
from aeron_core.driver.logged_datagrams import LoggedDatagrams
from aeron_core.errors import StorageError
from aeron_core.file_access import PRIVATE, FileAccess
from aeron_core.protocol import commands, responses
from aeron_core.version import SOFTWARE_VERSION

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.clock import Clock
    from aeron_core._native.datagrams import DatagramChannel
    from aeron_core.protocol.message import ControlMessage

_NS: Final = 1_000_000_000
#: Maximum number of lines that wait to be written; more are dropped and counted. Our choice: about 10 MB of memory.
MAX_WAITING: Final = 65536
#: Longest time that `close` waits for the waiting lines to be written. Invented: 65536 lines take 0.3 s.
CLOSE_TIMEOUT_S: Final = 1.0

_EVENT_OF: Final[dict[type[ControlMessage], str]] = {
    commands.AddPublication: "CMD_IN_ADD_PUBLICATION",
    commands.RemovePublication: "CMD_IN_REMOVE_PUBLICATION",
    commands.AddExclusivePublication: "CMD_IN_ADD_EXCLUSIVE_PUBLICATION",
    commands.AddSubscription: "CMD_IN_ADD_SUBSCRIPTION",
    commands.RemoveSubscription: "CMD_IN_REMOVE_SUBSCRIPTION",
    commands.ClientKeepalive: "CMD_IN_KEEPALIVE_CLIENT",
    commands.AddDestination: "CMD_IN_ADD_DESTINATION",
    commands.RemoveDestination: "CMD_IN_REMOVE_DESTINATION",
    commands.RemoveDestinationById: "CMD_IN_REMOVE_DESTINATION_BY_ID",
    commands.AddRcvDestination: "CMD_IN_ADD_RCV_DESTINATION",
    commands.RemoveRcvDestination: "CMD_IN_REMOVE_RCV_DESTINATION",
    commands.AddCounter: "CMD_IN_ADD_COUNTER",
    commands.RemoveCounter: "CMD_IN_REMOVE_COUNTER",
    commands.ClientClose: "CMD_IN_CLIENT_CLOSE",
    commands.TerminateDriver: "CMD_IN_TERMINATE_DRIVER",
    commands.RejectImage: "CMD_IN_REJECT_IMAGE",
    responses.OnPublicationReady: "CMD_OUT_PUBLICATION_READY",
    responses.OnExclusivePublicationReady: "CMD_OUT_EXCLUSIVE_PUBLICATION_READY",
    responses.OnSubscriptionReady: "CMD_OUT_SUBSCRIPTION_READY",
    responses.OnAvailableImage: "CMD_OUT_AVAILABLE_IMAGE",
    responses.OnUnavailableImage: "CMD_OUT_ON_UNAVAILABLE_IMAGE",
    responses.OnOperationSuccess: "CMD_OUT_ON_OPERATION_SUCCESS",
    responses.OnError: "CMD_OUT_ERROR",
    responses.OnCounterReady: "CMD_OUT_COUNTER_READY",
    responses.OnUnavailableCounter: "CMD_OUT_ON_UNAVAILABLE_COUNTER",
    responses.OnClientTimeout: "CMD_OUT_ON_CLIENT_TIMEOUT",
}


class EventLog:
    """The event log of one driver; any thread may log events. Raises StorageError if `file` cannot be opened."""

    def __init__(  # noqa: PLR0913 - the settings of the log
        self,
        clock: Clock,
        wanted: frozenset[str] = frozenset(),
        file: Path | None = None,
        max_length: int | None = None,
        on_fault: Callable[[BaseException, str], None] | None = None,
        access: FileAccess = PRIVATE,
    ) -> None:
        self._clock = clock
        self._wanted = wanted
        self._dropped = 0
        # Unbounded, so that `put` never blocks an agent; `_write` limits its length.
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self.is_on = bool(wanted)
        self._output = _Output(file, max_length, on_fault, self._first_line, access) if self.is_on else None

    def start(self) -> None:
        """Start the thread, and log the line that a log begins with; call once. No-op if the log is off."""
        if self.is_on:
            self._lines.put(self._first_line())
            self._start_thread()

    def record(self, event: str, /, **details: object) -> None:
        """Log an event with its details as `name=value`, if it is enabled and fewer than MAX_WAITING lines wait."""
        if event in self._wanted:
            # Formatted only here: most events are off, and their callers must not pay for text.
            self._write(event, " ".join(f"{name}={value}" for name, value in details.items()))

    def on_message(self, message: ControlMessage) -> None:
        """Log the fields of a command or response, if its event is enabled; of a termination token only the length."""
        if not self.is_on:
            return
        event = _EVENT_OF.get(type(message))
        if event in self._wanted:
            details = {field.name: getattr(message, field.name) for field in fields(message)}
            if isinstance(message, commands.TerminateDriver):
                # The token is a secret; the reference also logs only its length.
                details["token_length"] = len(details.pop("token"))
            self.record(event, **details)

    def watch(self) -> Callable[[DatagramChannel], DatagramChannel] | None:
        """Return a function that wraps a channel to log its datagrams; None if no event of datagrams is enabled."""
        # A wrapped channel takes the GIL for each batch of datagrams: wrap only on request.
        if self._wanted.isdisjoint({events.FRAME_IN, events.FRAME_OUT, events.NAK_SENT, events.NAK_RECEIVED}):
            return None
        return lambda channel: LoggedDatagrams(channel, self._on_received, self._on_sent)

    def _on_received(self, data: bytes, peer: SocketAddress) -> None:
        self._on_datagram(events.FRAME_IN, events.NAK_RECEIVED, data, peer)

    def _on_sent(self, data: bytes, peer: SocketAddress) -> None:
        self._on_datagram(events.FRAME_OUT, events.NAK_SENT, data, peer)

    def _on_datagram(self, frame_event: str, nak_event: str, data: bytes, peer: SocketAddress) -> None:
        for event in (frame_event, nak_event):
            if event in self._wanted and (event is frame_event or is_nak(data)):
                self._write(event, f"address={peer} {describe_frame(data)}")

    def _write(self, event: str, text: str) -> None:
        if self._lines.qsize() >= MAX_WAITING:
            # If two threads count at the same time, one count may be lost. A lock would make agents wait for each
            # other.
            self._dropped += 1
            return
        if self._dropped:
            text = f"{text} ({self._dropped} events before this one were dropped)"
            self._dropped = 0
        self._lines.put(f"{self._time()} DRIVER: {event}: {text}\n")
        if self._thread is None:
            self._start_thread()

    def _time(self) -> str:
        now_ns = self._clock.epoch_ns()
        return f"[{now_ns // _NS}.{now_ns % _NS:09}]"

    def _first_line(self) -> str:
        """Return the first line of a log and of each of its files.

        Source: aeron_driver_agent.c, aeron_driver_agent_dissect_log_start.
        """
        from aeron_core.concurrent.error_report import date_of  # noqa: PLC0415 - lazy: most drivers have no event log

        date = date_of(self._clock.epoch_ms())
        return f"{self._time()} log started {date}, enabled loggers: {{DRIVER: {SOFTWARE_VERSION}}}\n"

    def _start_thread(self) -> None:
        # Not in the constructor: a failed construction of a driver leaves no thread behind.
        with self._starting:
            # Checked again under the lock: two threads may log the first event at the same time.
            if self._thread is None and self._output is not None:
                # A daemon thread, which does not keep the process alive: its output may be a pipe that is never read,
                # at which it blocks.
                self._thread = threading.Thread(
                    target=self._output.write_all,
                    args=(self._lines.get,),
                    name="aeron-event-log",
                    daemon=True,
                )
                self._thread.start()

    def close(self) -> None:
        """Write the waiting lines and stop the thread.

        Waits at most `CLOSE_TIMEOUT_S`: if the output blocks, such as a pipe that is not read, lines may be
        lost.
        """
        # From now on events are dropped, so the queue stops growing.
        self.is_on = False
        self._wanted = frozenset()
        with self._starting:
            thread, output = self._thread, self._output
            self._output = None
        if thread is not None:
            # None ends the thread after the lines that were queued before it.
            self._lines.put(None)
            thread.join(CLOSE_TIMEOUT_S)
            if thread.is_alive():
                # The thread, a daemon, still uses the output.
                return
        if output is not None:
            output.close()


class _Output:
    """Output of the log: standard output, or files; a new file begins when the current one has `max_length` bytes.

    The first write error is reported once and ends the output; the driver continues without a log.
    """

    def __init__(
        self,
        path: Path | None,
        max_length: int | None,
        on_fault: Callable[[BaseException, str], None] | None,
        first_line: Callable[[], str],
        access: FileAccess,
    ) -> None:
        self._access = access
        self._path = path
        self._first_line = first_line
        self._max_length = max_length
        self._on_fault = on_fault
        self._has_failed = False
        self._number = 0
        self._file: TextIO | None = None if path is None else _open(path, access)

    def write_all(self, take: Callable[[], str | None]) -> None:
        """Write the lines that `take` returns until it returns None."""
        while (line := take()) is not None:
            # Keep taking lines: otherwise the queue grows to its limit and holds that memory.
            if self._has_failed:
                continue
            try:
                self._write(line)
            except Exception as error:  # a program may replace `sys.stdout` by any object
                self._has_failed = True
                if self._on_fault is not None:
                    output = self._path or "on standard output"
                    self._on_fault(error, f"event log {output} has ended, restart the driver to log again")

    def _write(self, line: str) -> None:
        # Looked up for each line: the program may replace `sys.stdout` at any time.
        file = self._file or sys.stdout
        if file is None or file.closed:
            raise OSError(errno.EBADF, "standard output is closed: set AERON_EVENT_LOG_FILENAME to a file")
        try:
            file.write(line)
        except UnicodeEncodeError:
            # The encoding of standard output lacks a character of the line, such as one in a channel.
            file.write(line.encode("ascii", "backslashreplace").decode())
        # A killed process loses what it has not flushed.
        file.flush()
        if self._file is not None and self._max_length is not None and self._file.tell() >= self._max_length:
            self._begin_next()

    def close(self) -> None:
        """Close the file, if the output is one; no write may follow."""
        if self._file is not None:
            # Flushing the buffer may fail again; that error was reported before.
            with suppress(OSError):
                self._file.close()

    def _begin_next(self) -> None:
        assert self._file is not None
        assert self._path is not None
        self._file.close()
        path = self._path
        # Skip the files of earlier runs: nothing is overwritten.
        while path.exists():
            self._number += 1
            path = self._path.with_name(f"{self._path.name}.{self._number}")
        self._file = _open(path, self._access)
        self._file.write(self._first_line())


def _open(path: Path, access: FileAccess) -> TextIO:
    try:
        return open(path, "a", encoding="utf-8", opener=access.open)
    except OSError as error:
        raise StorageError(
            error.errno,
            f"cannot open the event log {path}: {error.strerror}; set AERON_EVENT_LOG_FILENAME to a writable file",
        ) from error
