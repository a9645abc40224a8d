"""Record publisher: publishes the messages of a queue over a link that is opened on demand and reopened after a loss.

    unlinked -> linked      the link was opened
    linked -> unlinked      the publication was closed (the driver stopped, or timed the client out),
                            or has reached its maximum position, or `close` was called

Invariant: a message that was taken from the queue is kept until it is published or counted as dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire

if TYPE_CHECKING:
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.shipping.record_queue import RecordQueue

#: Time between two attempts to open the link. An invented number: drivers restart within seconds.
_RETRY_INTERVAL_NS: Final = 1_000_000_000
#: Maximum number of messages per duty cycle.
_LIMIT: Final = 256


@dataclass(frozen=True, slots=True)
class PublicationLink:
    """A publication, its confirmed position, and the function that closes it with its client."""

    publication: ExclusivePublication
    confirmed_position: Callable[[], int]
    close: Callable[[], object]


class RecordPublisher:
    """Publisher of one queue; one thread calls `do_work` repeatedly, any thread may read `is_drained`."""

    def __init__(
        self,
        queue: RecordQueue,
        open_link: Callable[[], PublicationLink],
        report_of: Callable[[int], bytes],
        on_error: Callable[[Exception], object],
    ) -> None:
        """Publish `report_of(count)` after `count` messages were dropped.

        `on_error` gets the first of successive failures to open the link, and each failure to close it.
        """
        self._queue = queue
        self._open_link = open_link
        self._report_of = report_of
        self._on_error = on_error
        self._link: PublicationLink | None = None
        self._retry_ns: int | None = None
        self._message: bytes | None = None  # next message to publish
        self._is_taking = False  # a message may be neither in the queue nor in `_message`
        self._is_report = False  # `_message` reports dropped messages
        self._has_reported = False

    @property
    def is_idle(self) -> bool:
        """Whether no message is in the queue or kept for another attempt, and no dropped one has to be reported."""
        # In the order in which a message moves: one that has left the queue is being taken, or kept, or is published.
        return self._queue.is_empty and not self._is_taking and self._message is None

    @property
    def is_drained(self) -> bool:
        """Whether it is idle and, if the publication is open, its confirmed position has reached its position."""
        if not self.is_idle:
            return False
        link = self._link  # once: the thread of the publisher may close it meanwhile
        if link is None or link.publication.is_closed:
            return True
        return link.confirmed_position() >= link.publication.position

    def do_work(self, now_ns: int) -> int:
        """Publish up to 256 messages, until one is not accepted or there is no link; return the work count.

        A message that is too long counts as work; it is dropped, and counted as such unless it is a report.
        """
        count = 0
        while count < _LIMIT and self._has_message() and self._is_linked(now_ns) and self._publish(now_ns):
            count += 1
        return count

    def close(self) -> None:
        """Close the link, if it is open; an error is passed to `on_error`."""
        link, self._link = self._link, None
        if link is None:
            return
        try:
            link.close()
        except Exception as error:  # the link is unusable in any case
            self._on_error(error)

    def _has_message(self) -> bool:
        if self._message is None:
            self._is_taking = True
            dropped = self._queue.take_unreported()
            self._is_report = dropped > 0
            self._message = self._report_of(dropped) if dropped else self._queue.get()
            self._is_taking = False
        return self._message is not None

    def _is_linked(self, now_ns: int) -> bool:
        if self._link is not None:
            return True
        if self._retry_ns is not None and now_ns < self._retry_ns:
            return False
        self._retry_ns = now_ns + _RETRY_INTERVAL_NS
        try:
            self._link = self._open_link()
        except Exception as error:  # an error must not reach the program that logs; retry later
            if not self._has_reported:
                self._has_reported = True
                self._on_error(error)
            return False
        self._has_reported = False
        return True

    def _publish(self, now_ns: int) -> bool:
        if self._message is None or self._link is None:
            return False
        publication = self._link.publication
        if len(self._message) > publication.max_message_length:
            if not self._is_report:
                # A report that is too long must not cause another report.
                self._queue.drop()
            self._message = None
            return True
        result = publication.offer(self._message)
        if result >= 0:
            self._message = None
            return True
        if result in (wire.RESULT_CLOSED, wire.RESULT_MAX_POSITION_EXCEEDED):
            self.close()
            self._retry_ns = now_ns + _RETRY_INTERVAL_NS
        return result == wire.RESULT_ADMIN_ACTION
