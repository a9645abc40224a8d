"""Ring buffer whose records or positions another process has overwritten."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import CAPACITY, make_ring, read_all, set_tail

from aeron_core._native import wire
from aeron_core.concurrent.records import MAX_POSITION
from aeron_core.errors import ProtocolError


@pytest.mark.parametrize("length", [1, 7, 1025, 2**31 - 1, 48])
def test_an_impossible_record_raises_once_and_the_ring_continues(length):
    ring = make_ring()
    ring.write(1, b"good")
    ring.write(2, b"bad")
    ring.buffer.put_i32(16, length)
    seen = []

    with pytest.raises(ProtocolError, match=f"record of {length} bytes at 16"):
        ring.read(lambda type_id, *_: seen.append(type_id), 10)

    assert seen == [1]
    ring.write(3, b"after")
    assert read_all(ring) == [(3, b"after")]


def test_a_record_past_the_tail_raises_once_and_the_ring_continues():
    ring = make_ring()
    ring.buffer.put_i32(0, 16)

    with pytest.raises(ProtocolError):
        read_all(ring)

    ring.write(3, b"after")
    assert read_all(ring) == [(3, b"after")]


WRONG_POSITIONS = [-8, 4, 2**63 - 8, 1 << 40]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_an_overwritten_head_raises_once_and_no_message_is_lost(position):
    ring = make_ring()
    ring.write(1, b"first")
    read_all(ring)
    ring.write(2, b"second")
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_OFFSET, position)

    assert read_all(ring) == [(2, b"second")]
    with pytest.raises(ProtocolError, match="head of the command ring overwritten"):
        ring.head.check_producers()
    ring.head.check_producers()
    assert ring.write(3, b"third")
    assert read_all(ring) == [(3, b"third")]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_a_head_that_is_impossible_from_the_start_is_reset_to_the_tail(position):
    ring = make_ring()
    ring.write(1, b"lost")
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_OFFSET, position)

    with pytest.raises(ProtocolError, match="impossible head of the command ring"):
        read_all(ring)

    ring.write(2, b"next")
    assert read_all(ring) == [(2, b"next")]


@pytest.mark.parametrize("head", [MAX_POSITION, MAX_POSITION - 8, 0])
def test_positions_that_are_the_last_ones_from_the_start_are_reset(head):
    ring = make_ring(head=head)
    set_tail(ring, MAX_POSITION)

    with pytest.raises(ProtocolError, match="impossible head of the command ring"):
        read_all(ring)
    with pytest.raises(ProtocolError, match="tail of the command ring overwritten"):
        ring.head.check_producers()

    for number in range(CAPACITY):
        ring.write(2, b"next")
        ring.head.check_producers()
        # A read ends at the end of the buffer.
        assert read_all(ring) + read_all(ring) == [(2, b"next")], number


@pytest.mark.parametrize("position", [*WRONG_POSITIONS, 0, 8 + CAPACITY * 3])
def test_an_overwritten_tail_raises_once_and_is_reset_to_the_head(position):
    ring = make_ring(head=CAPACITY * 2)
    assert read_all(ring) == []
    ring.write(1, b"lost")
    set_tail(ring, position)

    with pytest.raises(ProtocolError, match="tail of the command ring overwritten"):
        ring.head.check_producers()

    ring.head.check_producers()
    ring.write(2, b"next")
    assert read_all(ring) == [(2, b"next")]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_an_overwritten_head_cache_is_reset_to_the_head(position):
    ring = make_ring()
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_CACHE_OFFSET, position)

    ring.head.check_producers()

    assert ring.write(1, b"x")
    assert read_all(ring) == [(1, b"x")]


def test_the_positions_of_a_full_ring_are_correct():
    ring = make_ring()
    while ring.write(1, bytes(100)):
        pass
    read_all(ring, limit=3)
    while ring.write(1, bytes(100)):
        pass

    ring.head.check_producers()

    assert len(read_all(ring)) + len(read_all(ring)) == 9


@pytest.mark.parametrize("position", [-8, 4, 2**63 - 8])
def test_a_producer_rejects_an_impossible_position(position):
    ring = make_ring()
    set_tail(ring, position)

    with pytest.raises(ProtocolError, match=f"position {position}"):
        ring.write(1, b"x")


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=64, max_size=64), st.integers(-(2**63), 2**63 - 1), st.integers(-16, 96))
def test_no_content_of_the_ring_causes_a_read_outside_it_or_an_endless_loop(records, head, ahead):
    ring = make_ring(capacity=64)
    ring.buffer.put_bytes(0, records)
    head = (head if head % 3 else head & ~7) % (1 << 62)
    ring.buffer.put_i64(64 + wire.RING_HEAD_OFFSET, head)
    ring.buffer.put_i64(64 + wire.RING_TAIL_OFFSET, head + ahead)
    trailer_length = wire.RING_TRAILER_LENGTH

    for step in (lambda: read_all(ring), ring.unblock, lambda: ring.write(1, b"x"), lambda: read_all(ring)):
        try:
            step()
        except ProtocolError:
            pass
        else:
            assert 0 <= ring.size <= 64

    assert ring.buffer.get_bytes(64, 128) == bytes(128)
    assert ring.buffer.get_bytes(64 + 648, trailer_length - 648) == bytes(trailer_length - 648)
