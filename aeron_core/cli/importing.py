"""SIGINT while modules are imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kill_by_interrupt() -> Iterator[None]:
    """Let SIGINT kill the process in the `with` block, in which modules are imported and nothing is to be closed.

    A KeyboardInterrupt is lost where exceptions are ignored, such as in callbacks of weak references, which importlib
    calls for each module: a driver that got the signal in its first second sometimes continued. A handler that is not
    Python's own stays. Other threads than the main thread may set no handler: there, this changes nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
