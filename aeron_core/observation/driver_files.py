"""Files of any driver, of aeron-core or of Aeron, alive or dead, mapped read-only."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.counters import CountersReader
from aeron_core.concurrent.loss_report import LOSS_REPORT_FILE
from aeron_core.concurrent.mapped_file import ObservedFile, open_mapped_file
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import CncNotReadyError, StorageError
from aeron_core.protocol.cnc import CNC_FILE, CncFile

#: Source: AERONDRIVER_TIMEOUT_MS default; cnc.dat does not contain the driver's own value.
DRIVER_TIMEOUT_MS: Final = 10_000


class DriverFiles:
    """The file `cnc.dat` of a directory, mapped for reading.

    Each use of `cnc` and `counters` first checks that the file was not truncated, and raises StorageError if it was.
    What they return must be used at once, not kept: an access past the end of the file kills the process (SIGBUS).
    """

    __slots__ = ("_cnc", "_counters", "_file")

    def __init__(self, cnc: CncFile, file: ObservedFile) -> None:
        self._cnc: Final = cnc
        self._file: Final = file
        self._counters: Final = CountersReader(cnc.counters_metadata, cnc.counters_values)

    @classmethod
    def open(cls, aeron_dir: Path) -> DriverFiles:
        """Map the file.

        Raises CncNotReadyError if there is none, its driver has not finished its start, or this user may not open it;
        CncIncompatibleError if it is damaged or has another version, StorageError if it cannot be mapped.
        """
        try:
            cnc, file = CncFile.observe(aeron_dir / CNC_FILE)
        except CncNotReadyError as error:
            raise CncNotReadyError(
                f"no media driver is accessible in {aeron_dir}: {error}; choose another directory with --aeron-dir or "
                "AERON_DIR"
            ) from error
        return cls(cnc, file)

    @property
    def cnc(self) -> CncFile:
        """The file, whose length was just checked."""
        self._file.check()
        return self._cnc

    @property
    def counters(self) -> CountersReader:
        """The counters of the file, whose length was just checked."""
        self._file.check()
        return self._counters

    @property
    def version(self) -> str:
        """Version of the file, as major.minor.patch."""
        version = self.cnc.version
        return f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"

    @property
    def heartbeat_age_ms(self) -> int | None:
        """Age of the driver's last heartbeat in ms, at least 0; None if it has shut down or never ran."""
        heartbeat_ms = ManyToOneRingBuffer(self.cnc.to_driver).consumer_heartbeat_ms
        # The clock may have been set back since the heartbeat.
        return max(int(time.time() * 1000) - heartbeat_ms, 0) if heartbeat_ms > 0 else None

    @property
    def is_alive(self) -> bool:
        """Whether the last heartbeat is at most 10 s old, the default driver timeout."""
        age_ms = self.heartbeat_age_ms
        return age_ms is not None and age_ms <= DRIVER_TIMEOUT_MS

    def system_counter(self, system_id: int) -> int:
        """Return the value of a system counter, 0 if this driver does not have it."""
        # Another driver may have fewer counters than ours, also in its buffers.
        if system_id > self.counters.max_counter_id:
            return 0
        is_allocated = self.counters.state(system_id) == wire.COUNTER_STATE_ALLOCATED
        return self.counters.value(system_id) if is_allocated else 0


def open_loss_report(aeron_dir: Path) -> AtomicBuffer:
    """Map the loss report of a driver; raise StorageError if there is none or it cannot be mapped."""
    try:
        return open_mapped_file(aeron_dir / LOSS_REPORT_FILE, read_only=True)
    except StorageError as error:
        if error.errno != errno.ENOENT:
            raise
        raise StorageError(
            error.errno, f"{error.strerror}; name the directory of a driver with --aeron-dir or AERON_DIR"
        ) from error
