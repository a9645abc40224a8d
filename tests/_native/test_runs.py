"""Runs of single-frame messages, written and read in one loop."""

import mmap
import struct

import pytest

from aeron_core._native import runs
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.positions import high_of_pair, low_of_pair

GUARD = b"\xa5"
PAYLOADS = [bytes((length + i) % 251 for i in range(length)) for length in range(100)]


def buffer_of(payloads):
    return AtomicBuffer(bytearray(b"".join(payloads)))


def boundaries_of(payloads):
    entries = [0]
    for payload in payloads:
        entries.append(entries[-1] + len(payload))
    return AtomicBuffer(bytearray(struct.pack(f"<{len(entries)}q", *entries)))


def write(log, payloads, length):
    boundaries = boundaries_of(payloads)
    return runs.write_run(log, 0, length, buffer_of(payloads), boundaries, 0, len(payloads), 0, 7, 8, 9, 10)


class Columns:
    """The arrays that a run is read into, each with a guard byte after it that must not change."""

    def __init__(self, messages, data_length):
        self.memory = [
            bytearray(n) + GUARD for n in (data_length, messages * 8 + 8, messages * 8, messages * 8)
        ]
        self.memory.append(bytearray(messages * 4) + GUARD)
        self.data, self.boundaries, self.positions, self.reserved_values, self.session_ids = (
            AtomicBuffer(memoryview(memory)[:-1]) for memory in self.memory
        )

    def read(self, log, left, reach, messages, position=0):
        return runs.read_run(
            log, 0, left, reach, position, messages, self.data, 0, self.boundaries, self.positions,
            self.reserved_values, self.session_ids, 0,
        )  # fmt: skip

    def is_guarded(self):
        return all(memory.endswith(GUARD) for memory in self.memory)


def test_payloads_of_every_length_are_copied_completely_and_nothing_else_is_written():
    run = runs.measure_run(buffer_of(PAYLOADS), boundaries_of(PAYLOADS), 0, len(PAYLOADS), 1376, 65536, 65536)
    assert high_of_pair(run) == len(PAYLOADS)
    log = AtomicBuffer(bytearray(65536))
    assert write(log, PAYLOADS, low_of_pair(run)) == 0

    columns = Columns(len(PAYLOADS), sum(map(len, PAYLOADS)))
    assert columns.read(log, 65536, 65536, len(PAYLOADS)) == len(PAYLOADS)

    assert bytes(columns.memory[0][:-1]) == b"".join(PAYLOADS)
    assert columns.positions.get_i64(len(PAYLOADS) * 8 - 8) == low_of_pair(run)
    assert columns.reserved_values.get_i64(0) == 10
    assert columns.session_ids.get_i32(0) == 7
    assert columns.is_guarded()


@pytest.mark.parametrize(
    ("space", "allowance", "taken"),
    [
        (64 * 3, 65536, 3),
        (64 * 3 - 1, 65536, 2),
        (65536, 65, 2),
        (65536, 64, 1),
        (65536, 0, 0),
        (31, 65536, 0),
    ],
)
def test_a_run_ends_with_the_space_or_the_allowance(space, allowance, taken):
    payloads = [b"x" * 32] * 10
    run = runs.measure_run(buffer_of(payloads), boundaries_of(payloads), 0, 10, 1376, space, allowance)
    assert (high_of_pair(run), low_of_pair(run)) == (taken, taken * 64)


@pytest.mark.parametrize("entries", [(0, 8, 4), (0, 8, 1 << 62), (0, 8, -1), (0, 8, -(1 << 63))])
def test_a_run_ends_before_invalid_boundaries(entries):
    data = AtomicBuffer(bytearray(16))
    boundaries = AtomicBuffer(bytearray(struct.pack("<3q", *entries)))
    run = runs.measure_run(data, boundaries, 0, 2, 1376, 65536, 65536)
    assert (high_of_pair(run), low_of_pair(run)) == (1, 64)
    log = AtomicBuffer(bytearray(128))
    assert runs.write_run(log, 0, 128, data, boundaries, 0, 2, 0, 7, 8, 9, 10) == 64
    assert log.get_i32(0) == 40
    assert log.get_i32(64) == -64, "the rest of the claim stays marked"


