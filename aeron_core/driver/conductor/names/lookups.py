"""Threads for name lookups, so that DNS never blocks an agent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

#: Starts a lookup on another thread and returns at once. The lookup must not raise.
StartLookup = Callable[[Callable[[], None]], None]

#: Maximum number of concurrent lookups; more are queued. Chosen here: a few names that time out delay no others.
MAX_LOOKUPS: Final = 64


class LookupThreads:
    """Starter of a thread for each lookup, up to a limit. Any thread may call it."""

    def __init__(self, limit: int = MAX_LOOKUPS) -> None:
        self._limit = limit
        self._running = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()

    def __call__(self, lookup: Callable[[], None]) -> None:
        """Start a lookup, which must not raise, or queue it if `limit` lookups run.

        Raises RuntimeError if the system cannot start a thread.
        """
        with self._lock:
            # Decided under the lock, as in `_run`: a lookup is either queued while a thread still takes
            # from the queue, or gets its own thread.
            if self._running >= self._limit:
                self._waiting.append(lookup)
                return
            self._running += 1
        try:
            # A daemon thread: neither the driver nor the process waits for a lookup that hangs.
            threading.Thread(target=self._run, args=(lookup,), name="aeron-resolver", daemon=True).start()
        except BaseException:
            with self._lock:
                self._running -= 1
            raise

    def _run(self, lookup: Callable[[], None]) -> None:
        while True:
            # Must not raise: the thread would end without lowering the count.
            lookup()
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                lookup = self._waiting.popleft()
