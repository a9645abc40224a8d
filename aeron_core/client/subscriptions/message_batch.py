"""Batch of messages as arrays, in the layout of Arrow: a binary column and columns of integers.

Not here: reading it (subscription).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@frozen(slots=True, eq=False)
class MessageBatch:
    """Whole messages, those of each stream in order; the batch owns its arrays, which no later poll changes."""

    data: npt.NDArray[np.uint8]  # bytes of all messages, without gaps
    offsets: npt.NDArray[np.int64]  # n + 1: message i is data[offsets[i] : offsets[i + 1]]
    positions: npt.NDArray[np.int64]  # n: stream position after each message
    session_ids: npt.NDArray[np.int32]  # n: session of the publication that sent each message
    reserved_values: npt.NDArray[np.int64]  # n: of the first fragment of each message

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: int) -> bytes:
        count = len(self.positions)
        if not -count <= index < count:
            allowed = f"must be from {-count} to {count - 1}" if count else "the batch is empty"
            raise IndexError(f"message index={index}: {allowed}")
        index %= count
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]].data)

    def __iter__(self) -> Iterator[bytes]:
        data = memoryview(self.data)
        offsets = self.offsets.tolist()
        for begin, end in pairwise(offsets):
            yield bytes(data[begin:end])

    def to_arrow(self) -> pa.RecordBatch:
        """Return the columns `session_id`, `position`, `reserved_value` and `payload`, without copying.

        Raises ImportError without pyarrow, which is part of the extra `aeron-core[arrow]`.
        """
        import pyarrow as pa  # noqa: PLC0415 - optional

        payload = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(self), [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        )
        return pa.RecordBatch.from_arrays(
            [pa.array(self.session_ids), pa.array(self.positions), pa.array(self.reserved_values), payload],
            names=["session_id", "position", "reserved_value", "payload"],
        )
