"""The set of files to follow: files that match patterns, also after they are renamed.

A followed file that no pattern matches any longer, because it was renamed or deleted, is followed until it has not
grown for 30 s. A copy of a file that was truncated afterwards (log rotation by copytruncate) is continued at the
confirmed offset of the file, if it is found within 60 s and at least 32 bytes before the offset are the same.

Invariant: no file is followed twice.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Final

from aeron_core.shipping.folder_watch import watched_folders
from aeron_core.shipping.followed_file import FileKey, FollowedFile, Progress, bytes_before, end_of_last_line
from aeron_core.shipping.offset_registry import Entry, OffsetRegistry

_NS_PER_S: Final = 1_000_000_000
#: A file that no scan finds any longer is read until it has not grown for this long. An invented number: programs
#: reopen their log within seconds of a rotation.
CLOSE_TIMEOUT_NS: Final = 30 * _NS_PER_S
#: How long to search for a copy of a truncated file. An invented number: truncation follows the copy at once.
_COPY_TIMEOUT_NS: Final = 60 * _NS_PER_S
#: Minimum bytes by which a copy is identified: shorter tails can be equal by chance.
_COPY_TAIL_LENGTH: Final = 32


class FileWatcher:
    """The followed files by key, which `scan` updates; one thread uses it."""

    def __init__(
        self,
        patterns: Sequence[str],
        registry: OffsetRegistry,
        *,
        from_end: bool,
        max_line_length: int,
        on_error: Callable[[OSError], object],
    ) -> None:
        """Follow files that match glob `patterns`, which may have `**`.

        `from_end`: begin files that the first scan finds, unless the registry has them or their originals, after
        their last line. `max_line_length`: bytes. `on_error` gets an error of a file once, until the file can be opened
        again.
        """
        self.files: dict[FileKey, FollowedFile] = {}
        self._patterns = patterns
        self._registry = registry
        self._from_end = from_end
        self._max_line_length = max_line_length
        self._on_error = on_error
        self._reported: set[str] = set()
        self._rewritten: list[tuple[int, Progress]] = []  # with the time of truncation in ns
        self._is_first = True

    def scan(self, now_ns: int) -> int:
        """Scan for files, open new ones, and return how many are new or renamed; `on_error` gets errors of new ones."""
        found = dict(self._found())
        self._rewritten = [item for item in self._rewritten if now_ns - item[0] < _COPY_TIMEOUT_NS]
        if self._is_first:
            found = dict(self._moved(found)) | found
        changes = 0
        for key, path in found.items():
            file = self.files.get(key)
            if file is None:
                changes += self._follow(key, path, found)
            else:
                changes += file.path != path
                file.path = file.progress.path = path
                file.missing_since_ns = None
        for key, file in self.files.items():
            if key not in found and file.missing_since_ns is None:
                file.missing_since_ns = now_ns
        self._is_first = False
        return changes

    def folders(self) -> frozenset[str]:
        """Return the folders in which files can be new, renamed or growing, those behind links included."""
        files = {os.path.dirname(os.path.realpath(file.path)) for file in self.files.values()}
        return frozenset(files.union(*map(watched_folders, self._patterns)))

    def note_rewritten(self, progress: Progress, now_ns: int) -> None:
        """Search for a copy of a file that was truncated after `progress`, in the scans of the next 60 s."""
        self._rewritten.append((now_ns, progress))

    def report_error(self, path: str, error: OSError) -> None:
        """Pass an error of a file to `on_error`, once until the file can be opened again."""
        if path not in self._reported:
            self._reported.add(path)
            self._on_error(OSError(error.errno, error.strerror, path))

    def is_over(self, file: FollowedFile, now_ns: int) -> bool:
        """Return whether a file has been missing, without new data, for CLOSE_TIMEOUT_NS (30 s)."""
        if file.missing_since_ns is None:
            return False
        return now_ns - max(file.missing_since_ns, file.read_ns) >= CLOSE_TIMEOUT_NS

    def drop(self, file: FollowedFile) -> None:
        """Close a file and stop following it."""
        file.close()
        del self.files[file.key]

    def close(self) -> None:
        """Close all files."""
        for file in self.files.values():
            file.close()

    def _found(self) -> Iterator[tuple[FileKey, str]]:
        paths = dict.fromkeys(
            os.path.abspath(path) for pattern in self._patterns for path in _matches(pattern)
        )
        found = []
        for path in paths:
            try:
                status = os.stat(path)
            except OSError:
                continue  # deleted meanwhile, or a dangling link
            if stat.S_ISREG(status.st_mode):
                found.append((status.st_mtime_ns, path, FileKey.of(status)))
        # Oldest first: of the files of a scan, each round of reads takes the older ones first. Files longer than one
        # read (`read_length`) are still interleaved.
        return ((key, path) for _, path, key in sorted(found, key=lambda item: item[:2]))

    def _moved(self, found: dict[FileKey, str]) -> Iterator[tuple[FileKey, str]]:
        """Yield key and path of files that were renamed within their folder while no shipper ran."""
        for key, entry in self._registry.entries.items():
            if key in found or not _is_wanted(entry.path, self._patterns):
                continue
            try:
                names = list(os.scandir(os.path.dirname(entry.path)))
            except OSError:
                continue
            for name in names:
                if name.inode() == key.inode and self._is_at(entry, name.path):
                    yield key, name.path

    def _is_at(self, entry: Entry, path: str) -> bool:
        try:
            status = os.stat(path)
            return (
                stat.S_ISREG(status.st_mode)
                and FileKey.of(status) == entry.key
                and entry.progress_of(path) is not None
            )
        except OSError:
            return False

    def _follow(self, key: FileKey, path: str, found: dict[FileKey, str]) -> int:
        try:
            progress = self._progress_of(key, path, found)
            if progress is None:
                return 0
            file = FollowedFile(path, progress, self._max_line_length)
        except OSError as error:
            self.report_error(path, error)
            return 0
        self._reported.discard(path)
        self.files[file.key] = file
        return 1

    def _progress_of(self, key: FileKey, path: str, found: dict[FileKey, str]) -> Progress | None:
        """Return the progress from which to follow a file, None if that is not decided yet; raise OSError."""
        entry = self._registry.entries.get(key)
        if entry is not None:
            progress = entry.progress_of(path) or Progress(path)
            if not _is_wanted(path, self._patterns):
                progress.path = entry.path  # the name by which the next shipper finds it
            return progress
        for item in self._rewritten:
            if (copied := _progress_of_copy(item[1], path)) is not None:
                self._rewritten.remove(item)
                return copied
        if not self._is_first and any(_progress_of_copy(file.progress, path) for file in self.files.values()):
            return None  # a copy: its original may be truncated next, or grow and differ
        if self._is_first:
            copied = self._copied(path, found)
            if copied is not None:
                return copied
            if self._from_end:
                return end_of_last_line(path)
        return Progress(path)

    def _copied(self, path: str, found: dict[FileKey, str]) -> Progress | None:
        """Return the progress for a copy of a file that was truncated or deleted while no shipper ran; else None."""
        for key, entry in self._registry.entries.items():
            if entry.tail_length < _COPY_TAIL_LENGTH or (progress := entry.progress_of(path)) is None:
                continue
            if key not in found or entry.progress_of(found[key]) is None:
                return progress
        return None


def _progress_of_copy(progress: Progress, path: str) -> Progress | None:
    length = len(progress.tail)
    if length < _COPY_TAIL_LENGTH or bytes_before(path, progress.offset, length) != progress.tail:
        return None
    return Progress(path, progress.offset, progress.tail)


def _matches(pattern: str) -> list[str]:
    # An existing file name is used literally, even if it contains pattern characters.
    return [pattern] if os.path.lexists(pattern) else glob.glob(pattern, recursive=True)


def _is_wanted(path: str, patterns: Sequence[str]) -> bool:
    """Return whether an absolute path is one of the patterns or, as `glob` decides, matches one."""
    absolute = map(os.path.abspath, patterns)
    return any(
        path == pattern or _is_match(path.split(os.sep), pattern.split(os.sep)) for pattern in absolute
    )


def _is_match(names: list[str], parts: list[str]) -> bool:
    """Return whether the names of a path match the parts of a pattern; `**` matches any number of visible names."""
    reached = {0}  # how many names the parts before can match
    for part in parts:
        if part == "**":
            runs = [(count, sum(1 for _ in takewhile(_is_visible, names[count:]))) for count in reached]
            reached = {end for count, length in runs for end in range(count, count + length + 1)}
        else:
            reached = {count + 1 for count in reached if count < len(names) and _is_name(names[count], part)}
    return len(names) in reached


def _is_name(name: str, part: str) -> bool:
    return fnmatchcase(name, part) and (part.startswith(".") or _is_visible(name))


def _is_visible(name: str) -> bool:
    return not name.startswith(".")
