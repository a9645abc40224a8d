"""IPC publication: a stream between processes of one host, which share the log itself.

There is nothing to send: the sender only moves the publisher limit ahead of the slowest subscriber and cleans the log
behind it.
Invariant: all but the constructor runs on the sender; the conductor uses only the log, counters and AtomicLongs.
Source: aeron_ipc_publication.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import pointers
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.park import Bell
from aeron_core.driver._native import operations
from aeron_core.driver.agents.stream_activity import RARE_NS, StreamActivity
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition, SubscriberPositions
from aeron_core.logbuffer.cleaner import clean_step

if TYPE_CHECKING:
    from aeron_core.driver.sender.publication_params import IpcPublicationParams


class IpcPublication:
    """One IPC stream as the sender sees it; the conductor creates it."""

    def __init__(self, params: IpcPublicationParams) -> None:
        position = params.position
        self.registration_id = params.registration_id
        self.session_id = params.session_id
        self.stream_id = params.stream_id
        self.log = params.log
        self.state = AtomicLong(operations.PUBLICATION_ACTIVE)
        self.consumer_position = AtomicLong(position)
        self.is_rung = AtomicLong(1)
        self.subscribers = SubscriberPositions()
        self._publisher_position = params.publisher_position
        self._publisher_limit = params.publisher_limit
        self._window_length = params.publisher_window_length
        self._trip_gain = params.publisher_window_length >> 3
        self._trip_limit = 0
        self._clean_position = position
        self._bell = params.bell or Bell()
        self._is_connected = False
        # Not at any position yet.
        self._last_producer_position = -1
        # Nothing is sent, hence there are no timers.
        self.activity = StreamActivity(RARE_NS)
        self._publisher_position.set_release(position)
        self._publisher_limit.set_release(position)

    def calm(self, now_ns: int) -> bool:
        """Make the stream quiet if nothing moved for ACTIVE_NS, and everything is consumed; return whether it is."""
        if not self.activity.is_over(now_ns):
            return False
        # The tails first: a message that is claimed after them is found by their sum.
        seen = pointers.sum_of_tails(self.log.tails())  # type: ignore[attr-defined]  # declared in C
        if self.log.producer_position() != self._last_producer_position:
            return False
        # Always looked at: publishers that ring do so when their window is full, and the position of others, and a ring
        # for coroutines that was lost, must not wait for that.
        attention = pointers.ALWAYS if self.may_rest() else pointers.RESTLESS
        self.activity.calm(self.log.tails(), seen, attention)  # type: ignore[attr-defined]  # as above
        return True

    def add_subscriber(self, subscriber: SubscriberPosition) -> int:
        """Add a subscriber at the position of the slowest one, at most that of the fastest; return that position."""
        consumed = self.consumer_position.get_acquire()
        if self.state.get_acquire() == operations.PUBLICATION_ACTIVE:
            # Subscribers may have read since the last visit: an idle sender visits a quiet stream now and then.
            consumed = self.subscribers.highest(consumed, self.log.producer_position())
        return self.subscribers.add(subscriber, self.subscribers.lowest(consumed))

    def update_limit(self, now_ns: int) -> int:
        """Publish position, limit and connection of an active stream; return 1 if the limit changed, else 0."""
        self.activity.visit(now_ns)
        # Only an active stream has publishers to limit.
        if self.state.get_acquire() != operations.PUBLICATION_ACTIVE:
            return 0
        producer_position = self.log.producer_position()
        is_new = producer_position != self._last_producer_position
        if is_new:
            self._last_producer_position = producer_position
            self.activity.move(now_ns)
        # The counter is for tools: publishers themselves claim with the tail counters in the log.
        self._publisher_position.set_release(producer_position)
        highest = self.subscribers.highest(self.consumer_position.get_acquire(), producer_position)
        if self.subscribers.size() == 0:
            self._set_connected(False)
            if self._publisher_limit.get() <= highest:
                return 0
            # Without subscribers publishers may not pass what was consumed: the next subscriber starts there.
            self._publisher_limit.set_release(highest)
            self._trip_limit = highest
            self._clean_position = clean_step(self.log, self._clean_position, highest)
            return 1
        self.consumer_position.set_release(highest)
        lowest = self.subscribers.lowest(producer_position)
        if is_new and lowest < producer_position:
            # Publishers ring for themselves, except those of other libraries; a ring without a fence may be lost. Those
            # that have read all may wait for the next message already.
            self._bell.ring_surely()
        work = self._advance(lowest)
        if work > 0 or lowest < producer_position:
            # There is more to read: a subscriber that does moves the limit.
            self.activity.move(now_ns)
        # Set after the limit: a publisher that sees itself connected also sees a limit that lets it publish.
        self._set_connected(True)
        return work

    def may_rest(self) -> bool:
        """Return whether all subscribers have read what was published: only publishers can give the stream work.

        They must ring when their window is full, or have a long one.
        """
        position = self.log.producer_position()
        return self.subscribers.lowest(position) == position and (
            self.is_rung.get_acquire() != 0
            or self.subscribers.size() == 0
            or self._publisher_limit.get() - position >= operations.RESTING_WINDOW_LENGTH
        )

    def _advance(self, lowest: int) -> int:
        # The limit moves in steps of more than an eighth of the window, not with each consumed message.
        limit = lowest + self._window_length
        if limit <= self._trip_limit:
            return 0
        # Clean first: the limit lets publishers into the cleaned part, where readers take zeros for "not written
        # yet".
        self._clean_position = clean_step(self.log, self._clean_position, lowest)
        self._publisher_limit.set_release(limit)
        self._trip_limit = limit + self._trip_gain
        return 1

    def _set_connected(self, is_connected: bool) -> int:
        if self._is_connected != is_connected:
            # Clients read the flag in the log: store it only when it changes, so that it stays in their caches.
            self._is_connected = is_connected
            self.log.set_is_connected(is_connected)
        return 0
