"""Export of recorded messages to files of other formats.

lines              each message and a newline
length-prefixed    each message after its length, a little-endian int32
arrow, parquet     a table; needs pyarrow
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO, Final

from aeron_core.errors import ConfigurationError
from aeron_core.recording.reading.messages import RecordedMessage
from aeron_core.recording.storage.descriptor import RecordingDescriptor

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch. An invented number: a common batch size of Arrow readers.
_BATCH: Final = 16384


class ExportFormat(StrEnum):
    """Format of an exported file; the value is its name on the command line."""

    LINES = "lines"  # each message and a newline
    LENGTH_PREFIXED = "length-prefixed"  # each message after its length, a little-endian int32
    ARROW = "arrow"  # a table in the Arrow file format
    PARQUET = "parquet"


def export(
    messages: Iterable[RecordedMessage],
    descriptor: RecordingDescriptor,
    file: BinaryIO,
    form: ExportFormat,
) -> int:
    """Write messages to `file` and return their number.

    Raises ConfigurationError if the format needs pyarrow and it is not installed, and the errors of `messages` and
    `file`.
    """
    if form is ExportFormat.LINES:
        return _write_all(file, (message.payload + b"\n" for message in messages))
    if form is ExportFormat.LENGTH_PREFIXED:
        return _write_all(
            file, (len(message.payload).to_bytes(4, "little") + message.payload for message in messages)
        )
    return _write_tables(messages, descriptor, file, form)


def _write_all(file: BinaryIO, pieces: Iterator[bytes]) -> int:
    count = 0
    for piece in pieces:
        file.write(piece)
        count += 1
    return count


def _write_tables(
    messages: Iterable[RecordedMessage],
    descriptor: RecordingDescriptor,
    file: BinaryIO,
    form: ExportFormat,
) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415 - lazy: optional
        from pyarrow import parquet  # noqa: PLC0415 - lazy: optional
    except ImportError:
        raise ConfigurationError(
            f"{form}: needs pyarrow, which is not installed: pip install 'aeron-core[arrow]'"
        ) from None
    schema = _schema()
    maker = pa.ipc.new_file if form is ExportFormat.ARROW else parquet.ParquetWriter
    count = 0
    with maker(file, schema) as writer:
        rows = iter(messages)
        while batch := list(itertools.islice(rows, _BATCH)):
            writer.write_batch(_record_batch(batch, descriptor, schema))
            count += len(batch)
    return count


def _schema() -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - lazy: optional

    return pa.schema(
        [
            pa.field("recording_id", pa.int64(), nullable=False),
            pa.field("session_id", pa.int32(), nullable=False),
            pa.field("stream_id", pa.int32(), nullable=False),
            pa.field("position", pa.int64(), nullable=False),
            pa.field("time", pa.timestamp("ns", "UTC")),
            pa.field("reserved_value", pa.int64(), nullable=False),
            pa.field("payload", pa.binary(), nullable=False),
        ]
    )


def _record_batch(
    batch: list[RecordedMessage], descriptor: RecordingDescriptor, schema: pa.Schema
) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - lazy: optional

    columns = [
        [descriptor.recording_id] * len(batch),
        [descriptor.session_id] * len(batch),
        [descriptor.stream_id] * len(batch),
        [message.position for message in batch],
        [message.time_ns or None for message in batch],
        [message.reserved_value for message in batch],
        [message.payload for message in batch],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)
