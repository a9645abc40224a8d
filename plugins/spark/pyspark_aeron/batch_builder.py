"""Arrow batches out of scanned messages: buffers are handed over as they are, never copied.

Not here: the columns' names and types (columns).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aeron_core.recording import Recording
from aeron_core.recording.message_columns import MessageColumns
from pyspark_aeron.columns import arrow_schema

if TYPE_CHECKING:
    from pyspark_aeron.options import SourceOptions

Int64s = npt.NDArray[np.int64]


class BatchBuilder:
    """Makes batches of the asked-for columns of one recording."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...], recording: Recording) -> None:
        self._schema = arrow_schema(options, columns)
        self._recording = recording
        self._descriptor = recording.descriptor
        self._times = _Times(recording)
        self._makers: list[Callable[[MessageColumns], Any]] = [self._maker(name) for name in columns]

    def build(self, rows: MessageColumns) -> pa.RecordBatch:
        """Return the messages as a batch, to which the memory of `rows` belongs from now on."""
        if not self._makers:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows.count, pa.struct([])))
        return pa.RecordBatch.from_arrays([make(rows) for make in self._makers], schema=self._schema)

    def _maker(self, name: str) -> Callable[[MessageColumns], Any]:
        descriptor = self._descriptor
        position = _int64s("positions")
        makers: dict[str, Callable[[MessageColumns], Any]] = {
            "recording_id": _constant(descriptor.recording_id, pa.int64()),
            "position": position,
            "session_id": _constant(descriptor.session_id, pa.int32()),
            "stream_id": _constant(descriptor.stream_id, pa.int32()),
            "term_id": self._term_ids,
            "flags": lambda rows: _from_buffer(pa.int32(), rows.count, rows.flags),
            "reserved": _int64s("reserved_values"),
            "ts": self._timestamps,
            "ts_ns": lambda rows: pa.array(self._times.of(_positions(rows))),
            "payload": _payloads,
            "headers": self._headers,
            "key": lambda rows: pa.nulls(rows.count, pa.binary()),
            "value": _payloads,
            "topic": _constant(f"{descriptor.channel}:{descriptor.stream_id}", pa.string()),
            "partition": _constant(descriptor.recording_id, pa.int32()),
            "offset": position,
            "timestamp": self._timestamps,
            "timestampType": _constant(1, pa.int32()),
        }
        return makers[name]

    def _term_ids(self, rows: MessageColumns) -> Any:
        # Of the frame that ends there: a message never crosses a term.
        counts = (_positions(rows) - 1) >> self._descriptor.position_bits_to_shift
        return pa.array((counts + self._descriptor.initial_term_id).astype(np.int32))

    def _timestamps(self, rows: MessageColumns) -> Any:
        microseconds = self._times.of(_positions(rows)) // 1000
        return pa.array(microseconds).cast(pa.timestamp("us", tz="UTC"))

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


class _Times:
    """When the messages of one recording were recorded, by the index of its segments."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._ends: Int64s = np.empty(0, np.int64)
        self._times: Int64s = np.empty(0, np.int64)
        self._base = -1

    def of(self, positions: Int64s) -> Int64s:
        """Return nanoseconds since the epoch for positions behind messages, in order."""
        times = np.empty(len(positions), np.int64)
        at = 0
        while at < len(positions):
            base = self._recording.segment_base(int(positions[at]) - 1)
            if base != self._base:
                self._load(base)
            segment_end = base + self._recording.descriptor.segment_length
            upto = int(np.searchsorted(positions, segment_end, "right"))
            found = np.searchsorted(self._ends, positions[at:upto], "left")
            # What was recorded last may not be in the index yet: it is as old as what was before it, or younger.
            times[at:upto] = self._times[np.minimum(found, len(self._times) - 1)]
            at = upto
        return times

    def _load(self, base: int) -> None:
        entries = self._recording.index_entries(base)
        self._ends, self._times = entries["end_position"].copy(), entries["time_ns"].copy()
        if not len(self._times):
            self._times = np.array([self._recording.descriptor.start_time_ns])
        self._base = base


def _positions(rows: MessageColumns) -> Int64s:
    return np.frombuffer(rows.positions, np.int64, rows.count)


def _from_buffer(kind: Any, count: int, buffer: Any) -> Any:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(buffer)])


def _int64s(attribute: str) -> Callable[[MessageColumns], Any]:
    return lambda rows: _from_buffer(pa.int64(), rows.count, getattr(rows, attribute))


def _payloads(rows: MessageColumns) -> Any:
    buffers = [None, pa.py_buffer(rows.boundaries), pa.py_buffer(rows.payload)]
    return pa.Array.from_buffers(pa.binary(), rows.count, buffers)


def _constant(value: object, kind: Any) -> Callable[[MessageColumns], Any]:
    scalar = pa.scalar(value, kind)
    return lambda rows: pa.repeat(scalar, rows.count)
