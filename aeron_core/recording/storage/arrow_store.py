"""Stores that `pyarrow.fs` reaches, such as S3, and the choice of a store by its URI."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.file_store import FileStore, LocalStore, missing

if TYPE_CHECKING:
    from pyarrow import fs

#: Age at which a file's time of change tells it from the one before. Object stores count in seconds; the rest of
#: this invented number is what their clock and ours may differ.
_SETTLED_NS: Final = 60_000_000_000


class ArrowStore(FileStore):
    """A folder of a `pyarrow.fs` filesystem, such as `s3://bucket/recordings`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            from pyarrow import fs  # noqa: PLC0415 - optional
        except ImportError:
            raise ConfigurationError(
                f"{uri}: needs pyarrow, which comes with the extra aeron-core[arrow]"
            ) from None
        try:
            self._filesystem, self._folder = fs.FileSystem.from_uri(uri)
        except (ValueError, OSError) as error:
            raise ConfigurationError(f"{uri}: {error}") from None

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""
        from pyarrow import fs  # noqa: PLC0415 - optional

        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        return sorted(info.base_name for info in self._filesystem.get_file_info(selector))

    def size(self, name: str) -> int:
        """Return the bytes of a file, -1 where there is none."""
        info = self._info(name)
        return -1 if info is None else int(info.size)

    def version(self, name: str) -> object:
        """Return the file's time of change and size, or what it holds where it may change within that time."""
        info = self._info(name)
        if info is None:
            return None
        if info.mtime_ns is not None and time.time_ns() - info.mtime_ns > _SETTLED_NS:
            return info.mtime_ns, info.size
        return self.read(name)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer where the file ends before; all of them for -1."""
        try:
            with self._filesystem.open_input_file(self._path(name)) as file:
                available = max(file.size() - offset, 0)
                data: bytes = file.read_at(available if length < 0 else min(length, available), offset)
                return data
        except FileNotFoundError:
            raise missing(f"{self.uri}/{name}") from None

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file in the place of the one that is there."""
        path = self._path(name)
        self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(path) as file:
            file.write(data)

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        if self._info(name) is not None:
            self._filesystem.delete_file(self._path(name))

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and all that is in it."""
        self._filesystem.delete_dir(self._path(folder))

    def upload(self, path: Path, name: str) -> None:
        """Put a local file there under `name`, in the place of the one that is there."""
        from pyarrow import fs  # noqa: PLC0415 - optional

        target = self._path(name)
        self._filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        fs.copy_files(
            str(path), target, source_filesystem=fs.LocalFileSystem(), destination_filesystem=self._filesystem
        )

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}".rstrip("/")

    def _info(self, name: str) -> fs.FileInfo | None:
        from pyarrow import fs  # noqa: PLC0415 - optional

        info = self._filesystem.get_file_info(self._path(name))
        return info if info.type == fs.FileType.File else None


def open_store(where: str | Path) -> FileStore:
    """Return the store at a path or URI; raises ConfigurationError where it names no place."""
    text = str(where)
    if "://" not in text:
        return LocalStore(Path(text).expanduser().absolute())
    parts = urlsplit(text)
    if parts.scheme == "file":
        return LocalStore(Path(unquote(parts.path)))
    return ArrowStore(text)
