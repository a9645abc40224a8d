"""Base of the publications that the sender sends over a network.

Here: the positions and limits that all of them have. What is sent, and when, is in the subclasses:
`NetworkPublication` cuts the log into datagrams, `AcknowledgedPublication` lets a connection read from it.
Invariant: all but the constructor runs on the sender; the conductor uses only the log, counters and AtomicLongs.
Source: aeron_network_publication.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.park import Bell
from aeron_core.driver._native import operations
from aeron_core.driver.agents.stream_activity import StreamActivity
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition, SubscriberPositions
from aeron_core.driver.sender.publisher_limit import PublisherLimit
from aeron_core.driver.sender.retransmit_handler import Resender

if TYPE_CHECKING:
    from aeron_core.driver.sender.publication_params import SendingPublicationParams


class SendingPublication(Resender):
    """One stream that is sent; subclasses define `send_pending` and `_has_subscribers`."""

    _is_connected: bool

    def __init__(self, params: SendingPublicationParams) -> None:
        self.registration_id = params.registration_id
        self.session_id = params.session_id
        self.stream_id = params.stream_id
        self.endpoint = params.endpoint
        self.log = params.log
        self.state = AtomicLong(operations.PUBLICATION_ACTIVE)
        self.is_end_of_stream = AtomicLong()
        self.has_receivers = AtomicLong()
        self.has_unicast_eos = AtomicLong()
        self.is_rung = AtomicLong(1)
        self.sender_position = params.sender_position
        self.sender_limit = params.sender_limit
        self.spies = SubscriberPositions()
        # Not at any position yet.
        self._last_producer_position = -1
        self.activity = StreamActivity()
        self._bell = params.bell or Bell()
        self._publisher_position = params.publisher_position
        self._publisher_limit = PublisherLimit(
            params.log, params.publisher_limit, params.publisher_window_length, params.position
        )

    def calm(self, now_ns: int) -> bool:
        """Make the stream quiet if nothing moves, is due or can be read; return whether it is."""
        return False

    def add_spy(self, spy: SubscriberPosition) -> int:
        """Add a spy, which starts at the sender position; return that position."""
        return self.spies.add(spy, self.sender_position.get())

    def send_pending(self, now_ns: int) -> int:
        """Send what may be sent; return the bytes that were sent, or that the peer newly confirmed, 0 if none."""
        return 0

    def may_rest(self) -> bool:
        """Return whether publishers ring the sender's bell, and all that they published is sent and read by spies.

        Apart from timers of 100 ms, only the bell, commands and the sockets give the stream work then.
        """
        return False

    def update_limit(self, now_ns: int) -> int:
        """Publish the publisher position, limit and connection of an active stream.

        Returns 1 if the limit changed or a part of the log was cleaned, else 0.
        """
        # Only an active stream has publishers to limit.
        if self.state.get_acquire() != operations.PUBLICATION_ACTIVE:
            return 0
        producer_position = self.log.producer_position()
        self._publisher_position.set_release(producer_position)
        if producer_position != self._last_producer_position:
            self._last_producer_position = producer_position
            self.activity.move(now_ns)
            if self.spies.lowest(producer_position) < producer_position:
                self._bell.ring_surely()
        if not self.log.is_revoked() and self._has_subscribers(now_ns):
            # Spies read the same log: the slowest of them and the sender determine how much of it is free.
            lowest = self.spies.lowest(self.sender_position.get())
            work = self._publisher_limit.advance(lowest)
            if work > 0 or lowest < producer_position:
                # There is more to send, or to read for spies.
                self.activity.move(now_ns)
            # Set after the limit: a publisher that sees itself connected also sees a limit that lets it publish.
            self._set_connected(True)
            return work
        self._set_connected(False)
        return self._publisher_limit.lower_to(self.sender_position.get())

    def _has_subscribers(self, now_ns: int) -> bool:
        return False

    def _set_connected(self, is_connected: bool) -> int:
        if self._is_connected != is_connected:
            self._is_connected = is_connected
            self.log.set_is_connected(is_connected)
        return 0
