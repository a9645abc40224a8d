"""Uploader: moves recordings from a local spool to a remote archive, segment by segment.

Not here: the thread that runs it (upload_thread).
Invariant: a local file is deleted only after the file and a catalogue entry for it were uploaded. Pending work is
derived from the spool and the remote catalogue, so it survives a crash.

With `verify`, a damaged segment is not uploaded: it and later segments of its recording stay in the spool until the
user accepts the damage.

The remote catalogue describes a recording as stopped at the end of its last segment: readers always see a complete
recording, which grows with each upload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aeron_core.errors import (
    AeronError,
    ConfigurationError,
    CorruptRecordingError,
    RecordingError,
    RecordingNotFoundError,
)
from aeron_core.recording.retention.purge import purge_before, purge_recording
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import read_descriptor, write_descriptor
from aeron_core.recording.storage.checked_pieces import checked_chunks
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.recording import CHUNK_LENGTH, Recording

_S: Final = 1_000_000_000
#: First and longest delay between retries; each delay is twice the one before. Invented numbers: an upload continues
#: soon after a short outage, and in a long one an attempt per minute is no load.
FIRST_RETRY_NS: Final = _S
LAST_RETRY_NS: Final = 60 * _S
#: How long the tail of a stopped recording stays in the spool, so that it can continue. An invented number: a recorder
#: that returns later begins another recording, and no data is lost.
_TAIL_LINGER_NS: Final = 3600 * _S

Report = Callable[[AeronError], object]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A whole or partial segment, and the end of the recording with it."""

    recording: Recording
    base_position: int | None  # None if the recording has no frame
    end_position: int
    is_whole: bool


class Uploader:
    """Uploads one spool; one thread runs it. Times are nanoseconds since the epoch."""

    def __init__(self, spool: Archive, remote: Archive, report: Report, *, verify: bool = True) -> None:
        """Raise ConfigurationError if the remote archive was not created from this spool."""
        if spool.uuid != remote.uuid:
            raise ConfigurationError(
                f"archive {remote.uri}: was not created from spool {spool.uri}; use the spool that it was created "
                f"from, or a new archive"
            )
        assert isinstance(spool.store, LocalStore)
        self._spool = spool
        self._folder = spool.store.folder
        self._remote = remote
        self._report = report
        self._reported = ""
        self._retry_ns = 0
        self._delay_ns = FIRST_RETRY_NS
        self._stops: dict[
            int, tuple[int, bool]
        ] = {}  # by recording id: stop position and end of stream in the remote catalogue
        self._verify = verify
        self._damaged: dict[
            int, tuple[str, int]
        ] = {}  # by recording id: reported text, and time of the next check

    def do_work(self, now_ns: int) -> int:
        """Upload one segment or descriptor; return the bytes of its files plus 1, 0 if nothing was uploaded.

        Nothing is uploaded if nothing is pending, before a retry is due, and after an error, which is passed to
        `report` once.
        """
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
        """Upload all pending segments and descriptors without retries; return whether all were uploaded."""
        self._retry_ns = 0
        while self.do_work(now_ns):
            pass
        return self._retry_ns == 0 and not self._damaged

    def _upload_next(self, now_ns: int) -> int:
        for recording in self._spool.recordings():
            piece = self._piece_of(recording)
            if piece is None:
                self._forget_tail(recording, now_ns)
            elif self._is_right(piece, now_ns):
                return self._upload(piece, now_ns)
        return 0

    def _is_right(self, piece: _Piece, now_ns: int) -> bool:
        """Return whether the checksums of a piece are right, or need not be verified.

        A damaged piece is reported once, and checked again after LAST_RETRY_NS.
        """
        recording_id = piece.recording.recording_id
        reported, due_ns = self._damaged.get(recording_id, ("", 0))
        if not self._verify:
            return True
        if now_ns < due_ns:
            return False
        try:
            if piece.base_position is not None:
                begin = piece.recording.first_position(piece.base_position)
                for _ in checked_chunks(piece.recording, begin, piece.end_position, CHUNK_LENGTH):
                    pass
        except CorruptRecordingError as error:
            text = str(error)
            self._damaged[recording_id] = text, now_ns + LAST_RETRY_NS
            if text != reported:
                self._report(
                    CorruptRecordingError(
                        f"{self._spool.uri}: {text}; the recording stays there until `aeron-core recordings verify "
                        "--accept` accepts it as it is"
                    )
                )
            return False
        self._damaged.pop(recording_id, None)
        return True

    def _piece_of(self, recording: Recording) -> _Piece | None:
        descriptor = recording.descriptor
        first = descriptor.start_position - descriptor.start_position % descriptor.term_length
        bases = [base for base in recording.segments() if base >= first]
        if len(bases) > 1:  # a segment is begun only after the previous one was flushed
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
        """Write the descriptor to the remote catalogue; its start position there, if it has one, is kept."""
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
        """Delete the rest of an uploaded recording from the spool if it was stopped more than an hour ago."""
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
        stable_text = text.partition(";")[0]
        if stable_text != self._reported:
            self._reported = stable_text
            self._report(
                RecordingError(f"{text}; retrying, and keeping the data in {self._spool.uri} until then")
            )
