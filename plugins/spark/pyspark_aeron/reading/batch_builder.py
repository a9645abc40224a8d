"""Batch builder: Arrow batches over the buffers of scanned messages, without copying payloads.

Not here: names and types of the columns (columns). Invariant: a buffer is reused only when no batch refers to it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording import Recording
from aeron_core.recording.reading.message_columns import MessageColumns
from pyspark_aeron.columns import arrow_schema

if TYPE_CHECKING:
    from pyspark_aeron.options import SourceOptions

Int64s = npt.NDArray[np.int64]

# Spark keeps the first batch of a task until the task ends, and each other batch until it has the next.
_LENT_AT_ONCE: Final = 3


class BatchBuilder:
    """Builds batches with the selected columns of one recording."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...], recording: Recording) -> None:
        self._schema = arrow_schema(options, columns)
        self._recording = recording
        self._descriptor = recording.descriptor
        self._times = _RecordingTimes(recording)
        self._makers: list[Callable[[MessageColumns], Any]] = [self._maker(name) for name in columns]
        self._lent: deque[tuple[MessageColumns, list[weakref.ref[memoryview]]]] = deque(maxlen=_LENT_AT_ONCE)
        self._views: list[weakref.ref[memoryview]] = []

    def columns(self, capacity: int, payload_capacity: int) -> MessageColumns:
        """Return empty columns for at least `capacity` messages and `payload_capacity` bytes: reused or new ones."""
        for index, (rows, views) in enumerate(self._lent):
            is_free = all(view() is None for view in views)
            if is_free and rows.capacity >= capacity and rows.payload.capacity >= payload_capacity:
                del self._lent[index]
                rows.clear()
                return rows
        return MessageColumns(capacity, payload_capacity)

    def build(self, rows: MessageColumns) -> pa.RecordBatch:
        """Return the messages as a batch; it uses the memory of `rows` until the batch is freed.

        Do not use `rows` afterwards: `columns` returns it again when its memory is free.
        """
        self._views = []
        batch = self._build(rows)
        self._lent.append((rows, self._views))
        return batch

    def _build(self, rows: MessageColumns) -> pa.RecordBatch:
        if not self._makers:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows.count, pa.struct([])))
        return pa.RecordBatch.from_arrays([make(rows) for make in self._makers], schema=self._schema)

    def _maker(self, name: str) -> Callable[[MessageColumns], Any]:
        descriptor = self._descriptor
        position = self._int64s("positions")
        makers: dict[str, Callable[[MessageColumns], Any]] = {
            "recording_id": _constant(descriptor.recording_id, pa.int64()),
            "position": position,
            "session_id": _constant(descriptor.session_id, pa.int32()),
            "stream_id": _constant(descriptor.stream_id, pa.int32()),
            "term_id": self._term_ids,
            "flags": lambda rows: self._borrow(pa.int32(), rows.count, rows.flags),
            "reserved": self._int64s("reserved_values"),
            "ts": self._timestamps,
            "ts_ns": lambda rows: pa.array(self._times.of(rows)),
            "payload": self._payloads,
            "headers": self._headers,
            "key": lambda rows: pa.nulls(rows.count, pa.binary()),
            "value": self._payloads,
            "topic": _constant(f"{descriptor.channel}:{descriptor.stream_id}", pa.string()),
            "partition": _constant(descriptor.recording_id, pa.int32()),
            "offset": position,
            "timestamp": self._timestamps,
            "timestampType": _constant(1, pa.int32()),
        }
        return makers[name]

    def _term_ids(self, rows: MessageColumns) -> Any:
        # The term of the frame that ends at the position: a message never crosses a term.
        counts = (_positions(rows) - 1) >> self._descriptor.position_bits_to_shift
        return pa.array((counts + self._descriptor.initial_term_id).astype(np.int32))

    def _timestamps(self, rows: MessageColumns) -> Any:
        return pa.array(self._times.of(rows) // 1000).view(pa.timestamp("us", tz="UTC"))

    def _payloads(self, rows: MessageColumns) -> Any:
        buffers = [None, self._lend(rows.boundaries), self._lend(rows.payload)]
        return pa.Array.from_buffers(pa.binary(), rows.count, buffers)

    def _int64s(self, attribute: str) -> Callable[[MessageColumns], Any]:
        return lambda rows: self._borrow(pa.int64(), rows.count, getattr(rows, attribute))

    def _borrow(self, kind: Any, count: int, buffer: AtomicBuffer) -> Any:
        return pa.Array.from_buffers(kind, count, [None, self._lend(buffer)])

    def _lend(self, buffer: AtomicBuffer) -> pa.Buffer:
        # Arrow keeps the view alive while it needs the memory.
        view = memoryview(buffer)
        self._views.append(weakref.ref(view))
        return pa.py_buffer(view)

    def _headers(self, rows: MessageColumns) -> Any:
        descriptor = self._descriptor
        headers = {
            "channel": descriptor.channel,
            "source": descriptor.source_identity,
            "stream_id": str(descriptor.stream_id),
            "session_id": str(descriptor.session_id),
        }
        encoded = {key: value.encode() for key, value in headers.items()}
        kind = self._schema.field("headers").type
        one = pa.array(
            [[{"key": key, "value": value} for key, value in encoded.items()]]
            if pa.types.is_list(kind)
            else [list(encoded.items())],
            kind,
        )
        return one.take(pa.array(np.zeros(rows.count, np.int32)))


class _RecordingTimes:
    """Recording times of the messages of one recording, from the index of its segments."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._ends: Int64s = np.empty(0, np.int64)
        self._times: Int64s = np.empty(0, np.int64)
        self._base = -1

    def of(self, rows: MessageColumns) -> Int64s:
        """Return nanoseconds since the epoch, one for each message; a lower bound for those not indexed yet.

        Raises DataLossError if the index was purged.
        """
        positions = _positions(rows)
        pieces = []
        at = 0
        while at < len(positions):
            base = self._recording.segment_base(int(positions[at]) - 1)
            if base != self._base:
                self._load(base, int(positions[at]))
            segment_end = base + self._recording.descriptor.segment_length
            upto = int(np.searchsorted(positions, segment_end, "right"))
            # Index entries are few compared to messages. The newest messages may not be indexed yet: they get the
            # time of the last entry, a lower bound.
            borders = at + np.searchsorted(positions[at:upto], self._ends[:-1], "right")
            counts = np.diff(borders, prepend=at, append=upto)
            pieces.append(np.repeat(self._times, counts))
            at = upto
        return np.concatenate(pieces) if pieces else np.empty(0, np.int64)

    def _load(self, base: int, position: int) -> None:
        entries = self._recording.index_entries(base)
        self._ends, self._times = entries["end_position"].copy(), entries["time_ns"].copy()
        if not len(self._times):
            self._recording.check_is_kept(position)  # otherwise, the index is late or damaged
            self._times = np.array([self._recording.descriptor.start_time_ns])
        self._base = base


def _positions(rows: MessageColumns) -> Int64s:
    return np.frombuffer(rows.positions, np.int64, rows.count)


def _constant(value: object, kind: Any) -> Callable[[MessageColumns], Any]:
    scalar = pa.scalar(value, kind)
    return lambda rows: pa.repeat(scalar, rows.count)
