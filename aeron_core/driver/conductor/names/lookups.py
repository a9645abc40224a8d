"""Threads on which names are looked up, so that nobody who moves messages waits for DNS."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

#: Has a look-up done elsewhere, sometime, and comes back at once. The look-up raises nothing.
StartLookup = Callable[[Callable[[], None]], None]

#: Look-ups at a time; more wait for one that ends. Invented: enough that a few dead names hold up nobody else.
MAX_LOOKUPS: Final = 64


class LookupThreads:
    """Starts a thread for each look-up, up to a limit. Any thread may call it."""

    def __init__(self, limit: int = MAX_LOOKUPS) -> None:
        self._limit = limit
        self._running = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()

    def __call__(self, lookup: Callable[[], None]) -> None:
        """See `StartLookup`."""
        with self._lock:
            if self._running >= self._limit:
                self._waiting.append(lookup)
                return
            self._running += 1
        try:
            # A daemon: neither the driver nor the process waits for a look-up that hangs.
            threading.Thread(target=self._run, args=(lookup,), name="aeron-resolver", daemon=True).start()
        except BaseException:
            with self._lock:
                self._running -= 1
            raise

    def _run(self, lookup: Callable[[], None]) -> None:
        while True:
            lookup()
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                lookup = self._waiting.popleft()
