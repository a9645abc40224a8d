"""SIGINT and SIGTERM as a flag for loops."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Final, Self

from aeron_core.concurrent.flag import Flag

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """True once SIGINT or SIGTERM has arrived in the `with` block; a second signal has its previous effect.

    A flag instead of KeyboardInterrupt, which is lost if it is raised where exceptions are ignored, such as in a
    finalizer. Enter it on the main thread, the only one that may set signal handlers.
    """

    def __init__(self) -> None:
        self._flag = Flag()
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` or until the signal; return whether the signal arrived."""
        return self._flag.wait(seconds)

    def __bool__(self) -> bool:
        return self._flag.is_set()

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._flag.set()
        self._restore()

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
