"""Archive: a folder of recordings, of this project or of Aeron Archive.

Not here: the files of Aeron Archive (foreign), the content of a recording (recording), writing (recording_writer) and
purging (retention).
Invariant: no two recordings of an archive ever have the same id.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aeron_core.errors import (
    ConfigurationError,
    CorruptRecordingError,
    RecordingNotFoundError,
)
from aeron_core.recording._native import sums
from aeron_core.recording.storage import names
from aeron_core.recording.storage.arrow_store import open_store
from aeron_core.recording.storage.catalogue import lock, recorder_lock
from aeron_core.recording.storage.descriptor import first_fault
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.recording.storage.recording import Recording

if TYPE_CHECKING:
    from aeron_core.file_access import FileAccess
    from aeron_core.recording.storage.read_only import ReadOnlyContents


class FrameChecksum(StrEnum):
    """Checksum that an Aeron Archive has stored in the frames: `aeron.archive.record.checksum`."""

    CRC32 = "crc32"  # io.aeron.archive.checksum.Crc32
    CRC32C = "crc32c"  # io.aeron.archive.checksum.Crc32c

    @property
    def code(self) -> int:
        """The constant of the module `sums`."""
        return sums.CRC32 if self is FrameChecksum.CRC32 else sums.CRC32C


class _ArchiveFile(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    version: Literal[1] = 1
    uuid: str
    next_recording_id: Annotated[int, Field(ge=0)] = 0


class Archive:
    """Recordings by id; one thread uses it. Other processes may use the archive at the same time.

    Its creation raises RecordingNotFoundError if there is no archive, CorruptRecordingError for a damaged
    `archive.json`. Constructor and methods also raise the errors of `FileStore`.
    """

    def __init__(self, store: FileStore, foreign: ReadOnlyContents | None = None) -> None:
        """`foreign`: the recordings in `store`, if it belongs to Aeron Archive."""
        self.store = store
        self._recordings: dict[int, Recording] = {}
        self._foreign = foreign
        self.uuid = self._read().uuid if foreign is None else foreign.uuid

    @classmethod
    def open(cls, where: str | Path, *, checksum: FrameChecksum | None = None) -> Archive:
        """Return the archive at a path or URI; one of Aeron Archive must be in a local folder, and is not changed.

        `checksum`: what all frames of an Aeron Archive have in place of their session ids; readers compare it then.

        Raises RecordingNotFoundError if there is none, CorruptRecordingError if its `archive.json`, or the header of
        Aeron's `archive.catalog`, is damaged, ConfigurationError for an unsupported URI, or for a checksum with an
        archive of our own, and the errors of `FileStore`.
        """
        store = open_store(where)
        if store.size(names.ARCHIVE) < 0:
            from aeron_core.recording.storage.foreign.contents import ForeignContents, is_foreign  # noqa: PLC0415 - rare

            if is_foreign(store):
                contents = ForeignContents(store, sums.NO_CHECKSUM if checksum is None else checksum.code)
                return cls(contents.store, contents)
        if checksum is not None:
            raise ConfigurationError(
                f"checksum={checksum} for {store.uri}: must be given only for the files of an Aeron Archive, whose "
                "frames can contain checksums; those of our own archives are in an index, and always compared: omit it"
            )
        return cls(store)

    @classmethod
    def create(
        cls, where: str | Path, archive_uuid: str | None = None, access: FileAccess | None = None
    ) -> Archive:
        """Return the archive at a path or URI; create it if it does not exist.

        `archive_uuid`: that of a new archive, None for a random one. `access`: see `LocalStore`. Raises
        ConfigurationError for a folder that contains other files and for an unsupported URI, RecordingError if a local
        disk fails, OSError if a remote store fails, CorruptRecordingError if an existing `archive.json` is damaged.
        """
        store = open_store(where, access)
        if store.size(names.ARCHIVE) < 0:
            _check_is_free(store)
            with lock(store):
                if store.size(names.ARCHIVE) < 0:
                    made = _ArchiveFile(uuid=archive_uuid or str(uuid.uuid4()))
                    store.write(names.ARCHIVE, made.model_dump_json().encode() + b"\n")
        return cls(store)

    @property
    def uri(self) -> str:
        """The path or URI of the archive."""
        return self.store.uri

    def recordings(self) -> list[Recording]:
        """Return the recordings that have a descriptor, in the order of their ids."""
        if self._foreign is not None:
            return list(self._foreign.recordings())
        found = sorted(
            recording_id
            for name in self.store.names()
            if (recording_id := names.parse_recording_folder(name)) is not None
        )
        for gone in self._recordings.keys() - set(found):
            del self._recordings[gone]
        return [self._recording(recording_id) for recording_id in found if self._exists(recording_id)]

    def recording(self, recording_id: int) -> Recording:
        """Return one recording; raises RecordingNotFoundError, with the existing ids, if it does not exist."""
        found = self._find(recording_id)
        if found is not None:
            return found
        known = ", ".join(str(recording.recording_id) for recording in self.recordings()) or "none"
        raise RecordingNotFoundError(
            f"recording {recording_id} in {self.uri}: does not exist; recordings: {known}"
        )

    def faults(self) -> list[CorruptRecordingError]:
        """Return faults that hide recordings: damaged entries of the catalogue of an Aeron Archive.

        A damaged descriptor of our own is a fault of its recording.
        """
        return [] if self._foreign is None else self._foreign.faults()

    def check_is_own(self) -> None:
        """Raise ConfigurationError for an archive of Aeron Archive, which can only be read."""
        if self._foreign is not None:
            self._foreign.store.refuse()

    def close(self) -> None:
        """Close the session with a running Aeron Archive, if it is one; the archive can still be used."""
        if self._foreign is not None:
            self._foreign.close()

    def next_recording_id(self) -> int:
        """Return an id that was never returned before, from 0 up, and store the next one in `archive.json`.

        Raises RecordingError if the disk fails or the file is damaged.
        """
        with lock(self.store):
            current = self._read()
            following = current.model_copy(update={"next_recording_id": current.next_recording_id + 1})
            self.store.write(names.ARCHIVE, following.model_dump_json().encode() + b"\n")
        return current.next_recording_id

    @contextmanager
    def recorder_lock(self) -> Iterator[None]:
        """Hold the recorder lock until the context exits; a remote archive has none.

        Raises ArchiveInUseError if another recorder holds it, RecordingError if its file cannot be opened.
        """
        with recorder_lock(self.store):
            yield

    def _find(self, recording_id: int) -> Recording | None:
        if self._foreign is not None:
            return self._foreign.recording(recording_id)
        return self._recording(recording_id) if self._exists(recording_id) else None

    def _exists(self, recording_id: int) -> bool:
        return self.store.size(f"{recording_id}/{names.DESCRIPTOR}") >= 0

    def _recording(self, recording_id: int) -> Recording:
        if recording_id not in self._recordings:
            self._recordings[recording_id] = Recording(self.store, recording_id)
        return self._recordings[recording_id]

    def _read(self) -> _ArchiveFile:
        try:
            return _ArchiveFile.model_validate_json(self.store.read(names.ARCHIVE))
        except RecordingNotFoundError:
            raise RecordingNotFoundError(
                f"{self.uri}: there is no archive of recordings; `aeron-core record` creates one"
            ) from None
        except ValidationError as error:
            fault = first_fault(error, "archive")
            raise CorruptRecordingError(
                f"{self.uri}/{names.ARCHIVE}: {fault}; repair it, or restore a copy of it"
            ) from None


def _check_is_free(store: FileStore) -> None:
    """Raise ConfigurationError for a folder with other files, because an archive deletes files by their names."""
    own = {names.ARCHIVE_LOCK, names.RECORDER_LOCK, names.APPENDER_LOCK, names.STAGING}
    held = [name for name in store.names() if name not in own and not name.startswith(f".{names.ARCHIVE}.")]
    if held:
        raise ConfigurationError(
            f"{store.uri}: must be an archive of recordings, or empty; it contains {held[0]!r}: choose another folder"
        )
