"""State of an archive that is served: its files, and what is active; requests and agents share it.

Invariant: the archive's thread alone uses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aeron_core.archive.server.files.segment_files import SegmentFiles, refused
from aeron_core.errors import AeronError, ArchiveErrorCode, ClosedError
from aeron_core.protocol.archive.codes import NULL_VALUE

if TYPE_CHECKING:
    from aeron_core.archive.server.channels import StreamRequest
    from aeron_core.archive.server.event_stream import EventStream
    from aeron_core.archive.server.files.catalog import Catalog
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.limit_counters import LimitCounters
    from aeron_core.archive.server.params import ArchiveServerParams
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.aeron import Aeron
    from aeron_core.protocol.archive.sbe import SbeMessage

#: Carries out a request of a session; raises ArchiveRefusedError for one that it refuses.
RequestHandler = Callable[["ServedSession", "SbeMessage"], None]


class Worker(Protocol):
    """Something that is active until it is done."""

    is_done: bool

    def do_work(self, now_ms: int) -> int:
        """Do the next step; return the work count."""

    def close(self) -> None:
        """Release what it holds."""


class RecordingInProgress(Protocol):
    """A recording that is active."""

    recording_id: int

    @property
    def stream(self) -> RecordingSource:
        """The stream that it records."""

    @property
    def position(self) -> int:
        """The position up to which it is written, in bytes."""

    @property
    def is_done(self) -> bool:
        """Whether it is stopped."""

    def do_work(self, now_ms: int) -> int:
        """Write what has arrived; return the work count."""

    def stop(self, now_ms: int) -> None:
        """Stop it, once."""


class RecordingSource(Worker, Protocol):
    """A stream that a request has added, and whose images are recorded."""

    request: StreamRequest
    session: ServedSession
    correlation_id: int
    channel: str
    subscription_id: int
    recordings: list[RecordingInProgress]

    def drop(self, recording: RecordingInProgress) -> None:
        """Forget a recording that was stopped."""


class ReplayInProgress(Worker, Protocol):
    """A replay that is active."""

    recording_id: int
    replay_id: int

    @property
    def segment_base(self) -> int:
        """The position at which the file begins that is read next."""


class DeletionInProgress(Worker, Protocol):
    """Files that are being deleted."""

    last_base: int


@dataclass(slots=True)
class ServedArchive:
    """One archive; times are milliseconds since the epoch."""

    aeron: Aeron
    params: ArchiveServerParams
    folder: Path
    archive_id: int
    catalog: Catalog
    events: EventStream | None
    limits: LimitCounters
    now_ms: int = 0
    streams: dict[tuple[int | str, ...], RecordingSource] = field(default_factory=dict)
    detached_streams: list[RecordingSource] = field(default_factory=list)  # that no request can name any more
    recordings: dict[int, RecordingInProgress] = field(default_factory=dict)
    replays: dict[int, ReplayInProgress] = field(default_factory=dict)  # by the id of the replay
    replications: dict[int, Worker] = field(default_factory=dict)
    deletions: dict[int, DeletionInProgress] = field(default_factory=dict)  # by the id of the recording
    sessions: dict[int, ServedSession] = field(default_factory=dict)
    _last_id: int = field(default_factory=lambda: int.from_bytes(os.urandom(3), "little"))

    def raise_if_closed(self, error: Exception) -> None:
        """Raise `error` if it is because the client is closed: then nothing of the archive can continue."""
        if isinstance(error, ClosedError) and self.aeron.is_closed:
            raise error

    def next_id(self) -> int:
        """Return an id for a session or a replication, which no other one of this process has."""
        self._last_id += 1
        return self._last_id

    def report(self, error: AeronError) -> None:
        """Report an error that does not stop the archive."""
        self.params.on_error(error)

    def recording(self, recording_id: int) -> Catalogued:
        """Return a recording; raise ArchiveRefusedError if there is none with that id."""
        entry = self.catalog.entries.get(recording_id)
        if entry is None:
            raise refused(f"unknown recording id: {recording_id}", ArchiveErrorCode.UNKNOWN_RECORDING)
        return entry

    def files(self, entry: Catalogued) -> SegmentFiles:
        """Return the files of a recording."""
        return SegmentFiles(self.folder, entry)

    def recorded_position(self, entry: Catalogued) -> int:
        """Return the position up to which a recording is stored, whether it is active or not."""
        active = self.recordings.get(entry.recording_id)
        return entry.stop_position if active is None else active.position

    def stopped(self, recording_id: int, what: str) -> Catalogued:
        """Return a recording; raise ArchiveRefusedError if it is unknown or active. `what`: such as `truncate`."""
        entry = self.recording(recording_id)
        if entry.stop_position == NULL_VALUE or recording_id in self.recordings:
            raise refused(f"cannot {what} active recording {recording_id}", ArchiveErrorCode.ACTIVE_RECORDING)
        return entry

    def check_space(self) -> None:
        """Raise ArchiveRefusedError if too little space is free for another recording."""
        status = os.statvfs(self.folder)
        free = status.f_bavail * status.f_frsize
        if free <= self.params.low_space:
            raise refused(
                f"{free} bytes are free in {self.folder}: must be more than {self.params.low_space}",
                ArchiveErrorCode.STORAGE_SPACE,
            )
