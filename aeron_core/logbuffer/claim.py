"""A range of a log that a publisher claimed and fills in place.

Not here: claiming a range (the appenders).
Invariant: while a claim is open its frame has a negative length, so that no reader passes it. Every claim
must end with `commit` or `abort`; otherwise the stream stops until the driver pads the claim: after the
unblock timeout, or if the publication is exclusive, after its removal.
"""

from __future__ import annotations

from types import TracebackType

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer


class BufferClaim:
    """A claimed range of a log; the object is reused for one claim after the other, of any appender.

    One thread uses it. As a context manager it commits, or aborts if the block raises.
    """

    def __init__(self) -> None:
        # An empty buffer, so that `log_buffer` is never None.
        self.log_buffer = AtomicBuffer.allocate(0)
        self.frame_offset = -1
        self.length = 0

    @property
    def is_open(self) -> bool:
        """Whether a claim is waiting for `commit` or `abort`."""
        return self.frame_offset >= 0

    @property
    def buffer(self) -> memoryview:
        """The payload, writable. Do not write to it after `commit`: the memory then belongs to the stream.

        Raises IndexError if no claim is open.
        """
        return memoryview(self.payload())

    def payload(self) -> AtomicBuffer:
        """Return the payload as an AtomicBuffer; raise IndexError if no claim is open."""
        return self.log_buffer.view(self.payload_offset(), self.length)

    def commit(self) -> bool:
        """Publish the message to readers; return False if no claim is open."""
        if self.frame_offset < 0:
            return False
        offset = self.frame_offset
        # Close the claim before the store: after it the frame belongs to readers, and this object must not change it.
        self.frame_offset = -1
        # Release: a reader that loads the length with acquire also sees the payload.
        self.log_buffer.put_i32_release(offset, self.length + wire.DATA_HEADER_LENGTH)
        return True

    def abort(self) -> bool:
        """Turn the claim into padding, which readers skip; return False if no claim is open."""
        if self.frame_offset < 0:
            return False
        # Set the type first: `commit` stores the length with release, which makes the type visible.
        self.set_header_type(wire.TYPE_PAD)
        return self.commit()

    def payload_offset(self) -> int:
        """Return the offset of the payload in `log_buffer`, -1 if no claim is open."""
        return self.frame_offset + wire.DATA_HEADER_LENGTH if self.frame_offset >= 0 else -1

    def flags(self) -> int:
        """Return the flags of the frame, `wire.DATA_FLAG_…`; raise IndexError if no claim is open."""
        return self.log_buffer.get_u8(self._field(wire.FRAME_FLAGS_OFFSET))

    def set_flags(self, flags: int) -> int:
        """Set the flags of the frame, by default those of an unfragmented message; return 0.

        Raises IndexError if no claim is open.
        """
        return self.log_buffer.put_u8(self._field(wire.FRAME_FLAGS_OFFSET), flags)

    def header_type(self) -> int:
        """Return the type of the frame, one of `wire.TYPE_…`; raise IndexError if no claim is open."""
        return self.log_buffer.get_u16(self._field(wire.FRAME_TYPE_OFFSET))

    def set_header_type(self, header_type: int) -> int:
        """Set the type of the frame, `wire.TYPE_DATA` by default; return 0. Raises IndexError if no claim is open."""
        return self.log_buffer.put_u16(self._field(wire.FRAME_TYPE_OFFSET), header_type)

    def reserved_value(self) -> int:
        """Return the reserved value, a signed 64-bit field; raise IndexError if no claim is open."""
        return self.log_buffer.get_i64(self._field(wire.DATA_RESERVED_VALUE_OFFSET))

    def set_reserved_value(self, value: int) -> int:
        """Set the reserved value, a signed 64-bit field, 0 by default; return 0.

        Raises IndexError if no claim is open.
        """
        return self.log_buffer.put_i64(self._field(wire.DATA_RESERVED_VALUE_OFFSET), value)

    def prepare(self, buffer: AtomicBuffer) -> int:
        """Prepare a claim in `buffer` and return 0; raise ValueError if a claim is open. For appenders."""
        # Successive claims in the same log never need the GIL.
        return 0 if self.log_buffer is buffer and self.frame_offset < 0 else self._bind(buffer)

    def open(self, frame_offset: int, length: int) -> None:
        """Open a claim at `frame_offset` of the prepared buffer, for a payload of `length` bytes. For appenders."""
        self.frame_offset = frame_offset
        self.length = length

    def _bind(self, buffer: AtomicBuffer) -> int:
        if self.frame_offset >= 0:
            raise ValueError(
                f"the claim at offset {self.frame_offset} of the log is open: commit or abort it before the next claim"
            )
        self.log_buffer = buffer
        return 0

    def _field(self, field: int) -> int:
        # Return -1, for which the buffer raises IndexError: -1 plus the field's offset could be a valid offset.
        return self.frame_offset + field if self.frame_offset >= 0 else -1

    def __enter__(self) -> BufferClaim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()
