"""The terminal of the view, which may be closed at any time.

Textual's writer ends at the first error of a write, and the next writes, from the event loop, then wait for it without
end: no signal is handled any more. Here what is written to a closed terminal is dropped.
"""

from __future__ import annotations

import select
import sys
from contextlib import suppress
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Textual's driver for a terminal that may be closed."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        """Open nothing yet."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # It has what Textual uses of a file.
        self._file = cast("Any", _ForgivingFile(cast("IO[str]", self._file)))


class _ForgivingFile:
    """A text file that drops what cannot be written."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def is_terminal_gone() -> bool:
    """Return whether the terminal of the standard input was closed. The kernel sends SIGHUP to one session alone."""
    stdin = sys.__stdin__
    if stdin is None:
        return True
    poll = select.poll()
    try:
        # Without an event: errors and hang-ups are always reported.
        poll.register(stdin.fileno(), 0)
    except (OSError, ValueError):
        return True
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
