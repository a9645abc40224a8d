import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import positions
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.gap_scanner import scan_for_gap
from aeron_core.logbuffer.rebuilder import insert
from aeron_core.logbuffer.scanner import scan_for_availability


def test_a_packet_is_inserted_with_all_its_bytes(make_log, put_frame):
    source, log = make_log(), make_log()
    put_frame(source, put_frame(source, 0, b"one"), b"two")

    assert insert(log.buffer, 65536, source.buffer, 0, 128)

    assert log.buffer.get_bytes(65536, 128) == source.buffer.get_bytes(0, 128)


def test_header_alone_is_a_packet(make_log, put_frame):
    source, log = make_log(), make_log()
    put_frame(source, 0)

    assert insert(log.buffer, 64, source.buffer, 0, 32)

    assert log.buffer.get_i32(64) == 32


def test_a_duplicate_packet_is_ignored(make_log, put_frame):
    source, log = make_log(), make_log()
    put_frame(source, 0, b"late")
    put_frame(log, 0, b"here")

    assert not insert(log.buffer, 0, source.buffer, 0, 64)

    assert log.buffer.get_bytes(32, 4) == b"here"


@pytest.mark.parametrize(("offset", "length"), [(200704 - 32, 64), (-32, 64), (0, 16), (0, 200704 + 32)])
def test_a_packet_outside_the_log_raises(make_log, offset, length):
    with pytest.raises(IndexError):
        insert(make_log().buffer, offset, AtomicBuffer.allocate(64), 0, length)


@given(st.lists(st.integers(0, 1376), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_datagrams_in_any_order_with_loss_and_duplicates_rebuild_the_term(make_log, put_frame, sizes, rng):
    source, image = make_log(), make_log()
    end = 0
    for number, size in enumerate(sizes):
        end = put_frame(source, end, bytes([number]) * size)
    datagrams = datagrams_of(source, end)
    arrivals = [datagram for datagram in datagrams * 2 if rng.random() < 0.6]
    rng.shuffle(arrivals)

    for offset, length in arrivals:
        insert(image.buffer, offset, source.buffer, offset, length)
    while True:  # every gap is requested again, until its packets arrive
        pair = scan_for_gap(image.buffer, 0, 0, end)
        gap_offset, gap_length = positions.high_of_pair(pair), positions.low_of_pair(pair)
        if gap_length == 0:
            break
        assert image.buffer.get_bytes(gap_offset, 4) == bytes(4)
        for offset, length in random.Random(1).sample(datagrams, len(datagrams)):
            if gap_offset <= offset < gap_offset + gap_length:
                insert(image.buffer, offset, source.buffer, offset, length)

    assert image.buffer.get_bytes(0, 65536) == source.buffer.get_bytes(0, 65536)


def datagrams_of(log, end):
    found, offset = [], 0
    while offset < end:
        pair = scan_for_availability(log.buffer, offset, log.term_length - offset, log.mtu_length)
        found.append((offset, positions.low_of_pair(pair)))
        offset += positions.low_of_pair(pair)
    return found
