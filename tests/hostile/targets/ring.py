"""The command ring, whose memory clients map: a consumer reads at most what the ring has, and goes on.

An input is the head and the tail of the ring, eight bytes each, and the bytes of its records.
"""

from __future__ import annotations

from contextlib import suppress

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ProtocolError
from targets._texts import check_text

CAPACITY = 512
CYCLES = 40


def seeds() -> list[bytes]:
    ring = ManyToOneRingBuffer(AtomicBuffer.allocate(CAPACITY + wire.RING_TRAILER_LENGTH))
    found = [bytes(16)]
    for length in (0, 1, 20, 64):
        ring.write(length + 1, bytes(length))
        tail = ring.producer_position
        found.append(bytes(8) + tail.to_bytes(8, "little") + ring.buffer.get_bytes(0, tail))
    ring.try_claim(7, 50)
    tail = ring.producer_position
    return [*found, bytes(8) + tail.to_bytes(8, "little") + ring.buffer.get_bytes(0, tail)]


def check(data: bytes) -> bool:
    buffer = AtomicBuffer.allocate(CAPACITY + wire.RING_TRAILER_LENGTH)
    buffer.put_bytes(0, data[16 : 16 + CAPACITY])
    buffer.put_bytes(CAPACITY + wire.RING_HEAD_OFFSET, data[:8].ljust(8, b"\0"))
    buffer.put_bytes(CAPACITY + wire.RING_HEAD_CACHE_OFFSET, data[:8].ljust(8, b"\0"))
    buffer.put_bytes(CAPACITY + wire.RING_TAIL_OFFSET, data[8:16].ljust(8, b"\0"))
    ring = ManyToOneRingBuffer(buffer)
    faults = delivered = 0

    def on_record(type_id: int, source: AtomicBuffer, offset: int, length: int) -> None:
        nonlocal delivered
        assert 0 <= length
        assert wire.RECORD_HEADER_LENGTH <= offset <= offset + length <= CAPACITY
        source.get_bytes(offset, length)
        delivered += 1

    for _ in range(CYCLES):
        try:
            ring.head.check_producers()
            if not ring.read(on_record, 3):
                ring.unblock()
        except ProtocolError as error:
            check_text(error, 500)
            faults += 1
    # Each record takes at least its header.
    assert delivered <= CAPACITY // wire.RECORD_HEADER_LENGTH
    assert faults <= 4
    check_serves(ring)
    return faults == 0


def check_serves(ring: ManyToOneRingBuffer) -> None:
    """Assert that the command of a client is read, with those that it had to repeat."""
    found: list[int] = []
    for _ in range(CYCLES):
        # A client finds an impossible position until the consumer has replaced it.
        with suppress(ProtocolError):
            ring.write(77, b"command")
        with suppress(ProtocolError):
            ring.head.check_producers()
            if not ring.read(lambda type_id, *_: found.append(type_id), 100):
                ring.unblock()
    assert 77 in found
