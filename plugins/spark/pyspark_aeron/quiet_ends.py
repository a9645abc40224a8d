"""Ends of Python workers of Spark without a traceback.

Spark closes the connection of a task that it does not need, as after `limit`, and those of workers that were idle for a
minute: of tasks, and of the processes that look up, create and plan a data source or commit its rows. The daemon of a
worker, which is the main module of its process, prints what it could not flush then.
"""

from __future__ import annotations

import functools
import sys
import traceback
from typing import Final

_DAEMON: Final = "pyspark.daemon"


@functools.cache
def end_quietly() -> None:
    """Let the daemon of this worker end it without a traceback if its connection is closed, once per process.

    Other errors are printed as before. Outside of a worker it has no effect.
    """
    daemon = sys.modules["__main__"]
    is_daemon = getattr(daemon.__spec__, "name", None) == _DAEMON
    if is_daemon and getattr(daemon, "traceback", None) is traceback:
        vars(daemon)["traceback"] = _DaemonTraceback()


class _DaemonTraceback:
    """The module `traceback` for the daemon."""

    def __getattr__(self, name: str) -> object:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        """Print the current exception unless it is that of a closed connection."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            traceback.print_exc()
