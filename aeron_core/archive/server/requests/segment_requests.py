"""Requests that shorten recordings and move their segments.

Source: ArchiveConductor.java: truncateRecording, purgeRecording, detachSegments, deleteDetachedSegments, purgeSegments,
attachSegments, migrateSegments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.archive.server.deletion import Deletion
from aeron_core.archive.server.files.segment_files import base_in, refused
from aeron_core.archive.server.requests.replay_requests import stop_replays
from aeron_core.errors import ArchiveErrorCode
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import RecordingSignal

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession


class SegmentRequests:
    """Handlers of requests; a method raises ArchiveRefusedError for one that is refused."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive

    def handlers(self) -> Mapping[type, object]:
        """Return the handler of each request."""
        return {
            requests.TruncateRecordingRequest: self._truncate,
            requests.PurgeRecordingRequest: self._purge,
            requests.DetachSegmentsRequest: self._detach,
            requests.DeleteDetachedSegmentsRequest: self._delete_detached,
            requests.PurgeSegmentsRequest: self._purge_segments,
            requests.AttachSegmentsRequest: self._attach,
            requests.MigrateSegmentsRequest: self._migrate,
        }

    def _truncate(self, session: ServedSession, request: requests.TruncateRecordingRequest) -> None:
        archive, position = self._archive, request.position
        entry = archive.stopped(request.recording_id, "truncate")
        start, stop = entry.start_position, entry.stop_position
        if not start <= position <= stop or position % wire.FRAME_ALIGNMENT:
            raise refused(
                f"position {position}: must be a multiple of {wire.FRAME_ALIGNMENT} from {start} to {stop}",
                ArchiveErrorCode.INVALID_POSITION,
            )
        self._check_no_deletion(entry)
        files = archive.files(entry)
        base, paths = files.base_of(position), files.all_paths()
        if position == start:
            doomed = paths
        else:
            doomed = [path for path in paths if (found := base_in(path.name)) is not None and found > base]
            if position == base:
                doomed.append(files.path(base))
            elif position < stop and not files.has_frame_at(position):
                raise refused(f"position {position}: no frame begins there")
        # The catalogue first: after a crash in between, a reader ends before what is missing.
        archive.catalog.update(entry.recording_id, stop_position=position)
        stop_replays(archive, entry.recording_id)
        if start < position != base and position < stop:
            files.erase_after(position)
        self._delete(session, request.correlation_id, entry, doomed)

    def _purge(self, session: ServedSession, request: requests.PurgeRecordingRequest) -> None:
        archive, recording_id = self._archive, request.recording_id
        archive.recording(recording_id)
        if any(replay.recording_id == recording_id for replay in archive.replays.values()):
            raise refused(
                f"cannot purge recording {recording_id} with an active replay",
                ArchiveErrorCode.ACTIVE_RECORDING,
            )
        entry = archive.stopped(recording_id, "purge")
        self._check_no_deletion(entry)
        archive.catalog.delete(recording_id)
        self._delete(session, request.correlation_id, entry, archive.files(entry).all_paths())

    def _detach(self, session: ServedSession, request: requests.DetachSegmentsRequest) -> None:
        entry = self._archive.recording(request.recording_id)
        self._check_detach(entry, request.new_start_position)
        self._archive.catalog.update(entry.recording_id, start_position=request.new_start_position)
        session.respond(request.correlation_id)

    def _delete_detached(
        self, session: ServedSession, request: requests.DeleteDetachedSegmentsRequest
    ) -> None:
        entry = self._archive.recording(request.recording_id)
        self._check_no_deletion(entry)
        self._delete(session, request.correlation_id, entry, self._detached(entry))

    def _purge_segments(self, session: ServedSession, request: requests.PurgeSegmentsRequest) -> None:
        entry = self._archive.recording(request.recording_id)
        self._check_detach(entry, request.new_start_position)
        self._check_no_deletion(entry)
        old = self._archive.files(entry).base_of(entry.start_position)
        entry = self._archive.catalog.update(entry.recording_id, start_position=request.new_start_position)
        doomed = [path for path in self._detached(entry) if (base_in(path.name) or 0) >= old]
        self._delete(session, request.correlation_id, entry, doomed)

    def _attach(self, session: ServedSession, request: requests.AttachSegmentsRequest) -> None:
        archive = self._archive
        entry = archive.recording(request.recording_id)
        self._check_no_deletion(entry)
        files, length = archive.files(entry), entry.segment_length
        start, count = entry.start_position, 0
        base = files.base_of(start) - length
        while base >= 0 and files.path(base).exists():
            found = files.path(base).stat().st_size
            if found != length:
                raise refused(f"{files.path(base)}: has {found} bytes: must have {length}")
            start, count = files.first_frame_of(base), count + 1
            archive.catalog.update(entry.recording_id, start_position=start)
            if start != base:
                break
            base -= length
        session.respond(request.correlation_id, count)

    def _migrate(self, session: ServedSession, request: requests.MigrateSegmentsRequest) -> None:
        archive = self._archive
        source = archive.stopped(request.src_recording_id, "migrate")
        target = archive.recording(request.dst_recording_id)
        _check_same_stream(source, target)
        is_before = source.stop_position == target.start_position
        if not is_before and source.start_position != target.stop_position:
            raise refused(
                f"recordings {source.recording_id} and {target.recording_id} are not contiguous: they begin at "
                f"{source.start_position} and {target.start_position} and end at {source.stop_position} and "
                f"{target.stop_position}"
            )
        self._check_no_deletion(source)
        join = source.stop_position if is_before else source.start_position
        files, into = archive.files(source), archive.files(target)
        for side in (files, into):
            if side.base_of(join) != join:
                raise refused(
                    f"position {join}: must be the begin of a segment of recording {side.recording.recording_id}"
                )
        first = files.base_of(source.start_position)
        bases = range(first, source.stop_position, source.segment_length)
        for base in bases:
            if not files.path(base).exists() or into.path(base).exists():
                raise refused(f"{files.path(base)}: must exist, and {into.path(base)} must not")
        for base in bases:
            files.path(base).rename(into.path(base))
        changed = (
            {"start_position": source.start_position}
            if is_before
            else {"stop_position": source.stop_position}
        )
        archive.catalog.update(target.recording_id, **changed)
        archive.catalog.update(source.recording_id, stop_position=source.start_position)
        empty = files.path(source.stop_position)  # an archive that stops at the end of a segment leaves one
        session.respond(request.correlation_id, len(bases))
        if empty.exists():
            self._begin(session, request.correlation_id, source, [empty])
        elif bases:
            session.signal(RecordingSignal.DELETE, request.correlation_id, source.recording_id)

    def _delete(
        self, session: ServedSession, correlation_id: int, entry: Catalogued, paths: list[Path]
    ) -> None:
        """Respond with the number of files, and delete them."""
        session.respond(correlation_id, len(paths))
        self._begin(session, correlation_id, entry, paths)

    def _begin(
        self, session: ServedSession, correlation_id: int, entry: Catalogued, paths: Iterable[Path]
    ) -> None:
        deletion = Deletion(self._archive, session, correlation_id, entry.recording_id, paths)
        self._archive.deletions[entry.recording_id] = deletion

    def _detached(self, entry: Catalogued) -> list[Path]:
        """Return the files before the segment of the start position."""
        files = self._archive.files(entry)
        first = files.base_of(entry.start_position)
        return [path for path in files.all_paths() if (base_in(path.name) or 0) < first]

    def _check_no_deletion(self, entry: Catalogued) -> None:
        if entry.recording_id in self._archive.deletions:
            raise refused(f"recording {entry.recording_id}: another deletion is in progress")

    def _check_detach(self, entry: Catalogued, position: int) -> None:
        archive, files = self._archive, self._archive.files(entry)
        least = files.base_of(entry.start_position) + entry.segment_length
        most = files.base_of(archive.recorded_position(entry))
        if not least <= position <= most or position != files.base_of(position):
            raise refused(f"start position {position}: must be the begin of a segment from {least} to {most}")
        read = [
            replay.segment_base
            for replay in archive.replays.values()
            if replay.recording_id == entry.recording_id
        ]
        if read and min(read) < position:
            raise refused(f"start position {position}: a replay reads the segment at {min(read)}")


def _check_same_stream(source: Catalogued, target: Catalogued) -> None:
    for name in ("segment_length", "term_length", "initial_term_id", "stream_id", "mtu_length"):
        found, wanted = getattr(source, name), getattr(target, name)
        if found != wanted:
            raise refused(
                f"recordings {source.recording_id} and {target.recording_id} differ: {name}={found} and {wanted}"
            )
    if source.recording_id == target.recording_id:
        raise refused(
            f"recording {source.recording_id}: cannot be migrated to itself", ArchiveErrorCode.GENERIC
        )
