"""Store of the files of an Aeron Archive under the names of this project: `7/7-0.rec` is its file `7-0.rec`.

Invariant: nothing is ever written. The archive belongs to the program that records into it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.read_only import ReadOnlyStore

#: Time without a change after which a list of the folder is kept until the next change. Invented numbers: longer than
#: the resolution of times in file systems, the second one if they have only seconds.
_SETTLED_S: Final = 0.1
_SETTLED_WITH_SECONDS_S: Final = 2.5
_NS_PER_S: Final = 1_000_000_000


class ForeignStore(ReadOnlyStore):
    """The files of an Aeron Archive in a local folder; any thread may use it."""

    def __init__(self, files: LocalStore) -> None:
        self.uri = files.uri
        self._files = files
        self._listing = _Listing(None, 0, {})

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names in a folder; that of a recording has its segment files."""
        recording_id = names.parse_recording_folder(folder)
        if recording_id is None:
            return self._files.names(folder)
        return list(self._names_by_recording().get(str(recording_id), ()))

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, -1 if it does not exist."""
        return self._files.size(_flat(name))

    def version(self, name: str) -> object:
        """Return a value that changes whenever the file is replaced, None if it does not exist."""
        return self._files.version(_flat(name))

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer at the end of the file; -1: all up to the end.

        Raises RecordingNotFoundError if the file does not exist, RecordingError if it cannot be read.
        """
        return self._files.read(_flat(name), offset, length)

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Read from `offset` on into `target` until it is full or the file ends; return the number of bytes.

        Raises RecordingNotFoundError if the file does not exist, RecordingError if it cannot be read.
        """
        return self._files.read_into(_flat(name), offset, target)

    def local_path(self, name: str) -> Path | None:
        """Return the path of a file, whether it exists or not."""
        return self._files.local_path(_flat(name))

    def refuse(self) -> NoReturn:
        """Raise ConfigurationError: nothing is changed."""
        raise ConfigurationError(
            f"{self.uri}: belongs to Aeron Archive, and can only be read here; change it with an AeronArchive client "
            "or with ArchiveTool"
        )

    def _names_by_recording(self) -> Mapping[str, list[str]]:
        """Return the names in the folder by the text before their first hyphen.

        Thousands of recordings are in one folder: it is listed again only after it has changed.
        """
        listing, version, now_s = self._listing, self._files.version(""), time.monotonic()
        if listing.version != version:
            listing = _Listing(version, now_s, {})
        elif listing.is_settled:
            return listing.names
        names: dict[str, list[str]] = {}
        for name in self._files.names():
            names.setdefault(name.partition("-")[0], []).append(name)
        # Two changes within the resolution of the folder's time leave the same time.
        self._listing = _Listing(version, listing.since_s, names, listing.is_older_than_resolution(now_s))
        return names


@dataclass(frozen=True, slots=True)
class _Listing:
    """Names in the folder, by recording."""

    version: object  # of the folder
    since_s: float  # monotonic time at which this version was found
    names: dict[str, list[str]]
    is_settled: bool = False

    def is_older_than_resolution(self, now_s: float) -> bool:
        if not isinstance(self.version, tuple):
            return False  # there is no folder
        has_seconds = self.version[1] % _NS_PER_S == 0
        return now_s - self.since_s >= (_SETTLED_WITH_SECONDS_S if has_seconds else _SETTLED_S)


def _flat(name: str) -> str:
    folder, _, file = name.partition("/")
    return file if file and names.parse_recording_folder(folder) is not None else name