def test_messages_that_grew_after_they_were_measured_are_left_over():
    payloads = [b"x" * 32] * 4
    log = AtomicBuffer(bytearray(256))
    assert write(log, [b"x" * 32, b"y" * 200, b"z"], 64 * 3) == 128
    assert write(log, payloads, 64 * 4) == 0


@pytest.mark.parametrize(
    ("left", "reach", "messages", "space", "taken"),
    [
        (640, 640, 10, 320, 10),
        (640, 640, 4, 320, 4),
        (640, 65, 10, 320, 2),
        (640, 64, 10, 320, 1),
        (640, 0, 10, 320, 0),
        (127, 640, 10, 320, 1),
        (640, 640, 10, 95, 2),
        (640, 640, 10, 31, 0),
    ],
)
def test_reading_ends_with_the_term_the_limit_or_the_capacity_of_the_batch(
    left, reach, messages, space, taken
):
    log = AtomicBuffer(bytearray(640))
    assert write(log, [b"x" * 32] * 10, 640) == 0
    columns = Columns(10, space)
    assert columns.read(log, left, reach, messages) == taken
    assert columns.boundaries.get_i64(taken * 8) == taken * 32
    assert columns.is_guarded()


def test_nothing_is_read_beyond_the_end_of_the_term(tmp_path):
    page = mmap.PAGESIZE
    with (tmp_path / "log").open("w+b") as file:
        file.truncate(2 * page)
        memory = mmap.mmap(file.fileno(), 2 * page)
        # Reading the second page ends this process with SIGBUS.
        file.truncate(page)
    count = page // 64
    log = AtomicBuffer(memoryview(memory)[:page])
    assert write(log, [b"x" * 32] * count, page) == 0
    columns = Columns(2 * count, 2 * page)

    assert columns.read(log, page, 2 * page, 2 * count) == count


@pytest.mark.parametrize(
    ("offset", "value"), [(64, 0), (64, -64), (64, 31), (64, 0x7FFFFFFF), (68, 0x00800000), (70, 0)]
)
def test_reading_ends_before_a_frame_that_is_not_an_unfragmented_message(offset, value):
    log = AtomicBuffer(bytearray(192))
    assert write(log, [b"x" * 32] * 3, 192) == 0
    if offset == 70:
        log.put_u16(offset, value)
    elif offset == 68:
        log.put_u8(69, 0x80)
    else:
        log.put_i32(offset, value)
    columns = Columns(3, 96)
    assert columns.read(log, 192, 192, 3) == 1


# The last ones, times the length of an entry, are 0 in 64 bits.
@pytest.mark.parametrize("messages", [-1, 4, 1 << 60, 1 << 62])
def test_arrays_that_are_too_short_are_rejected(messages):
    columns = Columns(3, 96)
    with pytest.raises(IndexError):
        columns.read(AtomicBuffer(bytearray(192)), 192, 192, messages)


@pytest.mark.parametrize(
    ("first", "count"), [(0, 1), (0, -1), (1, -1), (0, (1 << 61) - 1), (1 << 61, 0), (-1, 1)]
)
def test_boundaries_that_lack_entries_are_rejected(first, count):
    boundaries = AtomicBuffer(bytearray(8))
    data = AtomicBuffer(bytearray(8))

    with pytest.raises(IndexError):
        runs.measure_run(data, boundaries, first, count, 1376, 0, 0)
    with pytest.raises(IndexError):
        runs.write_run(AtomicBuffer(bytearray(64)), 0, 0, data, boundaries, first, count, 0, 0, 0, 0, 0)
