"""The recordings of a running archive, by its lists."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from aeron_core.archive.reading.link import ArchiveLink
from aeron_core.archive.reading.recording import RemoteRecording
from aeron_core.errors import (
    ArchiveErrorCode,
    ArchiveRefusedError,
    ConfigurationError,
    CorruptRecordingError,
    RecordingError,
)
from aeron_core.recording.storage.file_store import missing
from aeron_core.recording.storage.read_only import ReadOnlyStore

if TYPE_CHECKING:
    from aeron_core.archive.aeron_archive import AeronArchive
    from aeron_core.archive.descriptors import ArchivedRecording
    from aeron_core.archive.reading.address import ArchiveAddress

T = TypeVar("T")

#: Age up to which the state of a recording is used again. An invented number: the planning of a batch asks several
#: times within it, and what was purged since then fails a replay anyway.
_MAX_AGE_S: Final = 0.1


class RemoteStore(ReadOnlyStore):
    """The files of a running archive, none of which can be read; any thread may use it."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def names(self, folder: str = "") -> list[str]:
        """Return an empty list."""
        return []

    def size(self, name: str) -> int:
        """Return -1."""
        return -1

    def version(self, name: str) -> object:
        """Return None."""
        return None

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Raise RecordingNotFoundError."""
        raise missing(f"{self.uri}/{name}")

    def refuse(self) -> NoReturn:
        """Raise ConfigurationError: nothing is changed."""
        raise ConfigurationError(
            f"{self.uri}: belongs to a running Aeron Archive, and can only be read here; change it with "
            "aeron_core.archive.AeronArchive"
        )


@dataclass(frozen=True, slots=True)
class _State:
    described: ArchivedRecording
    position: int  # up to which it is recorded
    at_s: float  # monotonic time of the response


class RemoteContents:
    """Recordings that a running archive has; one thread uses it.

    Methods raise RecordingError if the archive is lost or refuses, ConfigurationError for a wrong address.
    """

    def __init__(self, address: ArchiveAddress, *, is_patient: bool = False) -> None:
        """`is_patient`: whether to wait up to `reconnect-timeout` for an archive that does not run."""
        self.store = RemoteStore(address.text)
        #: Made of the control channel: an archive has no identity that lasts longer than its process.
        self.uuid = str(uuid.uuid5(uuid.NAMESPACE_URL, address.identity))
        self._address = address
        self._link = ArchiveLink(address, is_patient=is_patient)
        self._states: dict[int, _State] = {}
        self._recordings: dict[int, RemoteRecording] = {}

    def recordings(self) -> list[RemoteRecording]:
        """Return the recordings that the address selects, in the order of their ids."""
        listed, now_s = self._run(self._list), time.monotonic()
        self._states = {state.described.recording_id: replace(state, at_s=now_s) for state in listed}
        for gone in self._recordings.keys() - self._states.keys():
            del self._recordings[gone]
        return [self._recording(recording_id) for recording_id in sorted(self._states)]

    def recording(self, recording_id: int) -> RemoteRecording | None:
        """Return a recording, None if it does not exist or is not selected."""
        return None if self._look_up(recording_id) is None else self._recording(recording_id)

    def faults(self) -> list[CorruptRecordingError]:
        """Return an empty list: an archive does not list damaged entries."""
        return []

    def close(self) -> None:
        """Close the session; the next request opens another one."""
        self._link.close()

    def _recording(self, recording_id: int) -> RemoteRecording:
        if recording_id not in self._recordings:
            self._recordings[recording_id] = RemoteRecording(
                self.store, self._link, recording_id, self._look_up
            )
        return self._recordings[recording_id]

    def _look_up(self, recording_id: int) -> tuple[ArchivedRecording, int] | None:
        state = self._states.get(recording_id)
        if state is None or time.monotonic() - state.at_s > _MAX_AGE_S:
            state = self._run(lambda archive: self._find(archive, recording_id))
            if state is None:
                self._states.pop(recording_id, None)
                return None
            self._states[recording_id] = state
        return state.described, state.position

    def _run(self, request: Callable[[AeronArchive], T]) -> T:
        try:
            return self._link.run(request)
        except ArchiveRefusedError as error:
            raise RecordingError(f"archive at {self._address.control_request}: {error}") from None

    def _list(self, archive: AeronArchive) -> list[_State]:
        found = (self._state_of(archive, each) for each in archive.list_recordings())
        return [state for state in found if state is not None]

    def _find(self, archive: AeronArchive, recording_id: int) -> _State | None:
        described = archive.list_recording(recording_id)
        return None if described is None else self._state_of(archive, described)

    def _state_of(self, archive: AeronArchive, described: ArchivedRecording) -> _State | None:
        if not self._address.selects(described.recording_id, described.stream_id, described.original_channel):
            return None
        position = described.stop_position
        if position is None:
            try:
                position = archive.max_recorded_position(described.recording_id)
            except ArchiveRefusedError as error:
                if error.code is ArchiveErrorCode.UNKNOWN_RECORDING:
                    return None  # purged since it was listed
                raise
        return _State(described, position, time.monotonic())
