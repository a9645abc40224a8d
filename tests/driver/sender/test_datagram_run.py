"""Cutting a term into datagrams and batch entries."""

import pytest

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.driver.sender.datagram_run import DatagramRun
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.testing.parts import DatagramRunProbe

TERM = 65536
MTU = 1024
ALL = 1 << 30


class Term:
    """A log that is filled frame by frame, and its datagram run."""

    def __init__(self, *, mtu=MTU, uses_gso=True, position=0):
        params = LogBufferParams(
            initial_term_id=7, term_length=TERM, mtu_length=mtu, session_id=1, stream_id=2
        )
        self._log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        self._probe = DatagramRunProbe(DatagramRun(self._log, mtu, uses_gso=uses_gso))
        self.run = self._probe.run
        self._end = position

    def put(self, *lengths, frame_type=wire.TYPE_DATA):
        """Put frames of these lengths in bytes."""
        for length in lengths:
            offset = self._log.frame_offset(self._end)
            self._log.buffer.put_u16(offset + wire.FRAME_TYPE_OFFSET, frame_type)
            self._log.buffer.put_i32_release(offset, length)
            self._end += positions.align_frame(length)

    def collect(self, position=0, window=ALL, max_entries=16):
        """Return the length in the stream, and the lengths of the datagrams of each entry."""
        length, entries = self._probe.collect(position, window, max_entries)
        return length, [[len(datagram) for datagram in entry] for entry in entries]


@pytest.fixture
def term():
    return Term()


def test_an_empty_log_gives_no_datagram(term):
    assert term.collect() == (0, [])
    assert not term.run.is_blocked


def test_a_datagram_has_as_many_whole_frames_as_fit_the_mtu(term):
    term.put(500, 480, 64, 1024, 100)

    assert term.collect()[1] == [[512 + 480, 64], [1024, 128]]


def test_datagrams_of_equal_length_form_one_entry_and_the_last_may_be_shorter(term):
    term.put(*[1024] * 5, 64)

    assert term.collect() == (5 * 1024 + 64, [[1024] * 5 + [64]])


def test_a_longer_datagram_starts_another_entry(term):
    term.put(992, 992, 1024, 1024)

    assert term.collect()[1] == [[992, 992], [1024, 1024]]


def test_a_datagram_after_a_shorter_one_starts_another_entry(term):
    term.put(1024, 992, 992, 992)

    assert term.collect()[1] == [[1024, 992], [992, 992]]


def test_without_gso_each_datagram_is_an_entry():
    term = Term(uses_gso=False)
    term.put(1024, 1024, 64)

    assert term.collect()[1] == [[1024], [1024], [64]]


def test_an_entry_has_at_most_64_datagrams():
    term = Term(mtu=96)
    term.put(*[96] * 130)

    assert [len(entry) for entry in term.collect()[1]] == [64, 64, 2]


def test_an_entry_has_at_most_65000_bytes():
    term = Term(mtu=8192)
    term.put(*[8192] * 8)

    assert term.collect()[1] == [[8192] * 7, [8192]]


def test_the_number_of_entries_is_limited(term):
    term.put(992, 1024, 992, 1024)

    assert term.collect(max_entries=1) == (992, [[992]])
    assert term.collect(max_entries=2) == (992 + 1024 + 992, [[992], [1024, 992]])


def test_an_uncommitted_frame_ends_the_run(term):
    term.put(1024, 1024)
    term.put(-1024)

    assert term.collect() == (2048, [[1024, 1024]])
    assert not term.run.is_blocked


@pytest.mark.parametrize(
    ("window", "length", "is_blocked"),
    [
        (3072, 3072, False),
        (2048, 2048, False),
        (2047, 1024, True),
        (1024, 1024, False),
        (1023, 0, True),
        (0, 0, False),
    ],
)
def test_no_frame_leaves_the_window(term, window, length, is_blocked):
    term.put(*[1024] * 3)

    assert term.collect(window=window)[0] == length
    assert term.run.is_blocked is is_blocked


def test_padding_is_sent_as_a_header_but_counts_with_its_full_length(term):
    term.put(1024)
    term.put(TERM - 1024, frame_type=wire.TYPE_PAD)

    assert term.collect() == (TERM, [[1024, 32]])
    assert term.run.padding == TERM - 1024 - 32


def test_padding_needs_no_more_of_the_window_than_its_header(term):
    term.put(1024)
    term.put(TERM - 1024, frame_type=wire.TYPE_PAD)

    assert term.collect(window=1024 + 32)[0] == TERM
    assert term.collect(window=1024 + 31)[0] == 1024


def test_a_run_ends_with_its_term():
    term = Term(position=TERM - 2048)
    term.put(1024, 1024, 1024)

    assert term.collect(TERM - 2048) == (2048, [[1024, 1024]])
    assert term.collect(TERM) == (1024, [[1024]])


def test_a_run_starts_where_the_last_one_ended(term):
    term.put(*[1024] * 4)

    assert term.collect(1024, 2048) == (2048, [[1024, 1024]])


def test_the_third_term_is_followed_by_the_first_again():
    term = Term(position=3 * TERM)
    term.put(1024)

    assert term.collect(3 * TERM) == (1024, [[1024]])


def test_a_frame_beyond_the_mtu_blocks_and_is_not_sent(term):
    term.put(2048)

    assert term.collect() == (0, [])
    assert term.run.is_blocked
