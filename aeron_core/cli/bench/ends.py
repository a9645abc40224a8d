"""The end of a benchmark by a signal: its drivers and its second process are closed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Final

#: Signals that would end the process without an effect on its drivers and its second process.
_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
#: Interval in seconds at which the exception is raised again. Invented: much longer than an exception needs.
_AGAIN_S: Final = 0.5


@contextmanager
def stack_closed_by_signals() -> Iterator[ExitStack]:
    """Yield a stack, on the main thread; the first signal raises SystemExit, which closes it, and others are ignored.

    An exception is lost where exceptions are ignored, such as in callbacks of weak references, which importlib calls
    for each module. So it is raised again until the stack is closed.
    """
    code = 0

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal code
        code = 128 + number
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
        sys.exit(code)

    def again(_number: int, _frame: FrameType | None) -> None:
        sys.exit(code)

    # With nohup, SIGHUP is ignored.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, end)
    try:
        with ExitStack() as stack:
            try:
                yield stack
            finally:
                # What closes is not interrupted.
                if code:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
