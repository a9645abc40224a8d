"""Exit handler that closes open clients and drivers: clients first, then the drivers that serve them.

The streams of a client that exits without closing stay open until the driver times the client out, by default ten
seconds later. Not covered: a process that is killed, and `os._exit`.
Invariant: a process closes only what it opened itself, so that a forked child leaves its parent's clients alone.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import Final

CLIENT: Final = 0
DRIVER: Final = 1

# Weak references to the close methods; values are CLIENT or DRIVER, and the id of the process that opened the object.
_open: dict[weakref.WeakMethod[Callable[[], None]], tuple[int, int]] = {}


def close_at_exit(close: Callable[[], None], turn: int) -> None:
    """Register a call of the bound method `close`, which must be idempotent, for the exit of this process.

    It is not called if its object is deleted before, and an exception that it raises is logged. `turn`: CLIENT or
    DRIVER; all clients are closed before the first driver.
    """
    _open[weakref.WeakMethod(close, _forget)] = (turn, os.getpid())


def _forget(reference: weakref.WeakMethod[Callable[[], None]]) -> None:
    _open.pop(reference, None)


@atexit.register
def _close_all() -> None:
    for reference, (_, process_id) in sorted(_open.items(), key=lambda item: item[1][0]):
        close = reference()
        if close is None or process_id != os.getpid():
            continue
        try:
            close()
        except Exception:
            import logging  # noqa: PLC0415 - slow to import: only this error needs it

            logging.getLogger(__name__).exception("cannot close %r at the exit of the process", close)
