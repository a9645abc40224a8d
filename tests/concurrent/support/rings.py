"""Rings in memory, and what they hold."""

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer

CAPACITY = 1024


def make_ring(capacity=CAPACITY, head=0):
    ring = ManyToOneRingBuffer(AtomicBuffer.allocate(capacity + wire.RING_TRAILER_LENGTH))
    for offset in (wire.RING_HEAD_OFFSET, wire.RING_HEAD_CACHE_OFFSET, wire.RING_TAIL_OFFSET):
        ring.buffer.put_i64(capacity + offset, head)
    return ring


def read_all(ring, limit=1000):
    messages = []
    ring.read(
        lambda type_id, buffer, at, length: messages.append((type_id, buffer.get_bytes(at, length))), limit
    )
    return messages


def set_tail(ring, tail):
    ring.buffer.put_i64(ring.capacity + wire.RING_TAIL_OFFSET, tail)
