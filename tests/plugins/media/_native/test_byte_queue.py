"""Byte queues, and the memory budget that they share."""

import pytest
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget

from aeron_core._native.buffer import AtomicBuffer


def put(queue, data):
    return queue.append(AtomicBuffer(data), 0, len(data))


def test_a_queue_returns_bytes_in_the_order_of_their_addition():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)
    expected = bytearray()

    for i in range(2000):
        piece = bytes([i & 255]) * (i % 97)
        assert put(queue, piece) == 1
        expected += piece
        taken = (i * 31) % 90
        queue.consume(taken)
        del expected[:taken]
        assert queue.to_bytes() == bytes(expected)
        assert queue.size == len(queue) == len(expected)


def test_a_new_queue_and_a_released_queue_allocate_nothing():
    budget = MemoryBudget(1 << 20)
    queue = ByteQueue(budget, 1 << 20)
    assert (queue.capacity, budget.used) == (0, 0)

    put(queue, b"abc")
    assert budget.used == queue.capacity > 0

    queue.consume(3)
    assert queue.release() == 1
    assert (queue.capacity, budget.used) == (0, 0)
    put(queue, b"def")
    assert queue.to_bytes() == b"def"


def test_a_queue_that_is_not_empty_keeps_its_memory():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)
    put(queue, b"abc")

    assert queue.release() == 0
    assert queue.to_bytes() == b"abc"


def test_a_queue_grows_up_to_its_bound_and_no_further():
    budget = MemoryBudget(1 << 20)
    queue = ByteQueue(budget, 10_000)
    put(queue, bytes(6000))

    assert queue.reserve(4000) == 1
    assert queue.capacity == 10_000
    assert queue.reserve(4001) == 0
    assert not queue.lacks_budget
    assert queue.reserve(1 << 62) == 0


def test_consumed_space_is_reused_without_growing():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)
    put(queue, bytes(4096))
    queue.consume(4000)

    assert put(queue, bytes(4000)) == 1
    assert queue.capacity == 4096


def test_queues_of_one_budget_never_hold_more_than_it_allows_together():
    budget = MemoryBudget(10_000)
    first = ByteQueue(budget, 1 << 20)
    second = ByteQueue(budget, 1 << 20)

    assert put(first, bytes(4096)) == 1
    assert put(second, bytes(4096)) == 1
    assert second.reserve(1) == 0
    assert second.lacks_budget
    assert second.to_bytes() == bytes(4096)
    assert budget.used == 8192


def test_a_deleted_queue_frees_its_memory():
    budget = MemoryBudget(1 << 20)
    queue = ByteQueue(budget, 1 << 20)
    put(queue, bytes(100_000))

    del queue

    assert budget.used == 0


def test_freed_memory_is_reused_for_any_length():
    budget = MemoryBudget(1 << 30)
    for length in [1, 100, 5000, 70_000, 300_000, 9000, 1, 200_000, 20_000, 70_000] * 3:
        queue = ByteQueue(budget, 1 << 20)
        data = bytes([length & 255]) * length

        assert put(queue, data) == 1
        assert queue.to_bytes() == data


def test_only_existing_bytes_are_consumed():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)
    put(queue, b"abc")

    assert queue.consume(-1) == 3
    assert queue.consume(100) == 0


def test_a_lead_stays_free_while_bytes_are_added_and_removed():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20, 32)
    expected = b""
    for length in (1, 4000, 5000, 60_000, 3):
        data = bytes(index & 0xFF for index in range(length))
        assert put(queue, data) == 1
        assert queue.start >= 32
        queue.consume(length // 2)
        expected = (expected + data)[length // 2 :]
        assert queue.to_bytes() == expected
        assert queue.start >= 32
    queue.consume(len(queue))
    assert queue.start == 32

    queue.release()
    assert (queue.start, queue.capacity) == (0, 0)


def test_a_lead_counts_towards_the_capacity():
    queue = ByteQueue(MemoryBudget(1 << 20), 100, 32)
    assert not queue.reserve(69)
    assert queue.reserve(68)


def test_bytes_outside_of_the_source_are_refused():
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)

    with pytest.raises(IndexError):
        queue.append(AtomicBuffer(b"abc"), 1, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MemoryBudget(-1), "limit=-1: must be at least 0 bytes"),
        (lambda: ByteQueue(MemoryBudget(1), 0), "max_capacity=0: must be more than lead=0"),
        (lambda: ByteQueue(MemoryBudget(1), 32, 32), "max_capacity=32: must be more than lead=32"),
        (lambda: ByteQueue(MemoryBudget(1), 32, -1), "lead=-1: must be at least 0 bytes"),
    ],
)
def test_impossible_bounds_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_queue_allocates_no_more_than_it_needs_if_the_budget_is_small():
    budget = MemoryBudget(20_000)
    queue = ByteQueue(budget, 1 << 20)
    assert queue.reserve(10_000)
    assert queue.capacity == 16_384
    queue.release()
    assert queue.reserve(18_000)
    assert queue.capacity == 18_000


def test_allocations_that_the_process_refuses_are_counted():
    budget = MemoryBudget(1 << 62)
    queue = ByteQueue(budget, 1 << 60)

    # More than the address space.
    assert queue.reserve(1 << 58) == 0

    assert budget.used == 0
    assert budget.failures > 0
    assert ByteQueue(MemoryBudget(10), 100).reserve(50) == 0
