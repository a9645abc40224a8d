"""Errors of a driver, read from its error log, for the program that embeds the driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aeron_core.concurrent.error_log import read_errors
from aeron_core.protocol.cnc import CNC_FILE, CncFile

_INTERVAL_S: Final = 1.0


class DriverErrors:
    """Reports each distinct error of a driver once; one thread uses it.

    The constructor raises CncNotReadyError, CncIncompatibleError or StorageError if `cnc.dat` cannot be read.
    """

    def __init__(self, aeron_dir: Path, report: Callable[[str], object]) -> None:
        cnc, self._file = CncFile.observe(aeron_dir / CNC_FILE)
        self._error_log = cnc.error_log
        self._report = report
        self._reported: set[str] = set()
        self._next_check_s = time.monotonic()

    def poll(self) -> None:
        """Report new errors; read the log at most once per second, so that every duty cycle may call this.

        Raises ProtocolError if the error log is damaged, StorageError if the file was truncated.
        """
        if time.monotonic() < self._next_check_s:
            return
        self._next_check_s = time.monotonic() + _INTERVAL_S
        self._file.check()
        for record in read_errors(self._error_log):
            if record.text not in self._reported:
                self._reported.add(record.text)
                self._report(record.line)
