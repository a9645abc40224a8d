"""What goes wrong in a driver that a command has started, told while the command goes on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from aeron_core.cli.driver_files import DriverFiles
from aeron_core.cli.outcome import say
from aeron_core.concurrent.error_log import read_errors

_INTERVAL_S: Final = 1.0


class DriverWarnings:
    """Says each distinct error of a driver once; nobody else can, as its directory is its own."""

    def __init__(self, aeron_dir: Path) -> None:
        self._error_log = DriverFiles.open(aeron_dir).cnc.error_log
        self._told: set[str] = set()
        self._look_s = time.monotonic()

    def look(self) -> None:
        """Say what is new, if it is time to look; cheap enough for every cycle."""
        if time.monotonic() < self._look_s:
            return
        self._look_s = time.monotonic() + _INTERVAL_S
        for record in read_errors(self._error_log):
            if record.text not in self._told:
                self._told.add(record.text)
                say(f"warning: {record.text}")
