"""The recordings of an Aeron Archive, by the entries of its catalogue."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording._native import sums
from aeron_core.recording.storage.file_store import FileStore, LocalStore
from aeron_core.recording.storage.foreign.catalog import CATALOG, CatalogEntry, CatalogReader
from aeron_core.recording.storage.foreign.recorded_positions import RecordedPositions
from aeron_core.recording.storage.foreign.recording import ForeignRecording
from aeron_core.recording.storage.foreign.store import ForeignStore


def is_foreign(store: FileStore) -> bool:
    """Return whether the store has the files of an Aeron Archive."""
    return store.size(CATALOG) >= 0


class ForeignContents:
    """Recordings of an Aeron Archive in a local folder; one thread uses it.

    The constructor raises ConfigurationError for a remote store, and the errors of `CatalogReader`.
    """

    def __init__(self, files: FileStore, checksum: int = sums.NO_CHECKSUM) -> None:
        """`checksum`: that of all frames, one of the module `sums`."""
        if not isinstance(files, LocalStore):
            raise ConfigurationError(
                f"{files.uri}: has the files of an Aeron Archive, which can only be read from a local folder: copy or "
                "mount it"
            )
        self.store = ForeignStore(files)
        #: Made of the path: the files have no identity that lasts longer than a process of the Archive.
        self.uuid = str(uuid.uuid5(uuid.NAMESPACE_URL, files.folder.resolve().as_uri()))
        self._catalog = CatalogReader(self.store)
        self._positions = RecordedPositions(files)
        self._checksum = checksum
        self._recordings: dict[int, ForeignRecording] = {}

    def recordings(self) -> list[ForeignRecording]:
        """Return the recordings that were neither deleted nor declared invalid, in the order of their ids."""
        valid = {entry.recording_id: entry for entry in self._valid_entries()}
        for gone in self._recordings.keys() - valid.keys():
            del self._recordings[gone]
        for recording_id, entry in valid.items():
            if recording_id not in self._recordings:
                self._recordings[recording_id] = ForeignRecording(
                    self.store, self._catalog, entry, self._positions, self._checksum
                )
        return [self._recordings[recording_id] for recording_id in sorted(valid)]

    def recording(self, recording_id: int) -> ForeignRecording | None:
        """Return a recording, None if it does not exist."""
        known = self._recordings.get(recording_id)
        if known is not None and known.exists:
            return known
        return next((each for each in self.recordings() if each.recording_id == recording_id), None)

    def faults(self) -> list[CorruptRecordingError]:
        """Return the damaged entries of the catalogue, each with its offset in the file."""
        entries, text = self._catalog.entries()
        faults = [entry for entry in entries if isinstance(entry, CorruptRecordingError)]
        return [*faults, CorruptRecordingError(text)] if text else faults

    def close(self) -> None:
        """Do nothing: files are opened for each read."""

    def _valid_entries(self) -> Iterator[CatalogEntry]:
        return (
            entry
            for entry in self._catalog.entries()[0]
            if isinstance(entry, CatalogEntry) and entry.is_valid
        )
