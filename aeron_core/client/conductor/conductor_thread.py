"""The thread of a client's conductor, or of a resilient client."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ConductorThread:
    """Thread that calls `do_work` in a loop and sleeps after a call without work; `wake` ends the sleep early.

    `idle_s` returns the seconds to sleep, None to end the thread.
    """

    def __init__(
        self,
        do_work: Callable[[], int],
        idle_s: Callable[[], float | None],
        name: str = "aeron-client-conductor",
    ) -> None:
        self._do_work = do_work
        self._idle_s = idle_s
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """End the current or the next sleep of the thread at once. Any thread may call it."""
        self._wake.set()

    def join(self) -> None:
        """Wake the thread and wait until it has ended, unless called on the thread itself."""
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
