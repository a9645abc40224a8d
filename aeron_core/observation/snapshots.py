"""Snapshots of a driver: all that its files show, read one after the other, with the time of the reading.

Not here: recorded snapshots (`history`), and what follows from two of them (`rates`, `limits`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.concurrent.error_log import ErrorRecord, read_errors
from aeron_core.concurrent.loss_report import LossEntry, read_loss_report
from aeron_core.errors import AeronError
from aeron_core.frozen import frozen
from aeron_core.observation.clients import ObservedClient, clients_of
from aeron_core.observation.driver_files import DriverFiles, open_loss_report
from aeron_core.observation.drivers import DriverState, state_of_files
from aeron_core.observation.log_parameters import IMAGES, PUBLICATIONS, LogParameters, LogReader
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, streams_of
from aeron_core.protocol.cnc import CNC_FILE

_NS_PER_MS = 1_000_000
_T = TypeVar("_T")


@frozen()
class DriverSnapshot:
    """What the files of one driver showed; the parts were not all read at one instant.

    `time_ns` is since the epoch, `monotonic_ns` is for differences between snapshots of one process or recording.
    `logs` has the parameters of those logs that could be read, by the registration id of the log. `problems` has the
    errors of parts that could not be read, or not to their end.
    """

    time_ns: int  # time of the snapshot, since the epoch
    monotonic_ns: int  # the same on the monotonic clock
    driver: DriverState  # state of the driver
    counters: tuple[CounterRecord, ...]  # in the order of their ids
    errors: tuple[ErrorRecord, ...] = ()  # distinct error log
    losses: tuple[LossEntry, ...] = ()  # loss report
    logs: Mapping[int, LogParameters] = field(
        default_factory=dict
    )  # parameters by registration id of the log
    problems: tuple[str, ...] = ()  # errors of what could not be read

    @cached_property
    def streams(self) -> list[StreamSession]:
        """The streams, sorted by stream id and session id."""
        return streams_of(self.counters)

    def stream(self, stream_id: int, session_id: int) -> StreamSession | None:
        """Return one of `streams`, None if it is not there."""
        return self._by_id.get((stream_id, session_id))

    @cached_property
    def _by_id(self) -> dict[tuple[int, int], StreamSession]:
        return {(each.stream_id, each.session_id): each for each in self.streams}

    @cached_property
    def clients(self) -> dict[int, ObservedClient]:
        """The clients by id."""
        return clients_of(self.counters, self.time_ns // _NS_PER_MS)

    @property
    def recordings(self) -> list[CounterRecord]:
        """The counters with the positions of recordings, of our recorder or of Aeron Archive."""
        return [record for record in self.counters if record.type_id == types.RECORDING_POSITION]

    def losses_of(self, stream: StreamSession) -> list[LossEntry]:
        """Return the entries of the loss report for a stream, of any channel and source."""
        return [
            entry
            for entry in self.losses
            if entry.stream_id == stream.stream_id and entry.session_id == stream.session_id
        ]

    def is_same_driver(self, other: DriverSnapshot) -> bool:
        """Return whether both are of one run of one driver, so that counters with the same id can be compared."""
        return (self.driver.aeron_dir, self.driver.pid, self.driver.start_timestamp_ms) == (
            other.driver.aeron_dir,
            other.driver.pid,
            other.driver.start_timestamp_ms,
        )


class DriverObserver:
    """Takes snapshots of the driver in a directory, also after another driver has replaced it. One thread at a time."""

    def __init__(self, aeron_dir: Path | str) -> None:
        """Open nothing: the driver may start later."""
        self.aeron_dir = Path(aeron_dir)
        self._files: DriverFiles | None = None
        self._identity: tuple[int, int] | None = None

    def snapshot(self) -> DriverSnapshot:
        """Return what the files show now.

        After the directory was deleted, the files that were mapped before are read. Raises CncNotReadyError if there is
        no driver, or this user may not read its `cnc.dat`; CncIncompatibleError if that is damaged or has another
        version; StorageError if it cannot be mapped, or was truncated since.
        """
        files = self._current_files()
        problems: list[str] = []
        time_ns, monotonic_ns = time.time_ns(), time.monotonic_ns()
        counters = tuple(files.counters)
        streams = streams_of(counters)
        found = DriverSnapshot(
            time_ns,
            monotonic_ns,
            state_of_files(files),
            counters,
            _readable(read_errors(files.cnc.error_log), problems),
            self._losses(problems),
            self._logs(files, streams),
            tuple(problems),
        )
        # As if it had been computed already.
        vars(found)["streams"] = streams
        return found

    def _current_files(self) -> DriverFiles:
        identity = self._identity
        with suppress(OSError):
            status = (self.aeron_dir / CNC_FILE).stat()
            identity = (status.st_dev, status.st_ino)
        if self._files is None or identity != self._identity:
            self._files = DriverFiles.open(self.aeron_dir)
            self._identity = identity
        return self._files

    def _losses(self, problems: list[str]) -> tuple[LossEntry, ...]:
        try:
            report = open_loss_report(self.aeron_dir)
        except AeronError as error:
            problems.append(str(error))
            return ()
        return _readable(read_loss_report(report), problems)

    def _logs(self, files: DriverFiles, streams: Iterable[StreamSession]) -> dict[int, LogParameters]:
        found = {}
        reader = LogReader(self.aeron_dir, files.cnc.pid)
        for stream in streams:
            logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
            for log in logs:
                folder = PUBLICATIONS if isinstance(log, SentStream) else IMAGES
                parameters = reader.read(folder, log.registration_id)
                if parameters is not None:
                    found[log.registration_id] = parameters
        return found


def _readable(entries: Iterator[_T], problems: list[str]) -> tuple[_T, ...]:
    """Return the entries up to the first damaged one, whose error is added to `problems`."""
    found: list[_T] = []
    try:
        for entry in entries:
            found.append(entry)  # noqa: PERF402 - the entries before a damaged one count
    except AeronError as error:
        problems.append(str(error))
    return tuple(found)
