"""Ring buffer with several producers at once: threads and processes."""

import multiprocessing
import struct
import sys
import threading

import pytest
from rings import make_ring, read_all

from aeron_core._native import wire
from aeron_core._native.mapped import map_fd
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer


def produce(ring, producer, count):
    for number in range(count):
        message = struct.pack("<ii", producer, number) + bytes([producer]) * (number % 40)
        while not ring.write(producer + 1, message):
            pass


def consume(ring, producers, count):
    """Read everything and check that each producer's messages are intact and in order."""
    expected = [0] * producers

    def handler(type_id, buffer, at, length):
        producer, number = struct.unpack("<ii", buffer.get_bytes(at, 8))
        assert type_id == producer + 1
        assert number == expected[producer]
        assert buffer.get_bytes(at + 8, length - 8) == bytes([producer]) * (number % 40)
        expected[producer] += 1

    while sum(expected) < producers * count:
        ring.read(handler, 10)
    assert read_all(ring) == []


@pytest.fixture
def restless_threads():
    """Let threads run in turns of 0.1 ms: a producer that finds no space spins to the end of its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless_threads")
def test_concurrent_threads_lose_and_mix_no_message():
    ring = make_ring(capacity=512)
    threads = [threading.Thread(target=produce, args=(ring, n, 1000), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()

    consume(ring, 3, 1000)

    assert ring.size == 0


@pytest.mark.system
def test_concurrent_processes_lose_and_mix_no_message(tmp_path):
    path = tmp_path / "ring"
    path.write_bytes(bytes(1024 + wire.RING_TRAILER_LENGTH))
    with path.open("r+b") as file:
        ring = ManyToOneRingBuffer(map_fd(file.fileno(), 1024 + wire.RING_TRAILER_LENGTH))
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=produce, args=(ring, n, 4000), daemon=True) for n in range(2)]
    for worker in workers:
        worker.start()

    consume(ring, 2, 4000)

    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0]
