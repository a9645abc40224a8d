"""File stores that `pyarrow.fs` supports, such as S3, and the choice of a store by URI."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.file_store import FileStore, LocalStore, missing

if TYPE_CHECKING:
    from pyarrow import fs

    from aeron_core.file_access import FileAccess

#: Age from which a file's modification time identifies its version. Some object stores have timestamps in
#: seconds; the margin, an invented number, covers the difference between their clock and ours.
_SETTLED_NS: Final = 60_000_000_000
_FILE_SCHEME: Final = "file://"


class ArrowStore(FileStore):
    """A folder of a `pyarrow.fs` filesystem, such as `s3://bucket/recordings`.

    Its creation raises ConfigurationError if pyarrow is not installed or does not support the URI.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            from pyarrow import fs  # noqa: PLC0415 - lazy: optional
        except ImportError:
            raise ConfigurationError(
                f"{uri}: needs pyarrow, which is not installed: pip install 'aeron-core[arrow]'"
            ) from None
        try:
            self._filesystem, self._folder = fs.FileSystem.from_uri(uri)
        except ValueError as error:
            raise ConfigurationError(
                f"{uri}: must be a folder, or a URI of pyarrow.fs such as s3://bucket/recordings: {error}"
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"{uri}: cannot be used: {error}; check the URI, the credentials, the network, and the libraries of "
                "its file system"
            ) from None
        if not self._folder:
            raise ConfigurationError(f"{uri}: must name a bucket, and a folder in it: s3://bucket/recordings")

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names in a folder; an empty list if it does not exist."""
        from pyarrow import fs  # noqa: PLC0415 - lazy: optional

        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        return sorted(info.base_name for info in self._filesystem.get_file_info(selector))

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, -1 if it does not exist."""
        info = self._info(name)
        return -1 if info is None else int(info.size)

    def version(self, name: str) -> object:
        """Return the file's modification time in ns and its size in bytes, None if it does not exist.

        Returns the content instead if the time is unknown, or not more than a minute ago.
        """
        info = self._info(name)
        if info is None:
            return None
        if info.mtime_ns is not None and time.time_ns() - info.mtime_ns > _SETTLED_NS:
            return info.mtime_ns, info.size
        return self.read(name)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer at the end of the file; -1: all up to the end.

        Raises RecordingNotFoundError if the file does not exist, OSError if it cannot be read.
        """
        try:
            with self._filesystem.open_input_file(self._path(name)) as file:
                available = max(file.size() - offset, 0)
                data: bytes = file.read_at(available if length < 0 else min(length, available), offset)
                return data
        except FileNotFoundError:
            raise missing(f"{self.uri}/{name}") from None

    def write(self, name: str, data: bytes) -> None:
        """Write or replace a whole file; raises OSError if that fails."""
        path = self._path(name)
        self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(path) as file:
            file.write(data)

    def delete(self, name: str) -> None:
        """Delete a file; a missing file is no error. Raises OSError if it cannot be deleted."""
        if self._info(name) is not None:
            self._filesystem.delete_file(self._path(name))

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its content.

        Raises OSError if that fails; on some filesystems, a missing folder is such an error.
        """
        self._filesystem.delete_dir(self._path(folder))

    def upload(self, path: Path, name: str) -> None:
        """Copy a local file to `name`, replacing an existing file; raises OSError if that fails."""
        from pyarrow import fs  # noqa: PLC0415 - lazy: optional

        target = self._path(name)
        self._filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        fs.copy_files(
            str(path), target, source_filesystem=fs.LocalFileSystem(), destination_filesystem=self._filesystem
        )

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}".rstrip("/")

    def _info(self, name: str) -> fs.FileInfo | None:
        from pyarrow import fs  # noqa: PLC0415 - lazy: optional

        info = self._filesystem.get_file_info(self._path(name))
        return info if info.type == fs.FileType.File else None


def open_store(where: str | Path, access: FileAccess | None = None) -> FileStore:
    """Return the store at a path or URI; `access`: see `LocalStore`.

    Raises ConfigurationError for a path without a folder, the home folder of an unknown user, and a URI that pyarrow
    does not support, or that needs pyarrow if it is not installed.
    """
    text = str(where)
    if "://" not in text:
        return LocalStore(local_folder(text), access)
    if text.lower().startswith("file://"):
        return LocalStore(_folder(text, _path_of(text)), access)
    return ArrowStore(text)


def _path_of(uri: str) -> str:
    try:
        return unquote(urlsplit(uri).path)
    except ValueError as error:
        raise ConfigurationError(f"{uri}: must be a URI such as file:///var/recordings: {error}") from None


def local_folder(text: str) -> Path:
    """Return the absolute path of a folder of this machine; a `~` stands for a home directory.

    Raises ConfigurationError if the text is empty or has a NUL character, or the home directory is unknown.
    """
    try:
        return _folder(text, text).expanduser().absolute()
    except RuntimeError:
        raise ConfigurationError(
            f"{text!r}: the home directory of this user is unknown: must be a folder of a user of this machine, or an "
            "absolute path"
        ) from None


def _folder(where: str, path: str) -> Path:
    if not path or "\0" in path:
        raise ConfigurationError(f"{where!r}: must name a folder, without a NUL character")
    return Path(path)
