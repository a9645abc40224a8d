"""Unblocking of a ring buffer behind claims of producers that crashed."""

import pytest
from rings import CAPACITY, make_ring, read_all, set_tail


def test_unblock_turns_an_abandoned_claim_into_padding():
    ring = make_ring()
    at = ring.try_claim(5, 3)
    ring.write(6, b"next")

    assert ring.unblock()

    assert read_all(ring) == [(6, b"next")]
    assert not ring.commit(at)


def test_unblock_skips_the_gap_of_a_producer_that_crashed_before_it_stored_a_length():
    ring = make_ring()
    set_tail(ring, 64)
    ring.write(6, b"next")

    assert ring.unblock()

    assert ring.buffer.get_i32(0) == 64
    assert read_all(ring) == [(6, b"next")]


def test_unblock_does_not_touch_a_gap_with_nothing_after_it():
    ring = make_ring()
    set_tail(ring, 64)

    assert not ring.unblock()


def test_unblock_works_up_to_the_end_of_the_buffer():
    ring = make_ring(head=CAPACITY - 64)
    set_tail(ring, CAPACITY + 64)
    ring.buffer.put_i32(CAPACITY - 32, -32)

    assert ring.unblock()

    assert ring.buffer.get_i32(CAPACITY - 64) == 32


@pytest.mark.parametrize("messages", [0, 1])
def test_unblock_does_nothing_if_the_ring_is_not_blocked(messages):
    ring = make_ring()
    for _ in range(messages):
        ring.write(1, b"x")

    assert not ring.unblock()


@pytest.mark.parametrize("length", [-4, -(1 << 31), -2000])
def test_unblock_handles_a_claim_with_an_impossible_length(length):
    ring = make_ring()
    ring.try_claim(1, 24)
    ring.buffer.put_i32(0, length)

    assert ring.unblock()

    assert read_all(ring) == []
    assert ring.consumer_position == 32
