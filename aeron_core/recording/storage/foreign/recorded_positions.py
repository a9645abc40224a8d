"""Positions of live recordings of an Aeron Archive, from the counters of its driver.

The Archive moves the counter of a recording after each write. Source: RecordingPos.java.
"""

from __future__ import annotations

import os
import struct
import time
from typing import Final

from aeron_core._native import wire
from aeron_core.concurrent.counters import CountersReader
from aeron_core.concurrent.mapped_file import ObservedFile
from aeron_core.errors import AeronError, StorageError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign.mark_file import ArchiveMark, read_mark

#: Type of the counter of a recording's position. Source: AeronCounters.ARCHIVE_RECORDING_POSITION_TYPE_ID.
RECORDING_POSITION_TYPE_ID: Final = 100
#: Time without a sign of life after which the Archive counts as dead. Source: Archive.Configuration.
LIVENESS_TIMEOUT_MS: Final = 10_000

#: Interval between reads of the mark file, and between searches for counters. An invented number: a hundredth of the
#: liveness timeout.
_INTERVAL_S: Final = 0.1
_KEY: Final = struct.Struct("<qii")  # recording id, session id, length of the source identity
_ARCHIVE_ID: Final = struct.Struct("<q")


class RecordedPositions:
    """Positions of the live recordings of one archive; one thread uses it."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._mark: ArchiveMark | None = None
        self._mark_time_s = float("-inf")
        self._counters: CountersReader | None = None
        self._file: ObservedFile | None = None  # the file of the counters
        self._driver_file: tuple[int, int] | None = None  # device and inode of the mapped file
        self._ids: dict[int, int] = {}  # counter ids by recording id
        self._ids_time_s = float("-inf")

    @property
    def activity_ms(self) -> int:
        """Time of the Archive's last sign of life in milliseconds since the epoch, 0 if unknown."""
        self._refresh()
        return 0 if self._mark is None else max(self._mark.activity_ms, 0)

    @property
    def is_running(self) -> bool:
        """Whether the Archive has shown a sign of life within the liveness timeout."""
        return time.time() * 1000 - self.activity_ms < LIVENESS_TIMEOUT_MS

    def position(self, recording_id: int) -> int | None:
        """Return the position up to which a recording was written, None if it has no counter that can be read."""
        self._refresh()
        counters = self._counters
        if counters is None or self._file is None:
            return None
        try:
            self._file.check()
        except StorageError:
            return None  # truncated: the driver cannot continue, and its successor has another file
        counter_id = self._ids.get(recording_id)
        if counter_id is None or self._recording_of(counters, counter_id) != recording_id:
            self._search(counters)
            counter_id = self._ids.get(recording_id)
            if counter_id is None:
                return None
        position = counters.value(counter_id)
        # The counter may have been freed since it was found, and its id reused.
        return position if self._recording_of(counters, counter_id) == recording_id else None

    def _refresh(self) -> None:
        """Read the mark file again if that is due, and map the counters of the driver that it names."""
        now_s = time.monotonic()
        if now_s - self._mark_time_s < _INTERVAL_S:
            return
        self._mark, self._mark_time_s = read_mark(self._store), now_s
        driver_file = _identity_of(self._mark)
        if driver_file == self._driver_file:
            return
        self._counters, self._driver_file = None, None
        self._ids, self._ids_time_s = {}, float("-inf")
        if self._mark is None or driver_file is None:
            return
        try:
            cnc, self._file = CncFile.observe(self._mark.aeron_dir / CNC_FILE)
        except AeronError:
            return  # of another version, or not complete yet
        self._counters, self._driver_file = (
            CountersReader(cnc.counters_metadata, cnc.counters_values),
            driver_file,
        )

    def _search(self, counters: CountersReader) -> None:
        """Find the counters of all recordings, if that is due: there may be thousands of both."""
        now_s = time.monotonic()
        if now_s - self._ids_time_s < _INTERVAL_S:
            return
        self._ids, self._ids_time_s = {}, now_s
        for counter_id in counters.allocated_ids():
            recording_id = self._recording_of(counters, counter_id)
            if recording_id is None:
                continue
            # The driver has not yet freed the counter of an Archive that died, if there are two.
            other = self._ids.get(recording_id)
            if other is None or counters.value(other) <= counters.value(counter_id):
                self._ids[recording_id] = counter_id

    def _recording_of(self, counters: CountersReader, counter_id: int) -> int | None:
        """Return the id of the recording of this archive whose position a counter has, None if it is another one."""
        if (
            counters.type_id(counter_id) != RECORDING_POSITION_TYPE_ID
            or counters.state(counter_id) != wire.COUNTER_STATE_ALLOCATED
        ):
            return None
        key = counters.key(counter_id)
        recording_id: int
        recording_id, _, length = _KEY.unpack_from(key)
        mark, at = self._mark, _KEY.size + length
        if mark is None or mark.archive_id is None or not _KEY.size <= at <= len(key) - _ARCHIVE_ID.size:
            return recording_id
        # Two archives may use one driver. Old versions store no archive id.
        (archive_id,) = _ARCHIVE_ID.unpack_from(key, at)
        return recording_id if archive_id in {0, mark.archive_id} else None


def _identity_of(mark: ArchiveMark | None) -> tuple[int, int] | None:
    """Return device and inode of the driver's file, which a new driver replaces; None if there is none."""
    if mark is None:
        return None
    try:
        status = os.stat(mark.aeron_dir / CNC_FILE)
    except OSError:
        return None
    return status.st_dev, status.st_ino
