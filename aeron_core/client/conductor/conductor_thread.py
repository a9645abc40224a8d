"""Runs a client's conductor on a Python thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ConductorThread:
    """Calls `do_work` again and again, and sleeps when there was none; `wake` ends the sleep early.

    `idle_s` is asked each time: how long to sleep, None to end.
    """

    def __init__(self, do_work: Callable[[], int], idle_s: Callable[[], float | None]) -> None:
        self._do_work = do_work
        self._idle_s = idle_s
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="aeron-client-conductor", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Have `do_work` called at once."""
        self._wake.set()

    def join(self) -> None:
        """Wait for the end, unless this is the thread itself."""
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            work = self._do_work()
            idle_s = self._idle_s()
            if idle_s is None:
                return
            if work == 0 and self._wake.wait(idle_s):
                self._wake.clear()
