import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import DataHeader, is_heartbeat, validate_data_packet

TERM_LENGTH = 65536


def packet(*frames, term_offset=0, packet_length=None):
    """Return a packet of frames given as (type, frame length); by default up to the header of the last."""
    buffer = AtomicBuffer.allocate(4096)
    offset = 0
    for frame_type, frame_length in frames:
        DataHeader(frame_type=frame_type, frame_length=frame_length, term_offset=term_offset + offset).encode(
            buffer, offset
        )
        offset += (frame_length + 31) // 32 * 32
    return buffer, offset if packet_length is None else packet_length


def check(content, term_offset=0, term_length=TERM_LENGTH):
    buffer, length = content
    return validate_data_packet(buffer, 0, length, term_offset, term_length)


@pytest.mark.parametrize("length", [32, 33, 64, 1408])
def test_a_frame_fills_its_term_by_its_aligned_length(length):
    assert check(packet((wire.TYPE_DATA, length))) == (length + 31) // 32 * 32


def test_frames_in_a_row_are_added_up():
    frames = packet((wire.TYPE_DATA, 45), (wire.TYPE_DATA, 32), (wire.TYPE_DATA, 100), term_offset=640)

    assert check(frames, term_offset=640) == 64 + 32 + 128


def test_a_heartbeat_fills_nothing():
    buffer, _ = packet((wire.TYPE_DATA, 0))

    assert is_heartbeat(buffer, 0, 32)
    assert check((buffer, 32)) == 0


def test_a_packet_with_a_payload_is_not_a_heartbeat():
    buffer, length = packet((wire.TYPE_DATA, 32))

    assert not is_heartbeat(buffer, 0, length)


def test_a_last_pad_counts_in_full_though_only_its_header_is_sent():
    frames = packet((wire.TYPE_DATA, 40), (wire.TYPE_PAD, 1024), packet_length=96)

    assert check(frames) == 64 + 1024


def test_a_pad_sent_completely_may_have_frames_after_it():
    assert check(packet((wire.TYPE_PAD, 64), (wire.TYPE_DATA, 32))) == 96


def test_a_pad_may_fill_its_term_to_the_end():
    frames = packet((wire.TYPE_PAD, 1024), term_offset=TERM_LENGTH - 1024, packet_length=32)

    assert check(frames, term_offset=TERM_LENGTH - 1024) == 1024


@pytest.mark.parametrize(
    ("frames", "packet_length", "reason"),
    [
        ([(wire.TYPE_DATA, 64)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, 40), (wire.TYPE_DATA, 64)], 96, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, 32)], 64, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, 0)], 64, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, 1)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_PAD, 31)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, 40), (wire.TYPE_DATA, 31)], 96, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_DATA, -32)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_PAD, TERM_LENGTH + 32)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_PAD, 2**31 - 1)], 32, wire.FRAME_BAD_LENGTH),
        ([(wire.TYPE_SM, 32)], 32, wire.FRAME_BAD_TYPE),
        ([(wire.TYPE_DATA, 32), (wire.TYPE_SETUP, 32)], 64, wire.FRAME_BAD_TYPE),
        ([(wire.TYPE_DATA, 32)], 16, wire.FRAME_TOO_SHORT),
    ],
)
def test_packets_that_are_not_whole_frames_are_rejected(frames, packet_length, reason):
    assert check(packet(*frames, packet_length=packet_length)) == reason


@pytest.mark.parametrize("term_offset", [-32, 1, 31, TERM_LENGTH, TERM_LENGTH + 32])
def test_a_term_offset_outside_the_term_or_not_aligned_is_rejected(term_offset):
    assert check(packet((wire.TYPE_DATA, 32)), term_offset) == wire.FRAME_BAD_FIELD


def test_a_frame_with_another_term_offset_than_expected_is_rejected():
    assert check(packet((wire.TYPE_DATA, 32), term_offset=64), term_offset=32) == wire.FRAME_BAD_FIELD


def test_a_frame_that_would_reach_beyond_its_term_is_rejected():
    frames = packet((wire.TYPE_DATA, 64), term_offset=TERM_LENGTH - 32)

    assert check(frames, term_offset=TERM_LENGTH - 32) == wire.FRAME_BAD_LENGTH


def test_a_header_of_another_type_is_rejected():
    buffer, _ = packet((wire.TYPE_NAK, 28))

    assert DataHeader().decode(buffer, 0, 32) == wire.FRAME_BAD_TYPE
