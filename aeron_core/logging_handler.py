"""A `logging` handler that publishes records to any channel without blocking the program.

    logging.getLogger().addHandler(
        PublishingHandler("aeron:lumberjack?endpoint=logstash:5044", embedded=True)
    )

Not here: the content of an event (shipping.record_events). A background thread connects and publishes.
Invariant: a record that was formatted is published, still queued, or counted in `dropped`.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

# Imported first, so that at exit the handlers close before the clients and drivers that they use.
import aeron_core.agent.at_exit  # noqa: F401
from aeron_core.client.connecting import connect
from aeron_core.errors import ConfigurationError
from aeron_core.shipping.confirmed_position import confirmed_position
from aeron_core.shipping.driver_errors import DriverErrors
from aeron_core.shipping.record_events import RecordEvents
from aeron_core.shipping.record_publisher import PublicationLink, RecordPublisher
from aeron_core.shipping.record_queue import RecordQueue, WhenFull

_PAUSE_S: Final = 0.01
_handlers: weakref.WeakSet[PublishingHandler] = weakref.WeakSet()
# Publishers that a forked process has from its parent: kept, because deleting them here would close the parent's links.
_inherited: list[object] = []


class PublishingHandler(logging.Handler):
    """Publishes each record as a JSON event, or with `raw` as the text of its formatter.

    Without a driver or a subscriber, records stay in the queue; `dropped` counts the records that are lost, and an
    event reports those from before `close` as soon as it can be published.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments of `dictConfig`
        self,
        channel: str,
        stream_id: int = 1,
        *,
        aeron_dir: str | Path | None = None,
        embedded: bool = False,
        capacity: int = 10_000,
        when_full: str | WhenFull = WhenFull.DROP_NEWEST,
        block_timeout: float = 0.1,
        close_timeout: float = 2.0,
        fields: Mapping[str, object] | None = None,
        raw: bool = False,
        level: int | str = logging.NOTSET,
    ) -> None:
        """Publish to `channel` through the driver of `aeron_dir` or an `embedded` one.

        Errors of an embedded driver, such as readers that refuse connections, and of a channel that cannot be
        opened, which is retried, are printed to stderr if `logging.raiseExceptions` is set. `capacity`: maximum
        number of queued records, at least 1. `when_full`: "drop-newest", "drop-oldest", or "block", for up to
        `block_timeout` seconds. `close_timeout`: seconds that `flush`, `close` and program exit wait for queued
        records. `fields`: added to each event. Raises ConfigurationError for a wrong `capacity`, `when_full` or
        `fields`, and ValueError or TypeError, as `logging` does, for a wrong `level`.
        """
        super().__init__(level)
        if capacity < 1:
            raise ConfigurationError(f"capacity={capacity}: must be 1 record or more; the default is 10000")
        try:
            self._when_full = WhenFull(when_full)
        except ValueError:
            allowed = ", ".join(one.value for one in WhenFull)
            raise ConfigurationError(f"when_full={when_full!r}: must be one of {allowed}") from None
        try:
            self._events = RecordEvents(socket.gethostname(), fields or {})
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"fields={fields!r}: must be JSON: {error}") from error
        self._channel = channel
        self._stream_id = stream_id
        self._aeron_dir = aeron_dir
        self._is_embedded = embedded
        self._capacity = capacity
        self._block_timeout = block_timeout
        self._close_timeout = close_timeout
        self._is_raw = raw
        self._driver_errors: DriverErrors | None = None
        self._thread: threading.Thread | None = None
        self._queue, self._publisher = self._begin()
        _handlers.add(self)

    @property
    def dropped(self) -> int:
        """Number of records dropped because the queue was full or closed, or the record was too long for a message."""
        return self._queue.dropped

    def filter(self, record: logging.LogRecord) -> bool | logging.LogRecord:
        """Filter as `logging` does, but reject records of the handler's own thread, which would cause further ones."""
        if threading.current_thread() is self._thread:
            return False
        return super().filter(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the event for a record; any thread may call it.

        With "block", waits up to `block_timeout` seconds while the queue is full. Raises nothing: as in `logging`, a
        record that cannot be formatted is passed to `handleError`.
        """
        try:
            event = self._event_of(record)
            try:
                self._ensure_thread()
            finally:
                # After the thread: `flush` and `close`, which take no lock, find a thread for each queued record.
                self._queue.put(event)
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Wait at most `close_timeout` seconds until all records are published and their position is confirmed."""
        deadline_s = time.monotonic() + self._close_timeout
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline_s:
            if self._publisher.is_drained:
                return
            time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Refuse further records, and let the thread publish those in the queue for at most `close_timeout` seconds.

        Waits for the end of the thread, at most 1 s longer. Closing twice has no effect.
        """
        self._queue.close()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._close_timeout + 1)
        super().close()

    def start_in_child(self) -> None:
        """Start with an empty queue in a forked process: the parent process publishes the queued records."""
        _inherited.append(self._publisher)
        self._driver_errors = None
        self._thread = None
        self._queue, self._publisher = self._begin()

    def _ensure_thread(self) -> None:
        # Started lazily, so that a server that forks after configuration has a thread in each process.
        if self._thread is None and not self._queue.is_closed:
            thread = threading.Thread(target=self._run, name="aeron-logging", daemon=True)
            thread.start()
            self._thread = thread  # after its start: `close` in another thread joins it

    def _begin(self) -> tuple[RecordQueue, RecordPublisher]:
        queue = RecordQueue(self._capacity, self._when_full, self._block_timeout)
        return queue, RecordPublisher(queue, self._open_link, self._report_of, _report_error)

    def _event_of(self, record: logging.LogRecord) -> bytes:
        return self.format(record).encode(errors="replace") if self._is_raw else self._events(record)

    def _report_of(self, dropped: int) -> bytes:
        text = (
            f"{dropped} log records were dropped: at most {self._capacity} can wait, each no longer than a message; "
            "raise capacity, or term-length for long ones"
        )
        report = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None)
        report.dropped = dropped
        try:
            return self._event_of(report)
        except Exception:  # the formatter failed; `emit` reports such errors for records
            return self._events(report)

    def _open_link(self) -> PublicationLink:
        with ExitStack() as stack:
            aeron_dir = self._aeron_dir
            if self._is_embedded:
                from aeron_core.driver.media_driver import MediaDriver  # noqa: PLC0415 - slow to import, for `embedded` only

                settings: dict[str, object] = {"threading_mode": "SHARED"}
                if aeron_dir is not None:
                    settings["aeron_dir"] = aeron_dir
                aeron_dir = stack.enter_context(MediaDriver.launch_embedded(settings)).aeron_dir
                self._driver_errors = DriverErrors(aeron_dir, _print_stderr)
            aeron = stack.enter_context(connect(aeron_dir))
            publication = aeron.add_exclusive_publication(self._channel, self._stream_id)
            return PublicationLink(publication, confirmed_position(aeron, publication), stack.pop_all().close)

    def _run(self) -> None:
        queue, publisher = self._queue, self._publisher
        while not queue.is_closed:
            work = publisher.do_work(time.monotonic_ns())
            self._poll_driver_errors()
            if work:
                continue
            if publisher.is_idle:
                queue.wait()
            else:
                time.sleep(_PAUSE_S)
        deadline_s = time.monotonic() + self._close_timeout
        while not publisher.is_drained and time.monotonic() < deadline_s:
            if not publisher.do_work(time.monotonic_ns()):
                time.sleep(_PAUSE_S)
            self._poll_driver_errors()
        publisher.close()

    def _poll_driver_errors(self) -> None:
        if self._driver_errors is not None:
            self._driver_errors.poll()


def _report_error(error: Exception) -> None:
    _print_stderr(f"records wait: {error}")


def _print_stderr(text: str) -> None:
    # As `logging` does with its own errors: only if `raiseExceptions` is set.
    if logging.raiseExceptions and sys.stderr is not None:
        print(f"{__name__}: {' '.join(text.split())}", file=sys.stderr)


def _start_in_child() -> None:
    for handler in list(_handlers):
        handler.start_in_child()


@atexit.register
def _close_all() -> None:
    for handler in list(_handlers):
        handler.close()


os.register_at_fork(after_in_child=_start_in_child)
