"""Validation of the arguments of `offer_batch`, before the GIL is released, and of `offer_many`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.uri.values import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from aeron_core.bytes_like import BytesLike

_I64_LENGTH = 8
_RAW_FORMATS = ("B", "b", "c")
_I64_FORMATS = ("q", "Q", "l", "L", "n", "N")


def boundaries_of(offsets: BytesLike) -> AtomicBuffer:
    """Return `offsets` as a buffer of little-endian 64-bit integers.

    Raises TypeError unless it is a buffer of such integers or of raw bytes, and BufferError or ValueError, depending on
    its type, if it is not contiguous.
    """
    view = memoryview(offsets)
    kind = (view.format or "B").lstrip("@=<")
    if not (kind in _RAW_FORMATS or (kind in _I64_FORMATS and view.itemsize == _I64_LENGTH)):
        raise TypeError(
            f"offsets with items of format {view.format!r} and length {view.itemsize} (in bytes): must be 64-bit "
            "integers in little-endian byte order, such as a numpy array of int64, or their raw bytes"
        )
    return AtomicBuffer(offsets)


def count_of(boundaries: AtomicBuffer, first: int, count: int | None) -> int:
    """Return `count`, or if it is None the number of messages from `first` on.

    Raises ValueError for a count outside of int64; any other count is returned unchecked.
    """
    if count is not None:
        if not INT64_MIN <= count <= INT64_MAX:
            left = max(boundaries.capacity // _I64_LENGTH - 1 - first, 0)
            raise ValueError(f"count={count}: must be from 0 to {left}, the messages from first={first} on")
        return count
    return max(boundaries.capacity // _I64_LENGTH - 1 - first, 0)


def check_step(reserved_value: int, step: int, count: int) -> None:
    """Raise ValueError unless the reserved values of all messages of a batch are int64."""
    last = reserved_value + step * max(count - 1, 0)
    if not (INT64_MIN <= step <= INT64_MAX and INT64_MIN <= last <= INT64_MAX):
        raise ValueError(
            f"reserved_step={step}: the reserved value of the last message, {last}, must be an int64"
        )


def parts_of(data: Sequence[BytesLike]) -> tuple[AtomicBuffer, ...]:
    """Return the parts of a gathered message as buffers; raises TypeError if one is not a buffer."""
    return tuple(AtomicBuffer(part) for part in data)


def length_of(data: BytesLike | list[BytesLike] | tuple[BytesLike, ...]) -> int:
    """Return the length of a message in bytes, of all parts of a list or tuple; raise TypeError if one is no buffer."""
    parts = data if isinstance(data, (list, tuple)) else (data,)
    return sum(memoryview(part).nbytes for part in parts)


def messages_of(
    messages: Sequence[BytesLike | list[BytesLike] | tuple[BytesLike, ...]], first: int
) -> tuple[BytesLike, ...]:
    """Return a list or tuple of messages as a tuple, which no other thread changes; check that `first` lies within it.

    Raises TypeError for another type, because each item of a single buffer would be taken for a message, and ValueError
    unless `first` is from 0 to the number of messages.
    """
    if not isinstance(messages, (list, tuple)):
        raise TypeError(
            f"messages of type {type(messages).__name__}: must be a list or a tuple of messages, each a buffer such as "
            "bytes"
        )
    found = tuple(messages)
    if not 0 <= first <= len(found):
        raise ValueError(f"first={first}: must be from 0 to {len(found)}, the number of messages")
    return found
