"""What the Spark sink and source find on disk: staged files of tasks, and offsets of checkpoints.

The first byte of an input: 1 for a staged file that is not the one that its task wrote, 2 for a commit that undoes what
it did at a fault, 4 for the JSON of an offset instead of a file.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from pyspark_aeron.reading.offsets import Offset
from pyspark_aeron.writing.staged_file import StagedFile, StagedFileWriter, Task, columns_of

from aeron_core.errors import AeronError, ConfigurationError, DataLossError, RecordingError
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.writing.batch_appender import AppenderParams, BatchAppender, MessageColumn
from targets._simulations import at_close, folder_in_memory
from targets._texts import check_text

REPLACED, UNDONE, OFFSET = 1, 2, 4
ARCHIVE = "8f7a2d9e-6a0e-4b7c-9d4e-3f1c2b5a6d70"
TASK = Task("query", 1, 0)
PARAMS = AppenderParams("aeron:ipc", term_length=1 << 16, segment_length=1 << 16, clock=lambda: 10**18)

_resources = ExitStack()


@cache
def folder() -> Path:
    return _resources.enter_context(folder_in_memory())


def _close() -> None:
    _resources.close()
    folder.cache_clear()


at_close(_close)


def staged(*payloads: bytes, reserved: bool = False) -> bytes:
    path = folder() / "staged" / "seed"
    path.unlink(missing_ok=True)
    writer = StagedFileWriter(path, 1)
    boundaries = np.cumsum([0, *map(len, payloads)], dtype=np.int64)
    values = np.arange(len(payloads), dtype=np.int64) if reserved else None
    writer.write(b"".join(payloads), boundaries, values)
    writer.finish()
    return path.read_bytes()


def seeds() -> list[bytes]:
    two = staged(b"one", b"", b"x" * 40)
    offset = {"archive": ARCHIVE, "pos": {"1": 4096, "2": 0}, "v": 1}
    return [
        b"\0" + two,
        b"\0" + two + staged(b"three", reserved=True),
        bytes([UNDONE]) + two * 2,
        bytes([OFFSET]) + json.dumps(offset).encode(),
    ]


def check(data: bytes) -> bool:
    mode, content = (data[0] if data else 0), data[1:]
    if mode & OFFSET:
        return check_offset(content)
    path = folder() / "staged" / "file"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o600)
    digest = "" if mode & REPLACED else hashlib.sha256(content).hexdigest()
    file = StagedFile(str(path), 1, TASK, digest)
    return check_columns(file, is_undone=bool(mode & UNDONE)) and check_append(file, bool(mode & UNDONE))


def check_columns(file: StagedFile, *, is_undone: bool) -> bool:
    length = Path(file.path).stat().st_size
    try:
        for _, column in columns_of([file], is_undone=is_undone):
            assert column.data.capacity + column.boundaries.capacity <= length
            assert column.boundaries.capacity == (column.count + 1) * 8
            assert column.reserved_values is None or len(column.reserved_values) == column.count
    except RecordingError as error:
        check_text(error, 1000)
        return False
    # Without the digest of the task, nothing is used, or all of it is undone.
    assert file.sha256
    return True


def check_append(file: StagedFile, is_undone: bool) -> bool:
    """Append a batch: all of it, or nothing, can be read then."""
    place = folder() / "archive"
    shutil.rmtree(place, ignore_errors=True)
    archive = Archive.create(place)
    expected = [
        payload for _, column in columns_of([file], is_undone=is_undone) for payload in payloads_of(column)
    ]
    try:
        columns = (column for _, column in columns_of([file], is_undone=is_undone))
        described = BatchAppender(archive, TASK.writer, PARAMS).append(TASK.batch_id, columns)
    except (RecordingError, ConfigurationError, ValueError) as error:
        # ValueError: the digest is that of the task, so that only a fault of this program writes such boundaries.
        check_text(error, 1000)
        assert [recording.position for recording in archive.recordings()] in ([], [0])
        return False
    recording = archive.recording(described.recording_id)
    assert [each.payload for each in messages(recording, 0, recording.position)] == expected
    return True


def payloads_of(column: MessageColumn) -> list[bytes]:
    borders = [column.boundaries.get_i64(index * 8) for index in range(column.count + 1)]
    data = column.data.get_bytes(0, column.data.capacity)
    return [data[begin:end] for begin, end in pairwise(borders)]


def check_offset(content: bytes) -> bool:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False  # Spark parses it
    try:
        offset = Offset.parse(document, ARCHIVE)
        again = Offset.parse(json.loads(json.dumps(offset.to_json())), ARCHIVE)
        assert again == offset
        assert all(0 <= number < 1 << 63 for pair in offset.positions.items() for number in pair)
        Offset(ARCHIVE, {}).check_not_before(offset)
        Offset(ARCHIVE, {1: 64}).check_not_before(offset)
    except DataLossError as error:
        check_text(error)
    except AeronError as error:
        check_text(error, 600)
        return False
    return True
