"""Where the files of an archive are: a folder, or any place that `pyarrow.fs` reaches.

Not here: what the files hold. Names are relative, with `/` between their parts.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from aeron_core.errors import ConfigurationError, RecordingError, RecordingNotFoundError

if TYPE_CHECKING:
    from pyarrow import fs


#: Age at which a file's time of change tells it from the one before. Object stores count in seconds; the rest of
#: this invented number is what their clock and ours may differ.
_SETTLED_NS: Final = 60_000_000_000

_NOT_THERE: Final = (FileNotFoundError, NotADirectoryError)
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class FileStore(ABC):
    """Files by name; any thread may use it.

    A file that is missing raises RecordingNotFoundError, one that this user may not touch RecordingError.
    """

    uri: str

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return the bytes of a file, -1 where there is none."""

    @abstractmethod
    def version(self, name: str) -> object:
        """Return what changes whenever the file is replaced, None where there is none."""

    @abstractmethod
    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer where the file ends before; all of them for -1."""

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Fill `target` from `offset` on, as far as the file goes, and return the bytes."""
        data = self.read(name, offset, len(target))
        target[: len(data)] = data
        return len(data)

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Put a whole file in the place of the one that is there, so that nobody sees half of it."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""

    @abstractmethod
    def delete_folder(self, folder: str) -> None:
        """Delete a folder and all that is in it."""

    @abstractmethod
    def upload(self, path: Path, name: str) -> None:
        """Put a local file there under `name`, in the place of the one that is there."""

    def local_path(self, name: str) -> Path | None:
        """Return the path of a file of this machine, None where the store is elsewhere."""
        return None


class LocalStore(FileStore):
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = str(folder)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""
        try:
            return sorted(os.listdir(self.folder / folder))
        except _NOT_THERE:
            return []
        except PermissionError as error:
            raise _read_failure(self.folder / folder, error) from error

    def size(self, name: str) -> int:
        """Return the bytes of a file, -1 where there is none."""
        status = self._status(name)
        return -1 if status is None else status.st_size

    def version(self, name: str) -> object:
        """Return the file's inode and time of change: it is replaced, never written again."""
        status = self._status(name)
        return None if status is None else (status.st_ino, status.st_mtime_ns)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes from `offset` on, fewer where the file ends before; all of them for -1."""
        try:
            with (self.folder / name).open("rb", buffering=0) as file:
                if offset:
                    file.seek(offset)
                return file.read() if length < 0 else _read_fully(file.fileno(), offset, length)
        except _NOT_THERE:
            raise _missing(self.folder / name) from None
        except PermissionError as error:
            raise _read_failure(self.folder / name, error) from error

    def read_into(self, name: str, offset: int, target: memoryview) -> int:
        """Fill `target` from `offset` on, as far as the file goes, and return the bytes."""
        try:
            with (self.folder / name).open("rb", buffering=0) as file:
                filled = 0
                while filled < len(target):
                    read = os.preadv(file.fileno(), [target[filled:]], offset + filled)
                    if read == 0:
                        break
                    filled += read
                return filled
        except _NOT_THERE:
            raise _missing(self.folder / name) from None
        except PermissionError as error:
            raise _read_failure(self.folder / name, error) from error

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file in the place of the one that is there, so that nobody sees half of it."""
        path = self.folder / name
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            make_folder(path.parent)
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise write_failure("write", path, error) from error
        sync_folder(path.parent)

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        (self.folder / name).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and all that is in it."""
        shutil.rmtree(self.folder / folder, ignore_errors=True)

    def upload(self, path: Path, name: str) -> None:
        """Put a local file there under `name`, in the place of the one that is there."""
        target = self.folder / name
        make_folder(target.parent)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        with path.open("rb") as source, draft.open("wb") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            # Who uploads deletes the original after this.
            os.fsync(copy.fileno())
        draft.replace(target)
        sync_folder(target.parent)

    def local_path(self, name: str) -> Path | None:
        """Return the path of the file."""
        return self.folder / name

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return (self.folder / name).stat()
        except _NOT_THERE:
            return None
        except PermissionError as error:
            raise _read_failure(self.folder / name, error) from error


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
            raise _missing(f"{self.uri}/{name}") from None

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


def write_failure(verb: str, path: Path, error: OSError) -> RecordingError:
    """Return the exception that says which file could not be written, why, and what to do."""
    failure = f"cannot {verb} {path}: {error.strerror or error}"
    if error.errno in _NOT_ALLOWED:
        return RecordingError(f"{failure}; let user {os.geteuid()} write there, or choose another folder")
    if error.errno not in _NO_ROOM:
        return RecordingError(f"{failure}; mend that, or choose another folder")
    place = next(parent for parent in path.parents if parent.exists())
    status = os.statvfs(place)
    free = status.f_bavail * status.f_frsize
    return RecordingError(
        f"{failure}; {free} bytes are free on its filesystem. The stream waits: make room, or purge recordings"
    )


def make_folder(folder: Path) -> None:
    """Make a local folder, and those above it, so that none is lost with the power; raises OSError."""
    if folder.is_dir():
        return
    if folder.exists():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a local folder are on the disk."""
    fd = -1
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(fd)
    except OSError as error:
        raise write_failure("flush", folder, error) from error
    finally:
        if fd >= 0:
            os.close(fd)


def _read_fully(fd: int, offset: int, length: int) -> bytes:
    """Return `length` bytes, fewer only at the end of the file; one `read` gives at most 2 GiB."""
    data = os.pread(fd, length, offset)
    while len(data) < length:
        more = os.pread(fd, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _missing(path: Path | str) -> RecordingNotFoundError:
    return RecordingNotFoundError(f"{path}: there is no such file")


def _read_failure(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"cannot read {path}: {error.strerror}; let user {os.geteuid()} read it")
