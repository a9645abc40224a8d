import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import positions

I32 = st.integers(-(2**31), 2**31 - 1)
BITS = st.integers(16, 30)


@pytest.mark.parametrize(("length", "aligned"), [(0, 0), (1, 32), (32, 32), (33, 64), (2**31, 2**31)])
def test_frame_length_is_aligned_to_32_bytes(length, aligned):
    assert positions.align_frame(length) == aligned


@pytest.mark.parametrize(
    ("length", "alignment", "aligned"), [(0, 8, 0), (1, 8, 8), (4097, 4096, 8192), (200704, 4096, 200704)]
)
def test_align_rounds_up(length, alignment, aligned):
    assert positions.align(length, alignment) == aligned


def test_term_ids_wrap_in_32_bits():
    assert positions.add_wrap(2**31 - 1, 1) == -(2**31)
    assert positions.subtract_wrap(-(2**31), 1) == 2**31 - 1
    assert positions.compute_term_count(-(2**31), 2**31 - 1) == 1


@given(I32, st.integers(0, 2**31 - 1), BITS, st.integers(0, 2**25))
def test_a_position_is_decomposed_into_its_term_and_offset(initial_term_id, term_count, bits, frames):
    term_offset = frames * 32 % (1 << bits)
    term_id = positions.add_wrap(initial_term_id, term_count)

    position = positions.compute_position(term_id, term_offset, bits, initial_term_id)

    assert position == (term_count << bits) + term_offset
    assert positions.compute_term_id(position, bits, initial_term_id) == term_id
    assert positions.compute_term_offset(position, bits) == term_offset
    assert positions.index_by_position(position, bits) == term_count % 3
    assert positions.index_by_term(initial_term_id, term_id) == term_count % 3


@given(I32)
def test_partition_index_is_in_range_for_any_count(term_count):
    assert positions.index_by_term_count(term_count) in {0, 1, 2}


@given(I32, st.integers(0, 2**31 - 1))
def test_a_raw_tail_is_decomposed_into_term_id_and_offset(term_id, offset):
    raw_tail = positions.pack_raw_tail(term_id, offset)

    assert raw_tail == (term_id << 32) + offset
    assert positions.raw_tail_term_id(raw_tail) == term_id
    assert positions.raw_tail_term_offset(raw_tail, 2**30) == min(offset, 2**30)


def test_a_tail_beyond_4_gib_of_claims_is_the_end_of_the_term():
    assert positions.raw_tail_term_offset((5 << 32) | 0xFFFFFFE0, 65536) == 65536


def test_third_term_of_one_gib_begins_past_32_bits():
    assert positions.partition_offset(2, 2**30) == 2**31


@pytest.mark.parametrize("bits", range(16, 31))
def test_position_bits_to_shift_is_the_logarithm_of_the_term_length(bits):
    assert positions.position_bits_to_shift(1 << bits) == bits
    assert positions.max_possible_position(1 << bits) == 1 << (bits + 31)


@pytest.mark.parametrize(
    ("term_length", "longest"), [(65536, 8192), (2**27, 2**24), (2**28, 2**24), (2**30, 2**24)]
)
def test_longest_message_is_an_eighth_of_a_term_and_at_most_16_mib(term_length, longest):
    assert positions.max_message_length(term_length) == longest


@pytest.mark.parametrize(
    ("length", "framed"),
    [(0, 0), (1, 64), (1376, 1408), (1377, 1472), (2752, 2816), (2753, 2880), (4096, 4192)],
)
def test_fragmented_length_counts_a_header_for_each_fragment(length, framed):
    assert positions.fragmented_length(length, 1376) == framed


@pytest.mark.parametrize(
    ("term_length", "page_size", "length"),
    [(65536, 4096, 200704), (65536, 2**21, 2**21), (2**30, 4096, 3 * 2**30 + 4096)],
)
def test_log_length_is_three_terms_and_the_metadata_in_whole_pages(term_length, page_size, length):
    assert positions.compute_log_length(term_length, page_size) == length


@given(st.integers(0, 2**31 - 1), I32)
def test_a_packed_pair_is_decomposed_into_its_halves(high, low):
    pair = positions.pack_pair(high, low)

    assert pair >= 0
    assert (positions.high_of_pair(pair), positions.low_of_pair(pair)) == (high, low)
