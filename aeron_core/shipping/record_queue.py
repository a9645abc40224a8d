"""Queue of messages from the threads that log to the thread that publishes.

Invariant: at most `capacity` messages; each is queued, taken by the publisher, or counted as dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from enum import Enum


class WhenFull(Enum):
    """Policy for a message when the queue is full."""

    DROP_NEWEST = "drop-newest"
    DROP_OLDEST = "drop-oldest"
    BLOCK = "block"  # wait up to the block timeout, then drop the newest


class RecordQueue:
    """A bounded queue with many producers and one consumer."""

    def __init__(self, capacity: int, when_full: WhenFull, block_timeout: float) -> None:
        """Hold at most `capacity` messages; with WhenFull.BLOCK, `put` waits up to `block_timeout` seconds."""
        self.capacity = capacity
        self.dropped = 0  # since the beginning
        self._when_full = when_full
        self._block_timeout = block_timeout
        self._messages: deque[bytes] = deque()
        self._condition = threading.Condition()
        self._unreported = 0
        self._has_timed_out = False
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: bytes) -> None:
        """Add a message; drop it if the queue is closed, and apply the policy of the queue if it is full.

        Any thread may call it. After a `put` has timed out, none waits before a message is taken.
        """
        with self._condition:
            if not self._is_closed and self._ensure_space():
                self._messages.append(message)
                self._condition.notify_all()
            elif self._is_closed:
                # Not reported: threads that log on would cause report after report, and the publisher would not end.
                self.dropped += 1
            else:
                self._count_dropped()

    def get(self) -> bytes | None:
        """Remove and return the oldest message, None if the queue is empty."""
        with self._condition:
            if not self._messages:
                return None
            self._has_timed_out = False
            message = self._messages.popleft()
            if len(self._messages) == self.capacity - 1:
                self._condition.notify_all()
            return message

    def drop(self) -> None:
        """Count a message as dropped because it cannot be published."""
        with self._condition:
            self._count_dropped()

    def take_unreported(self) -> int:
        """Return how many messages were dropped since the last call, without those that the closed queue refused."""
        with self._condition:
            count, self._unreported = self._unreported, 0
            return count

    def wait(self) -> None:
        """Wait until a message is queued or the queue is closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._messages or self._is_closed)

    def close(self) -> None:
        """Refuse further messages and wake waiting threads; queued messages can still be taken."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    @property
    def is_empty(self) -> bool:
        """Whether no message is queued, and no dropped one has to be reported."""
        with self._condition:
            return not self._messages and not self._unreported

    @property
    def is_closed(self) -> bool:
        """Whether the queue refuses messages."""
        return self._is_closed

    def _has_space(self) -> bool:
        return len(self._messages) < self.capacity

    def _ensure_space(self) -> bool:
        if self._has_space():
            return True
        if self._when_full is WhenFull.DROP_OLDEST:
            self._messages.popleft()
            self._count_dropped()
            return True
        # Once a thread has timed out, none waits again before a message is taken: they would time out one by one.
        if self._when_full is WhenFull.BLOCK and not self._has_timed_out:
            self._condition.wait_for(lambda: self._has_space() or self._is_closed, self._block_timeout)
            self._has_timed_out = not self._has_space()
        return self._has_space() and not self._is_closed

    def _count_dropped(self) -> None:
        self.dropped += 1
        self._unreported += 1
