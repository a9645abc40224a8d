"""Records of the ring buffer and of the broadcast buffer: an eight-byte header, then the message.

Not here: when a record may be written (ring_buffer, broadcast_transmitter). The header has the record's length, header
included, and its type; every record starts at a multiple of eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError, ProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aeron_core._native.buffer import AtomicBuffer

# Invented bound: adding any length stays within int64, and no ring ever carries that many bytes.
MAX_POSITION = 1 << 62


def is_power_of_two(value: int) -> bool:
    """Return whether `value` is a positive power of two."""
    return value > 0 and value & (value - 1) == 0


def align_record(length: int) -> int:
    """Return the bytes that a record of `length` bytes, header included, occupies: rounded up to a multiple of 8."""
    return (length + wire.RECORD_ALIGNMENT - 1) & -wire.RECORD_ALIGNMENT


def record_capacity(buffer: AtomicBuffer, trailer_length: int) -> int:
    """Return the number of bytes for records before the trailer.

    Raises ConfigurationError unless it is a power of two of at least 8.
    """
    capacity = buffer.capacity - trailer_length
    # Positions count bytes since the start and never wrap; `position & (capacity - 1)` is the index of a record.
    if not is_power_of_two(capacity) or capacity < wire.RECORD_HEADER_LENGTH:
        raise ConfigurationError(
            f"buffer of {buffer.capacity} bytes: must be a power of two of at least {wire.RECORD_HEADER_LENGTH} "
            f"bytes for records, plus {trailer_length} bytes for the trailer"
        )
    return capacity


def is_position(value: int) -> bool:
    """Return whether a correct process can have stored `value` as a position."""
    return 0 <= value <= MAX_POSITION and value % wire.RECORD_ALIGNMENT == 0


def read_position(buffer: AtomicBuffer, offset: int) -> int:
    """Return the position at `offset`, loaded with acquire.

    Raises ProtocolError for a position that no correct process stores: an index computed from it could point into the
    trailer.
    """
    # Acquire: pairs with the release or compare-and-set that stored the position: what was stored before it is visible.
    position = buffer.get_i64_acquire(offset)
    if not is_position(position):
        raise ProtocolError(
            f"position {position} at offset {offset}: must be a multiple of {wire.RECORD_ALIGNMENT} "
            f"from 0 to {MAX_POSITION}; the buffer is damaged, restart the media driver"
        )
    return position


def message_bytes(type_id: int, message: Buffer, max_message_length: int) -> memoryview:
    """Return a view of the bytes of `message`, for a caller that has not claimed a record yet.

    Raises ConfigurationError for a type that is not from 1 to 2147483647 and for more than `max_message_length` bytes,
    TypeError unless `message` is a contiguous buffer: after a claim, an error would block the consumer.
    """
    data = memoryview(message).cast("B")
    check_message(type_id, len(data), max_message_length)
    return data


def check_message(type_id: int, length: int, max_message_length: int) -> None:
    """Raise ConfigurationError unless type is from 1 to 2147483647 and length from 0 to `max_message_length` bytes."""
    if not 1 <= type_id <= 0x7FFFFFFF:
        raise ConfigurationError(f"type_id={type_id}: must be from 1 to 2147483647")
    if not 0 <= length <= max_message_length:
        raise ConfigurationError(
            f"message of {length} bytes: must be from 0 to {max_message_length}, an eighth of the buffer: shorten it, "
            f"or use a longer buffer"
        )
