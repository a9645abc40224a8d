"""The last end of a message, found in the last bytes of a recording."""

import random
import struct

import pytest

from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.foreign.tail import TAIL_LENGTH, last_border

TERM_LENGTH = 1 << 20
BEGIN, END, WHOLE, MIDDLE = 0x80, 0x40, 0xC0, 0
DATA, PADDING = 1, 0
TERM_COUNT, INITIAL_TERM_ID, STREAM_ID = 3, (1 << 31) - 2, 9
DESCRIPTOR = RecordingDescriptor(
    recording_id=0,
    channel="aeron:ipc",
    stream_id=STREAM_ID,
    session_id=1,
    source_identity="",
    initial_term_id=INITIAL_TERM_ID,
    term_length=TERM_LENGTH,
    mtu_length=1408,
    segment_length=TERM_LENGTH,
    start_position=0,
    start_time_ns=0,
)
TERM_ID = INITIAL_TERM_ID + TERM_COUNT - (1 << 32)
BASE = TERM_COUNT * TERM_LENGTH


def header(offset, length, flags, frame_type=DATA):
    return struct.pack("<iBBHiiiiq", length, 0, flags, frame_type, offset, 1, STREAM_ID, TERM_ID, 0)


class Term:
    def __init__(self):
        self.data = bytearray()

    def add(self, length, flags, frame_type=DATA, payload=b""):
        aligned = -(-length // 32) * 32
        frame = header(len(self.data), length, flags, frame_type) + payload
        self.data += frame.ljust(aligned, b"\0")

    def fill(self, length, flags=WHOLE):
        while len(self.data) < length:
            self.add(1408, flags)

    @property
    def end(self):
        return BASE + len(self.data)

    def border(self):
        return last_border(bytes(self.data[-TAIL_LENGTH:]), DESCRIPTOR, self.end)


@pytest.fixture
def term():
    term = Term()
    term.fill(300_000)
    return term


def test_the_last_message_ends_at_the_end(term):
    assert term.border() == term.end


def test_fragments_without_an_end_are_after_the_last_message(term):
    border = term.end
    term.add(1408, BEGIN)
    term.add(1408, MIDDLE)

    assert term.border() == border


def test_padding_is_an_end(term):
    term.add(1408, BEGIN)
    term.add(6400, WHOLE, PADDING)

    assert term.border() == term.end


def test_a_message_that_is_longer_than_the_tail_is_not_found(term):
    term.add(1408, BEGIN)
    term.fill(len(term.data) + 2 * TAIL_LENGTH, MIDDLE)

    assert term.border() is None


def test_a_tail_within_padding_is_not_found(term):
    term.add(2 * TAIL_LENGTH, WHOLE, PADDING)

    assert term.border() is None


def test_a_frame_before_the_end_that_is_damaged_is_not_found(term):
    term.data[-1408:] = bytes(1408)

    assert term.border() is None


def test_frames_in_a_payload_that_lead_to_the_end_are_not_taken_for_true_ones(term):
    start = len(term.data)
    last = 65_000
    # From inside the first payload into the second one, and there to the end, as if a message ended in it.
    inside = start + 32
    jump = start + last + 24 + 32 - inside + 8
    forged = header(inside, jump, WHOLE)
    term.add(last, BEGIN, payload=forged)
    second = len(term.data)
    at = inside + -(-jump // 32) * 32
    rest = second + -(-last // 32) * 32 - at
    term.add(last, MIDDLE, payload=bytes(at - second - 32) + header(at, rest, MIDDLE))

    assert term.border() is None


def test_random_frames_give_what_a_scan_gives():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    choose = random.Random(seed)
    for _ in range(20):
        term, border = Term(), 0
        while len(term.data) < 200_000:
            flags = choose.choice([WHOLE, BEGIN, MIDDLE, END])
            term.add(choose.choice([32, 100, 1408, 9000]), flags)
            if flags & END:
                border = term.end
        assert term.border() == border
