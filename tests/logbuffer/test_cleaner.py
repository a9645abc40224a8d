import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.logbuffer.cleaner import clean_step


def test_nothing_is_cleaned_for_an_earlier_target(make_log):
    log = make_log()

    assert clean_step(log, 128, 128) == 128
    assert clean_step(log, 128, 64) == 128


def test_step_ends_at_the_end_of_the_term(make_log):
    log = make_log()
    log.buffer.set_memory(0, 3 * 65536, 0xFF)

    assert clean_step(log, 65536 - 64, 65536 + 640) == 65536

    assert log.buffer.get_bytes(65536 - 96, 128) == b"\xff" * 32 + bytes(64) + b"\xff" * 32


@pytest.mark.parametrize("target", [65536 - 3, 65536 - 31, 2**62 - 1])
def test_a_target_where_no_frame_can_end_is_rounded_down(make_log, target):
    log = make_log()

    position = clean_step(log, 65536 - 96, target)

    assert position == min(target - target % 32, 65536)
    assert clean_step(log, position, target) % 32 == 0


@given(st.integers(0, 10 * 2048), st.integers(1, 4 * 2048))
def test_steps_clean_from_position_to_position_and_nothing_else(make_log, start, length):
    log = make_log()
    log.buffer.set_memory(0, 3 * 65536, 0xFF)
    position, target = start * 32, (start + length) * 32

    while position < target:
        position = clean_step(log, position, target)

    assert position == target
    cleaned = {log.frame_offset(at) for at in range(start * 32, target, 32)}
    for offset in range(0, 3 * 65536, 32):
        assert (log.buffer.get_bytes(offset, 32) == bytes(32)) == (offset in cleaned)
