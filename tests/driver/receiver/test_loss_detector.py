"""Detection of the first gap, and the time of its request."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.driver.receiver.loss_detector import LossDetector
from aeron_core.driver.receiver.nak_delay import UnicastNakDelay
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.testing.parts import LossDetectorProbe

TERM = 65536
FRAME = 1024
FIRST_NS = 100
RETRY_NS = 1000


class Image:
    """A log that is filled with numbered frames of 1024 bytes, and its detector."""

    def __init__(self, *, initial_term_id=7, first_ns=FIRST_NS):
        params = LogBufferParams(
            initial_term_id=initial_term_id, term_length=TERM, mtu_length=1408, session_id=1, stream_id=2
        )
        self._log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        self._probe = LossDetectorProbe(LossDetector(self._log, UnicastNakDelay(first_ns, RETRY_NS)))
        self.detector = self._probe.detector

    def put(self, *numbers):
        for number in numbers:
            self._log.buffer.put_i32_release(self._log.frame_offset(number * FRAME), FRAME)

    def scan(self, start, end, now_ns=0):
        return self._probe.scan(start * FRAME, end * FRAME, now_ns) / FRAME

    @property
    def gap(self):
        found = self.detector
        assert found.has_gap
        return found.gap_term_id, found.gap_offset // FRAME, found.gap_length // FRAME


@pytest.fixture
def image():
    return Image()


def test_without_new_data_no_gap_is_found(image):
    assert image.scan(3, 3) == 3
    assert not image.detector.has_gap


def test_contiguous_data_has_no_gap(image):
    image.put(0, 1, 2)

    assert image.scan(0, 3) == 3
    assert not image.detector.has_gap


@pytest.mark.parametrize(
    ("present", "start", "end", "position", "gap"),
    [
        ([1], 0, 2, 0, (7, 0, 1)),
        ([0, 3], 0, 4, 1, (7, 1, 2)),
        ([0, 1], 0, 5, 2, (7, 2, 3)),  # a heartbeat is ahead of the data
        ([0, 2, 4], 0, 5, 1, (7, 1, 1)),  # the first alone
        ([3, 5], 3, 6, 4, (7, 4, 1)),
        ([62], 60, 70, 60, (7, 60, 2)),
        ([60, 61, 65], 60, 66, 62, (7, 62, 2)),  # to the end of the term
        ([65, 67], 65, 68, 66, (8, 2, 1)),
        ([64 * 3 + 1], 64 * 3, 64 * 3 + 2, 64 * 3, (10, 0, 1)),  # the first partition again
    ],
)
def test_the_first_gap_of_the_term_is_found(image, present, start, end, position, gap):
    image.put(*present)

    assert image.scan(start, end) == position
    assert image.gap == gap
    assert image.detector.is_new_gap


def test_a_scan_of_a_term_without_gaps_stops_at_its_end(image):
    image.put(*range(60, 64), 65)

    assert image.scan(60, 66) == 64
    assert not image.detector.has_gap
    assert image.scan(64, 66) == 64
    assert image.gap == (8, 0, 1)


def test_term_ids_wrap():
    image = Image(initial_term_id=2**31 - 1)
    image.put(65)

    image.scan(64, 66)

    assert image.gap == (-(2**31), 0, 1)


def test_a_gap_is_due_after_the_first_delay_and_then_after_each_retry_delay(image):
    image.put(1)

    due = [now_ns for now_ns in range(0, 3500, 50) if (image.scan(0, 2, now_ns), image.detector.is_due)[1]]

    assert due == [FIRST_NS, FIRST_NS + RETRY_NS, FIRST_NS + 2 * RETRY_NS, FIRST_NS + 3 * RETRY_NS]


def test_a_gap_is_new_only_once(image):
    image.put(1)

    image.scan(0, 2, 0)
    assert image.detector.is_new_gap
    image.scan(0, 2, 10)

    assert not image.detector.is_new_gap
    assert image.detector.has_gap


def test_the_rest_of_a_gap_is_a_new_gap_with_a_first_delay(image):
    image.put(3)
    image.scan(0, 4, 0)
    image.scan(0, 4, FIRST_NS)
    image.put(0)

    image.scan(0, 4, 500)
    assert image.gap == (7, 1, 2)
    assert image.detector.is_new_gap
    assert not image.detector.is_due
    image.scan(1, 4, 500 + FIRST_NS)

    assert image.detector.is_due


def test_a_gap_that_closes_is_forgotten(image):
    image.put(1)
    image.scan(0, 2, 0)
    image.put(0)

    assert image.scan(0, 2, FIRST_NS) == 2

    assert not image.detector.has_gap
    assert not image.detector.is_due


def test_without_a_delay_a_gap_is_due_at_once():
    image = Image(first_ns=0)
    image.put(1)

    image.scan(0, 2, 5)

    assert image.detector.is_due
