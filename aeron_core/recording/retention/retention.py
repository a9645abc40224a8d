"""Retention: finds segments that exceed the policy and deletes them one at a time.

Not here: deleting a segment (purge), and the positions of readers (leases).
Invariant: it never deletes the last segment of a live or abandoned recording, the last one of a recording that
batches are appended to, and what a valid lease needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aeron_core.errors import AeronError, ConfigurationError, RecordingError
from aeron_core.recording.retention.leases import DEFAULT_LEASE_TIMEOUT_NS, Lease, needed_from, read_leases
from aeron_core.recording.retention.purge import purge_before, purge_recording
from aeron_core.recording.retention.states import RecordingState, state_of
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.index import ENTRY, entries_of
from aeron_core.recording.storage.recording import Recording

#: Interval of checks. An invented number: until the next check, an archive can exceed a limit by what is
#: recorded in five seconds.
_CHECK_INTERVAL_NS: Final = 5_000_000_000


#: Start of the text on a lease in messages.
_CONSUMER: Final = "consumer "
_GROWING: Final = (RecordingState.LIVE, RecordingState.ABANDONED)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Limits of an archive: size of all segments, and age of each; None: no limit.

    The constructor raises ConfigurationError for a value below 1.
    """

    max_bytes: int | None = None  # of all segment files of the archive
    max_age_ns: int | None = None  # since the last frame of a segment was recorded
    lease_timeout_ns: int = DEFAULT_LEASE_TIMEOUT_NS

    def __post_init__(self) -> None:
        for name, value in (
            ("max_bytes", self.max_bytes),
            ("max_age_ns", self.max_age_ns),
            ("lease_timeout_ns", self.lease_timeout_ns),
        ):
            if value is not None and value <= 0:
                raise ConfigurationError(f"retention {name}={value}: must be at least 1, or left out")

    @property
    def is_limited(self) -> bool:
        """Whether the size or the age is limited."""
        return self.max_bytes is not None or self.max_age_ns is not None


@dataclass(frozen=True, slots=True, order=True)
class _Segment:
    end_ns: int  # when its last frame was recorded
    recording_id: int
    base_position: int
    end_position: int
    length: int  # bytes of the file
    is_last: bool
    holder: str = ""  # the reader or writer that needs it, or empty


class Retention:
    """Applies a policy to an archive; the thread of its recorder or uploader calls `do_work` in each cycle."""

    def __init__(
        self, archive: Archive, policy: RetentionPolicy, report: Callable[[AeronError], object]
    ) -> None:
        self._archive = archive
        self._policy = policy
        self._report = report
        self._next_check_ns = 0
        self._queue: deque[_Segment] = deque()
        self._reported = ""

    def do_work(self, now_ns: int) -> int:
        """Delete at most one segment and return its bytes, 0 if none; the last segment with its recording.

        `now_ns`: since the epoch. Errors are passed to `report`.
        """
        if not self._policy.is_limited or (not self._queue and now_ns < self._next_check_ns):
            return 0
        try:
            if not self._queue:
                self._next_check_ns = now_ns + _CHECK_INTERVAL_NS
                self._queue.extend(self._find(now_ns))
            return self._delete(self._queue.popleft(), now_ns) if self._queue else 0
        except AeronError as error:
            self._queue.clear()
            self._report_once(error)
            return 0
        except OSError as error:
            self._queue.clear()
            self._report_once(
                RecordingError(
                    f"{self._archive.uri}: cannot delete old segments: {error}; check the network, and that the "
                    "credentials of the store allow to read, write and delete files"
                )
            )
            return 0

    def _find(self, now_ns: int) -> list[_Segment]:
        """Return the segments to delete, oldest first; pass an excess that must stay to `report`."""
        leases = read_leases(self._archive.store)
        segments = sorted(
            segment
            for recording in self._archive.recordings()
            for segment in self._segments_of(recording, leases, now_ns)
        )
        found, held = [], set()
        excess = self._excess(segments)
        blocked: set[int] = set()  # recordings with an earlier segment that must stay
        for segment in segments:
            if excess <= 0 and not self._is_old(segment, now_ns):
                continue
            if segment.holder or segment.recording_id in blocked:
                blocked.add(segment.recording_id)
                held.add(segment.holder)
                continue
            found.append(segment)
            excess -= segment.length
        if excess > 0:
            self._report_excess(excess, held)
        else:
            self._reported = ""
        return found

    def _excess(self, segments: list[_Segment]) -> int:
        limit = self._policy.max_bytes
        return 0 if limit is None else sum(segment.length for segment in segments) - limit

    def _is_old(self, segment: _Segment, now_ns: int) -> bool:
        age_ns = self._policy.max_age_ns
        return age_ns is not None and now_ns - segment.end_ns > age_ns

    def _segments_of(self, recording: Recording, leases: list[Lease], now_ns: int) -> list[_Segment]:
        store, recording_id = self._archive.store, recording.recording_id
        needed = needed_from(leases, recording_id, now_ns, self._policy.lease_timeout_ns)
        state = state_of(recording, now_ns)
        position, segment_length = recording.position, recording.descriptor.segment_length
        bases = recording.segments()
        found = []
        for base in bases:
            end = min(base + segment_length, position)
            is_last = base == bases[-1]
            holder = ""
            if needed is not None and (needed[0] < end or (is_last and state is not RecordingState.ENDED)):
                holder = f"{_CONSUMER}{needed[1]!r}"
            elif is_last and state in _GROWING:
                holder = "a recorder"
            elif is_last and recording.descriptor.appender is not None:
                # The last segment is deleted with its recording, which has the id of the last batch: without this id, a
                # retry would append the batch again.
                holder = "an appender"
            length = max(store.size(f"{recording_id}/{names.segment_file(recording_id, base)}"), 0)
            end_ns = self._end_ns(recording, base, now_ns)
            found.append(_Segment(end_ns, recording_id, base, end, length, is_last, holder))
        return found

    def _end_ns(self, recording: Recording, base: int, now_ns: int) -> int:
        store, recording_id = self._archive.store, recording.recording_id
        name = f"{recording_id}/{names.index_file(recording_id, base)}"
        count = max(store.size(name), 0) // ENTRY.itemsize
        if count == 0:
            return recording.descriptor.stop_time_ns or now_ns
        return int(entries_of(store.read(name, (count - 1) * ENTRY.itemsize, ENTRY.itemsize))["time_ns"][0])

    def _delete(self, segment: _Segment, now_ns: int) -> int:
        if segment.is_last:
            return purge_recording(self._archive.store, segment.recording_id, now_ns)
        return purge_before(self._archive.store, segment.recording_id, segment.end_position)

    def _report_excess(self, excess: int, held: set[str]) -> None:
        holders = ", ".join(sorted(held - {""})) or "live recordings"
        remedy = "raise the limit"
        if any(holder.startswith(_CONSUMER) for holder in held):
            remedy += ", or remove consumers that have stopped reading"
        self._report_once(
            RecordingError(
                f"{self._archive.uri}: cannot keep to the limit of {self._policy.max_bytes} (in bytes); what is needed "
                f"by {holders} exceeds it by {excess}; {remedy}"
            )
        )

    def _report_once(self, error: AeronError) -> None:
        text = str(error).partition(";")[0]
        if text != self._reported:
            self._reported = text
            self._report(error)
