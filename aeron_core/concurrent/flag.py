"""A flag that a signal handler may set, whatever code it interrupts.

`threading.Event` takes a lock to set it and to wait for it: a handler that runs while its own thread holds that lock
(as when a signal arrives twice) waits forever. So may `SimpleQueue.get` with a timeout, before Python 3.13: if the time
is over while it prepares to wait, or in a signal handler, it waits for the next signal.

A signal that arrives just before the thread blocks, or in another thread, does not wake it: Python runs the handler
when the main thread continues. Therefore a waiting thread wakes up at intervals to check the flag.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Final

#: Maximum delay of a signal that did not wake the waiting thread. Invented: hardly noticeable, at almost no cost.
_CHECK_INTERVAL_S: Final = 0.5


class Flag:
    """A flag that any thread or signal handler may set, repeatedly too; it is never cleared."""

    def __init__(self) -> None:
        self._is_set = False
        # Locked until the flag is set; the thread that then gets it releases it for the next one. Only `release`, which
        # never waits, is called in a signal handler.
        self._gate = threading.Lock()
        self._gate.acquire()

    def set(self) -> None:
        """Set the flag and wake the waiting threads."""
        # Set before the gate is opened: a thread that gets it must find the flag set.
        self._is_set = True
        self._open_gate()

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, at most `timeout` seconds (None: without limit); return whether it is set."""
        end_s = None if timeout is None else time.monotonic() + timeout
        while not self._is_set:
            left_s = _CHECK_INTERVAL_S if end_s is None else min(end_s - time.monotonic(), _CHECK_INTERVAL_S)
            if self._gate.acquire(timeout=max(left_s, 0)):
                self._open_gate()
            elif left_s <= 0:
                return self._is_set
        return True

    def _open_gate(self) -> None:
        # RuntimeError: another call or thread has opened it meanwhile, and it stays open.
        with suppress(RuntimeError):
            self._gate.release()
