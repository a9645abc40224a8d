"""Acknowledgements (A frames): the only frames that a reader sends.

Not here: which events are acknowledged, and whether a sequence number is plausible.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media.lumberjack._native import faults, wire


def encode_ack(buffer: AtomicBuffer, offset: int, version: int, sequence: int) -> int:
    """Write at `offset` an A frame for `sequence`, 0 for a keep-alive; return its length, 6 bytes.

    `version` is '1' or '2' as a byte. Raises IndexError if the frame exceeds `buffer`.
    """
    buffer.put_u8(offset, version)
    buffer.put_u8(offset + wire.TYPE_OFFSET, wire.TYPE_ACK)
    wire.put_u32(buffer, offset + wire.NUMBER_OFFSET, sequence)
    return wire.SHORT_FRAME_LENGTH


class AckParser:
    """Parser of the acknowledgements of one connection, one per call; a `fault` stops it until `reset`."""

    def __init__(self) -> None:
        self.version = 0
        self.sequence = 0
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0

    def reset(self) -> int:
        """Clear the fault, for the next connection; return 0."""
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        return 0

    def parse(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Parse the acknowledgement at `offset` into `version` and `sequence`; return its length, 6 bytes.

        Return 0 if the `length` bytes available are not a complete one, or if `fault` is set, by this call or before.
        Raises IndexError if they exceed `buffer`.
        """
        buffer.check(offset, length)
        if length == 0 or self.fault != faults.NO_FAULT:
            return 0
        version = buffer.get_u8(offset)
        if version != wire.VERSION_2 and version != wire.VERSION_1:  # noqa: PLR1714 - compiled
            return self._set_fault(faults.WRONG_VERSION, version)
        if length > wire.TYPE_OFFSET and buffer.get_u8(offset + wire.TYPE_OFFSET) != wire.TYPE_ACK:
            return self._set_fault(faults.WRONG_TYPE, buffer.get_u8(offset + wire.TYPE_OFFSET))
        if length < wire.SHORT_FRAME_LENGTH:
            return 0
        self.version = version
        self.sequence = wire.get_u32(buffer, offset + wire.NUMBER_OFFSET)
        return wire.SHORT_FRAME_LENGTH

    def _set_fault(self, fault: int, value: int) -> int:
        self.fault = fault
        self.fault_value = value
        return 0
