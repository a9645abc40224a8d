"""Display of a pipeline's progress: a table redrawn after each batch, or lines if stderr is not a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from aeron_core.cli.text_table import counted
from pyspark_aeron.lag import StreamLag
from pyspark_aeron.pipeline.progress import BatchProgress

_KIB = 1024


class ProgressDisplay:
    """Progress of all queries of a run on stderr; used by one thread."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._latest: dict[str, BatchProgress] = {}
        self._rows: dict[str, int] = {}
        self._live = (
            Live(self._table(), console=self._console, auto_refresh=False)
            if self._console.is_terminal
            else None
        )

    def show(self, progress: BatchProgress) -> None:
        """Show a batch; without a terminal only if it has rows."""
        self._latest[progress.query] = progress
        self._rows[progress.query] = self._rows.get(progress.query, 0) + progress.rows
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
        elif progress.rows:
            self._console.print(self.line(progress), soft_wrap=True, highlight=False)

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows read by each query, by its name."""
        return dict(self._rows)

    @staticmethod
    def line(progress: BatchProgress) -> str:
        """Return a batch as a line of text."""
        return (
            f"{progress.query}: batch {progress.batch_id}, {counted(progress.rows, 'row')} in {progress.batch_ms} ms, "
            f"{progress.rows_per_second:,.0f}/s, behind by {length(progress.lag_bytes)} and "
            f"{progress.lag_seconds:.1f} s"
        )

    def _table(self) -> Table:
        table = Table("query", box=None)
        for name in ("batch", "rows", "rows/s", "batch ms", "behind", "seconds"):
            table.add_column(name, justify="right")
        for query, progress in self._latest.items():
            table.add_row(
                query,
                str(progress.batch_id),
                f"{self._rows[query]:,}",
                f"{progress.rows_per_second:,.0f}",
                str(progress.batch_ms),
                length(progress.lag_bytes),
                f"{progress.lag_seconds:.1f}",
            )
            for stream in progress.streams:
                table.add_row(f"  {stream_name(stream)}", *[""] * 4, length(stream.bytes), age(stream))
        return table

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()


def stream_name(stream: StreamLag) -> str:
    """Return a readable name of a stream."""
    if not stream.channel:
        return f"recording {stream.recording_id}"
    return f"{stream.channel} {stream.stream_id} (recording {stream.recording_id})"


def age(stream: StreamLag) -> str:
    """Return the age of the first unread message in seconds, as text; `?` if unknown."""
    return "?" if stream.seconds is None else f"{stream.seconds:.1f}"


def length(count: int) -> str:
    """Return a number of bytes as text with a unit, from B to TiB."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < _KIB:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= _KIB
    return f"{value:,.1f} TiB"
