"""The publisher limit, and the cleaning of the log that precedes it."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.driver.sender.publisher_limit import PublisherLimit
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.testing import make_counters
from aeron_core.testing.parts import PublisherLimitProbe

TERM = 65536
WINDOW = TERM // 2


class Publication:
    """A log full of old data, and its publisher limit."""

    def __init__(self, window_length=WINDOW, position=0):
        params = LogBufferParams(
            initial_term_id=7, term_length=TERM, mtu_length=1408, session_id=1, stream_id=2
        )
        self._log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        self._log.buffer.set_memory(0, 3 * TERM, 0xFF)
        self.counter = make_counters("pub-lmt")["pub-lmt"]
        self.limit = PublisherLimitProbe(PublisherLimit(self._log, self.counter, window_length, position))

    def is_clean(self, start, end):
        offset = self._log.frame_offset(start)
        return not any(self._log.buffer.get_bytes(offset, end - start))

    def is_dirty(self, start, end):
        return set(self._log.buffer.get_bytes(self._log.frame_offset(start), end - start)) == {0xFF}


@pytest.fixture
def publication():
    return Publication()


def test_the_limit_is_a_window_beyond_the_slowest_consumer(publication):
    assert publication.limit.advance(0) == 1
    assert publication.limit.get() == publication.counter.get() == WINDOW

    assert publication.limit.advance(1024) == 1
    assert publication.limit.get() == WINDOW + 1024


def test_the_limit_does_not_follow_a_consumer_backwards(publication):
    publication.limit.advance(4096)

    assert publication.limit.advance(1024) == 0
    assert publication.limit.advance(4096) == 0

    assert publication.limit.get() == WINDOW + 4096


def test_without_consumers_the_limit_is_lowered(publication):
    publication.limit.advance(4096)

    assert publication.limit.lower_to(4096) == 1
    assert publication.limit.lower_to(4096) == 0

    assert publication.limit.get() == 4096


def test_a_limit_that_was_lowered_rises_again(publication):
    publication.limit.advance(4096)
    publication.limit.lower_to(4096)

    assert publication.limit.advance(4096) == 1

    assert publication.limit.get() == WINDOW + 4096


def test_nothing_is_cleaned_until_consumers_are_a_term_ahead(publication):
    for position in range(0, TERM + 1, 8192):
        publication.limit.advance(position)

    assert publication.is_dirty(0, TERM)


def test_the_log_is_cleaned_step_by_step_a_term_behind_the_consumers(publication):
    for position in range(0, TERM + 4 * 8192 + 1, 8192):
        publication.limit.advance(position)

    assert publication.is_clean(0, 4 * 8192)
    assert publication.is_dirty(4 * 8192, TERM)


def test_lowering_the_limit_also_cleans(publication):
    publication.limit.advance(TERM + 8192)
    publication.limit.lower_to(TERM + 8192 + 1024)

    assert publication.is_clean(0, 8192)


def test_one_step_stops_cleaning_at_the_end_of_a_term(publication):
    publication.limit.advance(TERM)

    publication.limit.advance(4 * TERM)

    assert publication.is_clean(0, TERM)
    assert publication.is_dirty(TERM, 2 * TERM)


def test_after_a_jump_of_the_consumers_the_limit_waits_for_the_cleaning(publication):
    publication.limit.advance(TERM)
    before = publication.limit.get()

    assert publication.limit.advance(4 * TERM) == 1
    assert publication.limit.get() == before

    while publication.limit.get() == before:
        assert publication.limit.advance(4 * TERM) == 1
    assert publication.limit.get() == 4 * TERM + WINDOW


@pytest.mark.parametrize("window_length", [1024, WINDOW, TERM])
@pytest.mark.parametrize("start", [0, 2 * TERM + 4096])
def test_the_limit_never_admits_publishers_to_old_data(window_length, start):
    publication = Publication(window_length, start)
    position = start
    # Unwritten parts are clean from the start; the rest holds data of the last use.
    while position < start + 6 * TERM:
        position += 4096
        publication.limit.advance(position)
        reach = publication.limit.get()
        behind = max(reach - 3 * TERM, start)
        if behind > start:
            assert publication.is_clean(behind - 32, behind)
