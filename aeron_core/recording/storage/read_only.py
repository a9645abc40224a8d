"""Interface of archives that belong to another program, and their store, which refuses every change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from aeron_core.recording.storage.file_store import FileStore

if TYPE_CHECKING:
    from aeron_core.errors import CorruptRecordingError
    from aeron_core.recording.storage.recording import Recording


class ReadOnlyStore(FileStore):
    """Base of stores that only read; methods that would change a file raise ConfigurationError."""

    @abstractmethod
    def refuse(self) -> NoReturn:
        """Raise ConfigurationError, which names the owner of the files and how to change them."""

    def write(self, name: str, data: bytes) -> None:
        """Raise ConfigurationError."""
        self.refuse()

    def delete(self, name: str) -> None:
        """Raise ConfigurationError."""
        self.refuse()

    def delete_folder(self, folder: str) -> None:
        """Raise ConfigurationError."""
        self.refuse()

    def upload(self, path: Path, name: str) -> None:
        """Raise ConfigurationError."""
        self.refuse()


class ReadOnlyContents(Protocol):
    """Recordings of an archive that another program writes."""

    uuid: str

    @property
    def store(self) -> ReadOnlyStore:
        """The store of the archive's files."""

    def recordings(self) -> Sequence[Recording]:
        """Return the recordings in the order of their ids."""

    def recording(self, recording_id: int) -> Recording | None:
        """Return a recording, None if it does not exist."""

    def faults(self) -> list[CorruptRecordingError]:
        """Return the faults that hide recordings."""

    def close(self) -> None:
        """Close what the archive holds open; it can still be used."""
