"""Throughput of a command: shown on a terminal while it runs, and as a summary at the end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from aeron_core.cli.options import is_terminal
from aeron_core.cli.text_table import counted

_INTERVAL_S: Final = 0.1
_MEGABYTE: Final = 1_000_000


class RateDisplay:
    """Messages and bytes so far; shown on stderr if it is a terminal, with a bar if a total is known."""

    def __init__(self, what: str, total: int | None = None, total_length: int | None = None) -> None:
        """Begin a display; `total` counts messages, and `total_length` bytes of messages with a line end after each."""
        self.messages = 0
        self.bytes = 0
        self._start_s = time.monotonic()
        self._next_s = 0.0
        self._end_s: float | None = None
        self._progress: Progress | None = None
        if is_terminal():
            columns = [TextColumn(what), TextColumn("{task.fields[rate]}"), TimeElapsedColumn()]
            self._counts_bytes = total is None
            total = total_length if total is None else total
            bar = [BarColumn(), TaskProgressColumn()] if total else []
            self._progress = Progress(*columns, *bar, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=total, rate="")

    def add(self, messages: int, length: int) -> None:
        """Count messages with `length` bytes in total; update the display at most every 0.1 s."""
        self.messages += messages
        self.bytes += length
        now_s = time.monotonic()
        if self._progress is not None and now_s >= self._next_s:
            self._next_s = now_s + _INTERVAL_S
            rate = (
                f"{counted(self.messages, 'message')}, {self.messages_per_s:,.0f}/s, "
                f"{self.megabytes_per_s:,.1f} MB/s"
            )
            # The last line of a file may have no line end.
            completed = self.bytes + self.messages if self._counts_bytes else self.messages
            self._progress.update(self._task, completed=completed, rate=rate)

    @property
    def seconds(self) -> float:
        """Duration of the transfer, or its duration so far."""
        return (time.monotonic() if self._end_s is None else self._end_s) - self._start_s

    @property
    def messages_per_s(self) -> float:
        """Mean number of messages per second since the start of the transfer."""
        return self.messages / max(self.seconds, 1e-9)

    @property
    def megabytes_per_s(self) -> float:
        """Mean payload per second since the start of the transfer, in units of 10**6 bytes."""
        return self.bytes / _MEGABYTE / max(self.seconds, 1e-9)

    def summary(self) -> dict[str, object]:
        """Return totals, seconds and mean rates as a JSON document."""
        return {
            "messages": self.messages,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 6),
            "messages_per_second": round(self.messages_per_s, 1),
            "megabytes_per_second": round(self.megabytes_per_s, 3),
        }

    def sentence(self, verb: str) -> str:
        """Return totals, seconds and mean rates as a sentence that begins with `verb`, such as `sent`."""
        return (
            f"{verb} {counted(self.messages, 'message')} of {counted(self.bytes, 'byte')} in {self.seconds:.3f} s: "
            f"{self.messages_per_s:,.0f} messages/s, {self.megabytes_per_s:,.1f} MB/s"
        )

    def start(self) -> None:
        """Measure the duration from now, not from the creation of the display."""
        self._start_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end_s = time.monotonic()
        if self._progress is not None:
            self._progress.stop()
