"""A flag that a signal handler may set, whatever it interrupts.

`threading.Event` has a lock that is taken for a moment to set it and to wait for it: a handler that comes just then,
as when a signal comes twice, waits for its own thread for ever.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue


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
        if not self._is_set:
            try:
                self._tokens.get(timeout=timeout)
            except Empty:
                return self._is_set
            # For the next who waits.
            self._tokens.put(None)
        return True
