"""Samples of the drivers' counters: positions only grow, and what a driver reports is remembered for later checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from aeron_core.concurrent.counters import CounterRecord, CountersReader
from aeron_core.concurrent.error_log import read_errors
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CncFile

#: Types of counters that never decrease: snd-pos, rcv-hwm, sub-pos, rcv-pos, pub-pos, rec-pos.
GROWING = {2: "snd-pos", 3: "rcv-hwm", 4: "sub-pos", 5: "rcv-pos", 12: "pub-pos", 100: "rec-pos"}
RECORDED = 100


class DriverFiles:
    """The files of a driver on one machine, of its present process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._cnc: CncFile | None = None
        self._inode = 0

    def counters(self) -> list[CounterRecord]:
        """Return the allocated counters, none without a driver."""
        cnc = self._open()
        return list(CountersReader(cnc.counters_metadata, cnc.counters_values)) if cnc else []

    def pid(self) -> int:
        """Return the id of the process that made the files, 0 without one."""
        cnc = self._open()
        return cnc.pid if cnc else 0

    def errors(self) -> Iterator[str]:
        """Yield the distinct errors of the driver."""
        cnc = self._open()
        if cnc:
            for record in read_errors(cnc.error_log):
                yield record.text.strip()

    def log_buffers(self) -> list[Path]:
        """Return the log buffers in the directory."""
        return sorted(self.directory.glob("*/*.logbuffer"))

    def _open(self) -> CncFile | None:
        path = self.directory / "cnc.dat"
        try:
            inode = path.stat().st_ino
            if self._cnc is None or self._inode != inode:
                self._cnc, self._inode = CncFile.open(path, read_only=True), inode
        except (OSError, AeronError):
            self._cnc = None
        return self._cnc


class Monitor:
    """Compares samples of the growing counters of one driver directory."""

    def __init__(self, name: str, files: DriverFiles, report: Callable[[str], None]) -> None:
        self._name, self._files, self._report = name, files, report
        self._last: dict[tuple[object, ...], int] = {}
        self.recorded: dict[int, int] = {}  # greatest reported position by recording id
        self.recorded_of_session: dict[int, int] = {}
        self.errors: dict[str, None] = {}
        self.opened = 0  # greatest number of datagrams that one endpoint has opened with a key

    def sample(self) -> None:
        """Read all counters once."""
        pid = self._files.pid()
        for record in self._files.counters():
            if record.type_id in GROWING:
                self._compare(pid, record)
            elif record.label.startswith("security-opened"):
                self.opened = max(self.opened, record.value)
        for error in self._files.errors():
            self.errors[error] = None

    def _compare(self, pid: int, record: CounterRecord) -> None:
        key = pid, record.id, record.type_id, record.registration_id, record.label
        before = self._last.get(key)
        if before is not None and record.value < before:
            # The record may have been freed and reused while it was read.
            again = next((other for other in self._files.counters() if other.id == record.id), None)
            if again is not None and (again.registration_id, again.label) == (
                record.registration_id,
                record.label,
            ):
                self._report(f"{self._name}: {record.label} went back from {before} to {again.value}")
            return
        self._last[key] = record.value
        if record.type_id == RECORDED:
            fields = record.label.split()
            recording_id, session_id = int(fields[1]), int(fields[2])
            self.recorded[recording_id] = max(self.recorded.get(recording_id, 0), record.value)
            self.recorded_of_session[session_id] = record.value
