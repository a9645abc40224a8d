"""A flag that a signal handler may set, whatever it interrupts.

`threading.Event` has a lock that is taken for a moment to set it and to wait for it: a handler that comes just then,
as when a signal comes twice, waits for its own thread for ever.

A signal that comes just before the thread blocks, or to another thread, does not wake it: Python runs the handler
when the main thread goes on. So who waits looks up now and then.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final

#: How late a signal may be that did not wake who waits. An invented number: soon for people, seldom for processors.
_LOOK_INTERVAL_S: Final = 0.5


class Flag:
    """Set once, by anybody, any number of times."""

    def __init__(self) -> None:
        self._is_set = False
        # Its `put` may interrupt itself and `get`.
        self._tokens: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Set the flag, and wake who waits."""
        self._is_set = True
        self._tokens.put(None)

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, no longer than `timeout` seconds; return whether it is."""
        end_s = None if timeout is None else time.monotonic() + timeout
        while not self._is_set:
            left_s = _LOOK_INTERVAL_S if end_s is None else min(end_s - time.monotonic(), _LOOK_INTERVAL_S)
            try:
                self._tokens.get(timeout=max(left_s, 0))
            except Empty:
                if left_s <= 0:
                    return self._is_set
            else:
                # For the next who waits.
                self._tokens.put(None)
        return True
