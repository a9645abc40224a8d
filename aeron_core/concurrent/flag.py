"""A flag that a signal handler may set, whatever code it interrupts.

`threading.Event` takes a lock to set it and to wait for it: a handler that runs while its own thread holds that lock
(as when a signal arrives twice) waits forever.

A signal that arrives just before the thread blocks, or in another thread, does not wake it: Python runs the handler
when the main thread continues. Therefore a waiting thread wakes up at intervals to check the flag.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final

#: Maximum delay of a signal that did not wake the waiting thread. Invented: hardly noticeable, at almost no cost.
_CHECK_INTERVAL_S: Final = 0.5


class Flag:
    """A flag that any thread or signal handler may set, repeatedly too; it is never cleared."""

    def __init__(self) -> None:
        self._is_set = False
        # `SimpleQueue.put` is reentrant: a signal handler may call it while the same thread is in `put` or `get`.
        self._tokens: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Set the flag and wake the waiting threads."""
        # Set before the token is put: a thread that the token wakes must find the flag set.
        self._is_set = True
        self._tokens.put(None)

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, at most `timeout` seconds (None: without limit); return whether it is set."""
        end_s = None if timeout is None else time.monotonic() + timeout
        while not self._is_set:
            left_s = _CHECK_INTERVAL_S if end_s is None else min(end_s - time.monotonic(), _CHECK_INTERVAL_S)
            try:
                self._tokens.get(timeout=max(left_s, 0))
            except Empty:
                if left_s <= 0:
                    return self._is_set
            else:
                # Put the token back for the next waiting thread.
                self._tokens.put(None)
        return True
