"""Checksums of recordings."""

import random
import zlib

import pytest
from archive_frames import crc32c

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording._native import sums
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.index import ENTRY
from aeron_core.testing.recordings import TERM_LENGTH, frame_at, padding_at


@pytest.mark.parametrize("crc32", [sums.crc32, sums.crc32_by_tables])
def test_sums_are_those_of_zlib_for_all_lengths_and_alignments(crc32):
    data = random.Random(1).randbytes(4096)
    buffer = AtomicBuffer(data)

    for begin in range(16):
        for length in [*range(300), 1000, 4000]:
            assert crc32(buffer, begin, length, 0) == zlib.crc32(data[begin : begin + length])


@pytest.mark.parametrize("crc32", [sums.crc32, sums.crc32_by_tables])
def test_a_sum_continues_that_of_the_bytes_before(crc32):
    data = random.Random(2).randbytes(1000)
    first = crc32(AtomicBuffer(data), 0, 333, 0)

    assert crc32(AtomicBuffer(data), 333, 667, first) == zlib.crc32(data)


def test_sums_of_the_castagnoli_polynomial_are_those_of_its_definition():
    # The value that catalogues of CRCs list as `check`.
    assert sums.crc32c(AtomicBuffer(b"123456789"), 0, 9) == 0xE3069283
    data = random.Random(3).randbytes(400)
    buffer = AtomicBuffer(data)
    for begin in range(9):
        for length in range(60):
            assert sums.crc32c(buffer, begin, length) == crc32c(data[begin : begin + length])
    with pytest.raises(IndexError):
        sums.crc32c(buffer, 390, 11)


@pytest.mark.parametrize("crc32", [sums.crc32, sums.crc32_by_tables])
def test_bytes_outside_the_buffer_are_refused(crc32):
    with pytest.raises(IndexError):
        crc32(AtomicBuffer(b"x" * 32), 16, 17, 0)


def test_the_layout_of_an_index_entry_is_that_of_the_index():
    assert sums.ENTRY_LENGTH == ENTRY.itemsize
    assert sums.ENTRY_END_POSITION_OFFSET == ENTRY.fields["end_position"][1]
    assert sums.ENTRY_CRC32_OFFSET == ENTRY.fields["crc32"][1]


def test_of_padding_only_the_header_counts():
    begin, end = frame_at(0, b"a"), frame_at(TERM_LENGTH, b"b")
    padding = padding_at(64, TERM_LENGTH - 64)
    whole = bytearray(begin + padding + end)
    expected = zlib.crc32(begin + padding[:32] + end)

    assert check_sum(AtomicBuffer(whole), 0, len(whole)) == expected
    whole[200] = 7
    assert check_sum(AtomicBuffer(whole), 0, len(whole)) == expected
    whole[70] ^= 1  # the type: no padding any more
    assert check_sum(AtomicBuffer(whole), 0, len(whole)) != expected


@pytest.mark.parametrize("length", [-1, 0, 31, 2**31 - 1])
def test_damaged_lengths_of_frames_are_summed_within_the_bounds(length):
    data = bytearray(frame_at(0, b"a" * 40) + frame_at(96, b"b"))
    before = check_sum(AtomicBuffer(data), 0, len(data))
    data[:4] = length.to_bytes(4, "little", signed=True)

    assert check_sum(AtomicBuffer(data), 0, len(data)) == zlib.crc32(data) != before
