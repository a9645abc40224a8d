"""Registry of confirmed offsets in a folder: read when a shipper starts, replaced atomically while it runs.

Invariant: all offsets in the file were confirmed, or are where reading began; the file is never partially
written, and one process owns it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from aeron_core.errors import ConfigurationError
from aeron_core.file_access import PRIVATE
from aeron_core.file_locks import close_in_children, fault_of_child, try_lock
from aeron_core.shipping.followed_file import FileKey, Progress, bytes_before

_NAME: Final = "registry.json"
_LOCK: Final = "lock"
_VERSION: Final = 1
#: Fields of an entry that are text; the others are integers from 0.
_TEXTS: Final = ("path", "tail_sha256")
#: Remedy for a registry that cannot be used, with its effect.
_DELETE: Final = (
    "delete it: the next start then ships all files from their beginning, "
    "or skips their present content with --from-end"
)
_NS_PER_S: Final = 1_000_000_000
#: How long the entry of a missing file is kept. An invented number: longer than any rotation takes.
_MEMORY_NS: Final = 30 * 24 * 3600 * _NS_PER_S


@dataclass(frozen=True, slots=True)
class Entry:
    """Confirmed offset of a file, and a digest of the bytes before it."""

    device: int
    inode: int
    path: str
    offset: int
    tail_length: int
    tail_sha256: str  # of these bytes: the registry contains no text of the file
    seen_ns: int  # last time that the file was followed, since the epoch

    @property
    def key(self) -> FileKey:
        """The identity of the file."""
        return FileKey(self.device, self.inode)

    @classmethod
    def of(cls, key: FileKey, progress: Progress, now_ns: int) -> Entry:
        """Return the entry of a file that is followed at `now_ns`, since the epoch."""
        digest = hashlib.sha256(progress.tail).hexdigest()
        return cls(key.device, key.inode, progress.path, progress.offset, len(progress.tail), digest, now_ns)

    def progress_of(self, path: str) -> Progress | None:
        """Return the progress of the file at `path` if the bytes before this offset have this digest, else None.

        Raises OSError.
        """
        tail = bytes_before(path, self.offset, self.tail_length)
        if len(tail) != self.tail_length or hashlib.sha256(tail).hexdigest() != self.tail_sha256:
            return None
        return Progress(path, self.offset, tail)


class OffsetRegistry:
    """The entries of a folder, which is created if it does not exist."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder and read its entries.

        Raises ConfigurationError if another process uses it, or its file is damaged or has another version, and
        OSError.
        """
        self.folder = folder
        self._process_id = os.getpid()
        PRIVATE.make_folders(folder)
        self._lock = open(folder / _LOCK, "r+b", buffering=0, opener=PRIVATE.open)  # noqa: SIM115 - see close
        close_in_children(self._lock)
        try:
            if not try_lock(self._lock):
                raise ConfigurationError(
                    f"{folder}: is in use by another shipper; each needs a folder of its own: choose another, or stop "
                    "the other shipper"
                )
            self.entries = _read(folder / _NAME)
        except BaseException:
            self.close()
            raise

    def save(self, entries: dict[FileKey, Entry], now_ns: int) -> None:
        """Write these entries, and those of other files seen within 30 days before `now_ns`, since the epoch.

        The file is replaced atomically and flushed to disk; raises OSError, and ConfigurationError in a forked child,
        which has no lock.
        """
        if fault := fault_of_child(self._process_id, str(self.folder)):
            raise ConfigurationError(fault)
        kept = {key: entry for key, entry in self.entries.items() if now_ns - entry.seen_ns < _MEMORY_NS}
        self.entries = kept | entries
        document = {"version": _VERSION, "files": [asdict(entry) for entry in self.entries.values()]}
        path = self.folder / _NAME
        draft = self.folder / f".{_NAME}"
        # The draft of a shipper that was killed may have another mode.
        draft.unlink(missing_ok=True)
        with open(draft, "w", encoding="utf-8", errors="surrogateescape", opener=PRIVATE.open) as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Release the folder; closing twice has no effect."""
        self._lock.close()


def _entry_of(row: Any) -> Entry:
    """Return an entry of the file. Raises TypeError or ValueError for missing or unknown fields, and wrong values."""
    for field in fields(Entry):
        expected = str if field.name in _TEXTS else int
        value = row.get(field.name) if isinstance(row, dict) else row
        # Not `isinstance`: true and false are integers, too.
        if type(value) is not expected:
            raise TypeError(
                f"{field.name}={value!r:.100}: must be {'text' if expected is str else 'an integer'}"
            )
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{field.name}={value!r:.100}: must be at least 0")
    return Entry(**row)


def _read(path: Path) -> dict[FileKey, Entry]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] != _VERSION:
            raise ConfigurationError(
                f"{path}: version={document['version']!r}: must be {_VERSION}; use the release that wrote it, "
                f"or {_DELETE}"
            )
        entries = [_entry_of(row) for row in document["files"]]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"{path}: is damaged: must be JSON with version and files, as a shipper writes it ({error}); restore it, "
            f"or {_DELETE}"
        ) from error
    return {entry.key: entry for entry in entries}
