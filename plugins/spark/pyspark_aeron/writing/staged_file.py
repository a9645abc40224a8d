"""Files of staged messages, in the layout that commits append and publish without conversion.

A file consists of blocks, each a multiple of 8 bytes long, all integers little-endian:

    int64   format, `FORMAT`
    int64   number of messages
    int64   length of their bytes
    int64   1 if there are reserved values, else 0
    int64   boundaries in the bytes: one more than messages, the first is 0
    int64   reserved values, one per message, if there are any
    bytes   of the messages, then zeros up to a multiple of 8 bytes

Not here: where the files are, and by which tasks they are written (staging). Invariant: what a reader yields is what
the writer wrote, because the digest in the commit message is that of the file.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import RecordingError
from aeron_core.recording.writing.batch_appender import MessageColumn
from pyspark_aeron.writing.private_folder import create_private_file, open_private_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: First field of a block: "aeron", and the version of the format.
FORMAT: Final = int.from_bytes(b"aeron\0\0\1", "little")
_HEADER: Final = np.dtype("<i8")
_FIELDS: Final = 4
_ALIGNMENT: Final = 8
#: That a commit has open at a time: the digest of the next file is computed while this one is delivered.
_MAPPED_FILES: Final = 2


@dataclass(frozen=True, slots=True)
class Task:
    """Identity of a task of a batch."""

    writer: str  # the streaming query, or the job
    batch_id: int
    partition: int


@dataclass
class StagedFile:
    """The file that a task has written, as its commit message describes it."""

    path: str  # empty if the task had no rows
    rows: int
    task: Task
    sha256: str = ""  # of the file


class StagedFileWriter:
    """Writer of a file that only this user can read; created with the first messages."""

    def __init__(self, path: Path, private_parts: int) -> None:
        """`private_parts`: see `create_private_file`."""
        self._path = path
        self._private_parts = private_parts
        self._file: int | None = None
        self._digest = hashlib.sha256()
        self.rows = 0

    def write(
        self, data: Buffer, boundaries: npt.NDArray[np.int64], reserved: npt.NDArray[np.int64] | None
    ) -> None:
        """Write a block of messages; `boundaries` begin with 0, and end with the length of `data` in bytes.

        Raises OSError, and RecordingError for a folder of another user.
        """
        if self._file is None:
            self._file = create_private_file(self._path.parent, self._path.name, self._private_parts)
        count, length = len(boundaries) - 1, int(boundaries[-1])
        header = np.array([FORMAT, count, length, int(reserved is not None)], _HEADER)
        values = () if reserved is None else (_bytes_of(reserved),)
        for part in (_bytes_of(header), _bytes_of(boundaries), *values, data, bytes(-length % _ALIGNMENT)):
            self._write(part)
        self.rows += count

    def finish(self) -> str:
        """Close the file, if there is one, and return its digest, empty without one.

        Not flushed to disk: if the machine crashes before the commit, the batch is not committed, and a file that lost
        data does not have its digest.
        """
        self.close()
        return self._digest.hexdigest() if self.rows else ""

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, part: Buffer) -> None:
        assert self._file is not None
        with memoryview(part) as view:
            written = 0
            while written < len(view):
                written += os.write(self._file, view[written:])
            self._digest.update(view)


def columns_of(
    files: Iterable[StagedFile], *, is_undone: bool = False
) -> Generator[tuple[StagedFile, MessageColumn]]:
    """Yield the messages of all files, in the order of the partitions.

    Raises RecordingError for a file that cannot be read, or is not what its task wrote: before its first message, or,
    with `is_undone`, after its last one at the latest, because the caller undoes what it did. Digests are computed in
    another thread.
    """
    ordered = sorted((file for file in files if file.path), key=lambda file: file.task.partition)
    ahead: deque[tuple[memoryview, Future[None]]] = deque()
    with ThreadPoolExecutor(1) as pool:
        for number, file in enumerate(ordered):
            # Few at a time: each mapped file takes a descriptor.
            for following in ordered[number + len(ahead) : number + _MAPPED_FILES]:
                content = _content_of(following)
                ahead.append((content, pool.submit(_check, following, content)))
            content, check = ahead.popleft()
            if not is_undone:
                check.result()
            try:
                for column in _blocks_of(content, file.path):
                    yield file, column
            finally:
                # Also if the caller ends early, by an error of damaged content: this one names the cause.
                check.result()


def discard(files: Iterable[StagedFile | None]) -> None:
    """Delete the files of tasks; one that cannot be deleted stays, since what follows a delivery must not fail."""
    for file in files:
        if file is not None and file.path:
            with suppress(OSError):
                Path(file.path).unlink()


def _content_of(file: StagedFile) -> memoryview:
    """Return the file of a task, mapped; raises RecordingError if it cannot be read."""
    path = Path(file.path)
    try:
        fd = open_private_file(path)
        try:
            content = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:  # ValueError: the file is empty
        cause = error.strerror or error if isinstance(error, OSError) else error
        raise RecordingError(
            f"cannot read {path}: {cause}; restart the query, or run the job again, to repeat the batch; if tasks run "
            "on other machines, set option staging to a folder that all of them share"
        ) from error
    return memoryview(content)


def _check(file: StagedFile, content: memoryview) -> None:
    """Raise RecordingError if the digest of a file is not that of its commit message."""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise RecordingError(
            f"{file.path}: is not what its task wrote; no row of it is used; restart the query, or run the job again, "
            "to repeat the batch"
        )


def _blocks_of(content: memoryview, path: str) -> Iterator[MessageColumn]:
    at = 0
    while at < len(content):
        header = np.frombuffer(content, _HEADER, _FIELDS, at).tolist() if len(content) - at >= 32 else [0] * 4
        version, count, length, has_reserved = header
        boundaries = at + _FIELDS * 8
        reserved = boundaries + (count + 1) * 8
        data = reserved + has_reserved * count * 8
        end = data + length + -length % _ALIGNMENT
        if version != FORMAT or min(count, length) < 0 or has_reserved not in {0, 1} or end > len(content):
            raise RecordingError(
                f"{path}: byte {at}: is no block of staged messages of this version; install the same version of "
                "aeron-core on all machines, and restart the query, or run the job again"
            )
        yield MessageColumn(
            AtomicBuffer(content[data : data + length]),
            AtomicBuffer(content[boundaries:reserved]),
            count,
            np.frombuffer(content, _HEADER, count, reserved) if has_reserved else None,
        )
        at = end


def _bytes_of(values: npt.NDArray[np.int64]) -> memoryview:
    """Return the integers as little-endian bytes."""
    return memoryview(np.ascontiguousarray(values, _HEADER).view(np.uint8).data)
