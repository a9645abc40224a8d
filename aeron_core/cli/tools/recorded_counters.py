"""Recording of counters into a file, for `aeron-core stat --history`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import is_terminal, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.progress import share_bar
from aeron_core.cli.text_table import counted
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import CncNotReadyError
from aeron_core.observation.history_writer import CounterHistoryWriter
from aeron_core.observation.snapshots import DriverObserver, DriverSnapshot

#: Seconds between two updates of the bar. Invented.
_BAR_INTERVAL_S: Final = 0.5

Select = Callable[[Iterable[CounterRecord]], Iterator[CounterRecord]]


def record_counters(  # noqa: PLR0913 - the options of the command
    aeron_dir: Path, file: Path, select: Select, interval: float, duration: float | None, *, json: bool
) -> None:
    """Write a snapshot every `interval` seconds, for `duration` seconds or until a signal; call on the main thread.

    The first snapshot is taken at once; `duration` 0 is this one only. While a driver starts again, none is taken.
    Raises the errors of `DriverObserver.snapshot` for the first one, those of `CounterHistoryWriter`, and OSError if
    the file cannot be written.
    """
    observer = DriverObserver(aeron_dir)
    # Before the file is created, and before pyarrow is imported, which takes up to seconds.
    observer.snapshot()
    with Interrupt() as interrupt, CounterHistoryWriter(file) as writer, ExitStack() as stack:
        if is_terminal():
            print_stderr(f"recording the counters of {aeron_dir} into {file}; interrupt to end")
        pause: Callable[[float], object] = interrupt.wait
        if duration:
            pause = _Pause(interrupt, stack.enter_context(share_bar("recorded", duration)))
        for snapshot in _snapshots(observer, interrupt, pause, interval, duration):
            writer.write(replace(snapshot, counters=tuple(select(snapshot.counters))))
    length = file.stat().st_size
    if json:
        print_json({"file": str(file), "snapshots": writer.snapshots, "bytes": length})
    else:
        print_stderr(
            f"recorded {counted(writer.snapshots, 'snapshot')} into {file}: {counted(length, 'byte')}"
        )


class _Pause:
    """Waits for an interrupt, and shows the time since its creation on a bar meanwhile."""

    def __init__(self, interrupt: Interrupt, show: Callable[[float], object]) -> None:
        self._interrupt = interrupt
        self._show = show
        self._start_s = time.monotonic()

    def __call__(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0 and not self._interrupt:
            self._interrupt.wait(min(left_s, _BAR_INTERVAL_S))
            self._show(time.monotonic() - self._start_s)


def _snapshots(
    observer: DriverObserver,
    interrupt: Interrupt,
    pause: Callable[[float], object],
    interval: float,
    duration: float | None,
) -> Iterator[DriverSnapshot]:
    next_time = time.monotonic()
    end = None if duration is None else next_time + duration
    while not interrupt:
        # No driver: it may be starting again.
        with suppress(CncNotReadyError):
            yield observer.snapshot()
        # The interval includes the time of a snapshot; those that are overdue are left out.
        next_time = max(next_time + interval, time.monotonic())
        if end is not None and next_time > end:
            pause(max(end - time.monotonic(), 0.0))
            return
        pause(max(next_time - time.monotonic(), 0.0))
