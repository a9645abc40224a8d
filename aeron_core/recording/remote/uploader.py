"""Moves what was recorded from a spool on this machine to an archive elsewhere, segment by segment.

Not here: the thread that runs it (upload_thread).
Invariant: a file is deleted here after it and a catalogue that knows of it are there. What is to be done is found
in the spool itself, so that it survives the process.

The catalogue there says of a recording that it was stopped where its last segment ends: readers see a whole
recording that is longer each time they look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aeron_core.errors import AeronError, ConfigurationError, RecordingError, RecordingNotFoundError
from aeron_core.recording.retention.purge import purge_before, purge_recording
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import read_descriptor, write_descriptor
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.recording import Recording

_S: Final = 1_000_000_000
#: Between two attempts that failed: doubled each time, up to the second. Invented numbers: a short trouble is over
#: soon, and nobody counts attempts of one a minute.
FIRST_RETRY_NS: Final = _S
LAST_RETRY_NS: Final = 60 * _S
#: How long the tail of a recording stays here that was stopped and may go on. An invented number: a recorder that
#: comes back later begins another recording, and nothing is lost by that.
_TAIL_LINGER_NS: Final = 3600 * _S

Report = Callable[[AeronError], object]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A segment, or what there is of one, and where the recording ends with it."""

    recording: Recording
    base_position: int | None  # None where there is no frame
    end_position: int
    is_whole: bool


class Uploader:
    """One thread runs it. Times are nanoseconds since the epoch."""

    def __init__(self, spool: Archive, remote: Archive, report: Report) -> None:
        """Raise ConfigurationError where the archive elsewhere was not made from this spool."""
        if spool.uuid != remote.uuid:
            raise ConfigurationError(
                f"{remote.uri}: belongs to another spool than {spool.uri}; use that spool, or another place"
            )
        assert isinstance(spool.store, LocalStore)
        self._spool = spool
        self._folder = spool.store.folder
        self._remote = remote
        self._report = report
        self._reported = ""
        self._retry_ns = 0
        self._delay_ns = FIRST_RETRY_NS
        self._stops: dict[int, tuple[int, bool]] = {}  # what the catalogue there says of a recording's end

    def do_work(self, now_ns: int) -> int:
        """Upload one segment if there is one; return its bytes, 1 for a descriptor alone, 0 for nothing."""
        if now_ns < self._retry_ns:
            return 0
        try:
            length = self._upload_next(now_ns)
        except (AeronError, OSError) as error:
            self._retry_ns = now_ns + self._delay_ns
            self._delay_ns = min(2 * self._delay_ns, LAST_RETRY_NS)
            self._report_once(error)
            return 0
        self._delay_ns = FIRST_RETRY_NS
        self._reported = ""
        return length

    def finish(self, now_ns: int) -> bool:
        """Upload all that is left, without waiting for trouble to pass; return whether all is there."""
        self._retry_ns = 0
        while self.do_work(now_ns):
            pass
        return self._retry_ns == 0

    def _upload_next(self, now_ns: int) -> int:
        for recording in self._spool.recordings():
            piece = self._piece_of(recording)
            if piece is not None:
                return self._upload(piece, now_ns)
            self._forget_tail(recording, now_ns)
        return 0

    def _piece_of(self, recording: Recording) -> _Piece | None:
        descriptor = recording.descriptor
        first = descriptor.start_position - descriptor.start_position % descriptor.term_length
        bases = [base for base in recording.segments() if base >= first]
        if len(bases) > 1:  # a segment is begun when the one before it is on the disk
            return _Piece(recording, bases[0], bases[0] + descriptor.segment_length, is_whole=True)
        stop_position = descriptor.stop_position
        if stop_position is None:
            return None
        if self._stop_of(recording.recording_id) == (stop_position, descriptor.is_end_of_stream):
            return None
        return _Piece(recording, bases[0] if bases else None, stop_position, is_whole=False)

    def _upload(self, piece: _Piece, now_ns: int) -> int:
        recording_id, length = piece.recording.recording_id, 1
        local = piece.recording.descriptor
        if piece.base_position is not None:
            for file_name in (names.segment_file, names.index_file):
                name = f"{recording_id}/{file_name(recording_id, piece.base_position)}"
                path = self._folder / name
                length += path.stat().st_size
                self._remote.store.upload(path, name)
        self._enter(local, piece, now_ns)
        if piece.is_whole:
            purge_before(self._spool.store, recording_id, piece.end_position, keeps_last=False)
        elif local.is_end_of_stream:
            purge_recording(self._spool.store, recording_id, now_ns)
        return length

    def _enter(self, local: RecordingDescriptor, piece: _Piece, now_ns: int) -> None:
        """Put what is there now into the catalogue there, which keeps its own beginning."""
        is_end = local.is_end_of_stream and not piece.is_whole
        changes: dict[str, object] = {
            "stop_position": piece.end_position,
            "stop_time_ns": now_ns if piece.is_whole else local.stop_time_ns,
            "is_end_of_stream": is_end,
        }
        known = self._known(local.recording_id)
        if known is not None:
            changes["start_position"] = known.start_position
        write_descriptor(self._remote.store, local.model_copy(update=changes))
        self._stops[local.recording_id] = piece.end_position, is_end

    def _forget_tail(self, recording: Recording, now_ns: int) -> None:
        """Delete what is there, of a recording that was stopped and has not gone on for long."""
        stop_time_ns = recording.descriptor.stop_time_ns
        if stop_time_ns is not None and now_ns - stop_time_ns > _TAIL_LINGER_NS:
            purge_recording(self._spool.store, recording.recording_id, now_ns)

    def _stop_of(self, recording_id: int) -> tuple[int, bool] | None:
        if recording_id not in self._stops:
            known = self._known(recording_id)
            if known is not None and known.stop_position is not None:
                self._stops[recording_id] = known.stop_position, known.is_end_of_stream
        return self._stops.get(recording_id)

    def _known(self, recording_id: int) -> RecordingDescriptor | None:
        try:
            return read_descriptor(self._remote.store, recording_id)
        except RecordingNotFoundError:
            return None

    def _report_once(self, error: AeronError | OSError) -> None:
        text = f"cannot upload to {self._remote.uri}: {error}"
        gist = text.partition(";")[0]
        if gist != self._reported:
            self._reported = gist
            self._report(
                RecordingError(f"{text}; it is tried again, and stays in {self._spool.uri} until then")
            )
