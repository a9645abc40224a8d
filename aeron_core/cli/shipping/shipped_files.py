"""Files that a command ships: shown on a terminal while it runs, and as a summary at the end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from aeron_core.cli.options import is_terminal
from aeron_core.cli.text_table import counted
from aeron_core.shipping.shipper import Shipper

_INTERVAL_S: Final = 0.5


class ShippedFiles:
    """Confirmed lines and the backlog; shown on stderr if it is a terminal."""

    def __init__(self, *, has_end: bool = False) -> None:
        """With `has_end` a bar shows the share of the files' bytes: they do not grow."""
        self._total: int | None = None
        self._has_end = has_end
        self._start_s = time.monotonic()
        self._shown_s = self._start_s
        self._lines = 0
        # Totals of the shippers that were closed: each driver that starts gets a new shipper.
        self._lines_before = 0
        self._bytes_before = 0
        self.file_count = 0
        #: Unconfirmed messages of the last shipper.
        self.in_flight = 0
        self._progress: Progress | None = None
        if is_terminal():
            columns = (TextColumn("shipped"), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
            bar = (BarColumn(), TaskProgressColumn()) if has_end else ()
            self._progress = Progress(*columns, *bar, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=None, text="")

    def show(self, shipper: Shipper) -> None:
        """Update the display if it is due; cheap enough for every duty cycle."""
        now_s = time.monotonic()
        is_first = self._has_end and self._total is None and shipper.file_count > 0
        if self._progress is None or (now_s - self._shown_s < _INTERVAL_S and not is_first):
            return
        if self._has_end:
            # What is in flight is missing in this sum: the largest one is that of the first calls.
            found = self._bytes_before + shipper.bytes + shipper.unread_length
            self._total = max(self._total or 0, found)
        rate = (shipper.lines - self._lines) / max(now_s - self._shown_s, 1e-9)
        self._shown_s, self._lines = now_s, shipper.lines
        text = (
            f"{counted(shipper.lines, 'line')} of {counted(shipper.file_count, 'file')}, {rate:,.0f}/s, "
            f"{shipper.in_flight:,} in flight, {counted(shipper.unread_length, 'byte')} behind"
        )
        completed = self._bytes_before + shipper.bytes
        self._progress.update(self._task, text=text, total=self._total, completed=completed)

    def add(self, shipper: Shipper) -> None:
        """Add the totals of a shipper that is about to be closed."""
        self._lines_before += shipper.lines
        self._bytes_before += shipper.bytes
        self.file_count = shipper.file_count
        self.in_flight = shipper.in_flight
        self._lines = 0

    def document(self) -> dict[str, object]:
        """Return the totals as a JSON document.

        Lines and bytes are those of all shippers added, files and unconfirmed messages those of the last one.
        """
        return {
            "lines": self._lines_before,
            "bytes": self._bytes_before,
            "files": self.file_count,
            "unconfirmed_messages": self.in_flight,
            "seconds": round(time.monotonic() - self._start_s, 6),
        }

    def sentence(self) -> str:
        """Return the lines and bytes of all shippers added, and the files of the last one, as a sentence."""
        seconds = max(time.monotonic() - self._start_s, 1e-9)
        return (
            f"shipped {counted(self._lines_before, 'line')} of {counted(self._bytes_before, 'byte')} from "
            f"{counted(self.file_count, 'file')} in {seconds:.3f} s: {self._lines_before / seconds:,.0f} lines/s"
        )

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
        if self._progress is not None:
            self._progress.stop()
