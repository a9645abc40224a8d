import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import StatusMessage

TERM_LENGTH = 65536
POSITION_BITS = 16


def encoded(frame_length, packet_length):
    buffer = AtomicBuffer.allocate(packet_length)
    StatusMessage(receiver_id=-5, has_group_tag=packet_length >= 44, group_tag=77).encode(buffer, 0)
    buffer.put_i32(wire.FRAME_LENGTH_OFFSET, frame_length)
    return buffer


@pytest.mark.parametrize("frame_length", [36, 37, 40, 43, 45, 52, 100])
def test_bytes_that_are_not_a_group_tag_are_ignored(frame_length):
    sm = StatusMessage()

    assert sm.decode(encoded(frame_length, 100), 0, frame_length) == wire.FRAME_ACCEPTED
    assert (sm.has_group_tag, sm.group_tag, sm.receiver_id) == (False, 0, -5)


def test_exactly_eight_bytes_more_are_a_group_tag():
    sm = StatusMessage()

    assert sm.decode(encoded(44, 44), 0, 44) == wire.FRAME_ACCEPTED
    assert (sm.has_group_tag, sm.group_tag, sm.receiver_id) == (True, 77, -5)


def test_a_tag_of_the_previous_message_is_cleared():
    sm = StatusMessage()
    sm.decode(encoded(44, 44), 0, 44)

    sm.decode(encoded(36, 36), 0, 36)

    assert (sm.has_group_tag, sm.group_tag) == (False, 0)


def test_a_tag_that_the_packet_does_not_hold_is_rejected():
    assert StatusMessage().decode(encoded(44, 64), 0, 43) == wire.FRAME_BAD_LENGTH


@pytest.mark.parametrize(("offset", "window"), [(0, 0), (0, TERM_LENGTH // 2), (TERM_LENGTH - 32, 1)])
def test_offset_and_window_within_the_term_are_valid(offset, window):
    assert StatusMessage(consumption_term_offset=offset, receiver_window=window).is_valid(TERM_LENGTH)


@pytest.mark.parametrize(
    ("offset", "window"), [(-32, 0), (16, 0), (TERM_LENGTH, 0), (0, -1), (0, TERM_LENGTH // 2 + 1)]
)
def test_offset_or_window_outside_the_term_is_invalid(offset, window):
    assert not StatusMessage(consumption_term_offset=offset, receiver_window=window).is_valid(TERM_LENGTH)


@pytest.mark.parametrize(
    ("initial_term_id", "term_id", "position"),
    [
        (5, 5, 96),
        (5, 7, 2 * TERM_LENGTH + 96),
        (2**31 - 1, -(2**31), TERM_LENGTH + 96),
        (-(2**31), 2**31 - 1, 96 - TERM_LENGTH),
        (0, 2**31 - 1, (2**31 - 1) * TERM_LENGTH + 96),
    ],
)
def test_positions_count_terms_from_the_first_even_where_ids_wrap(initial_term_id, term_id, position):
    sm = StatusMessage(consumption_term_id=term_id, consumption_term_offset=96)

    assert sm.position(initial_term_id, POSITION_BITS) == position


@pytest.mark.parametrize(
    ("term_id", "offset", "near"),
    [(11, 0, False), (11, 32768, True), (12, 0, True), (12, 32768, True), (12, 32800, False), (13, 0, False)],
)
def test_a_position_is_near_within_half_a_term_of_the_sender(term_id, offset, near):
    sm = StatusMessage(consumption_term_id=term_id, consumption_term_offset=offset)

    assert sm.is_near(2 * TERM_LENGTH, 10, POSITION_BITS) is near
