import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import FrameHeader, Nak, validate

MINIMUM_LENGTHS = {
    wire.TYPE_DATA: 32,
    wire.TYPE_PAD: 32,
    wire.TYPE_NAK: 28,
    wire.TYPE_SM: 36,
    wire.TYPE_ERR: 40,
    wire.TYPE_SETUP: 40,
    wire.TYPE_RTTM: 40,
    wire.TYPE_RES: 22,
    wire.TYPE_RSP_SETUP: 20,
}
CONTROL_TYPES = sorted(MINIMUM_LENGTHS.keys() - {wire.TYPE_DATA, wire.TYPE_PAD})


def packet(frame_type, frame_length, *, version=0):
    buffer = AtomicBuffer.allocate(256)
    FrameHeader(frame_length=frame_length, version=version, frame_type=frame_type).encode(buffer, 0)
    return buffer


@pytest.mark.parametrize(("frame_type", "length"), MINIMUM_LENGTHS.items())
def test_a_packet_as_long_as_the_structure_is_accepted(frame_type, length):
    assert validate(packet(frame_type, length), 0, length) == frame_type


@pytest.mark.parametrize(("frame_type", "length"), MINIMUM_LENGTHS.items())
def test_a_packet_shorter_than_the_structure_is_rejected(frame_type, length):
    assert validate(packet(frame_type, 8), 0, length - 1) == wire.FRAME_TOO_SHORT


@pytest.mark.parametrize("length", range(8))
def test_a_packet_shorter_than_the_common_header_is_rejected(length):
    assert validate(packet(wire.TYPE_SM, 36), 0, length) == wire.FRAME_TOO_SHORT


@pytest.mark.parametrize("frame_type", CONTROL_TYPES)
def test_a_control_frame_longer_than_its_packet_is_rejected(frame_type):
    assert validate(packet(frame_type, 65), 0, 64) == wire.FRAME_BAD_LENGTH


@pytest.mark.parametrize("frame_type", CONTROL_TYPES)
def test_a_control_frame_may_be_shorter_than_its_packet(frame_type):
    assert validate(packet(frame_type, 40), 0, 63) == frame_type


@pytest.mark.parametrize("frame_type", MINIMUM_LENGTHS)
def test_a_negative_frame_length_is_rejected(frame_type):
    assert validate(packet(frame_type, -1), 0, 64) == wire.FRAME_BAD_LENGTH


@pytest.mark.parametrize("frame_type", MINIMUM_LENGTHS)
@pytest.mark.parametrize("version", [1, 127, 255])
def test_other_versions_are_rejected(frame_type, version):
    assert validate(packet(frame_type, 40, version=version), 0, 64) == wire.FRAME_BAD_VERSION


@pytest.mark.parametrize(
    "frame_type", [wire.TYPE_ATS_DATA, wire.TYPE_ATS_SETUP, wire.TYPE_ATS_SM, wire.TYPE_EXT, 12, 0x0100]
)
def test_other_types_are_rejected(frame_type):
    assert validate(packet(frame_type, 40), 0, 64) == wire.FRAME_BAD_TYPE


@pytest.mark.parametrize("length", [33, 48, 63, 65])
def test_a_data_packet_that_is_not_aligned_is_rejected(length):
    assert validate(packet(wire.TYPE_DATA, 40), 0, length) == wire.FRAME_BAD_LENGTH


def test_the_frame_length_of_a_pad_may_exceed_its_packet():
    assert validate(packet(wire.TYPE_PAD, 4096), 0, 32) == wire.TYPE_PAD


def test_a_range_outside_the_buffer_raises():
    with pytest.raises(IndexError):
        validate(AtomicBuffer.allocate(8), 4, 8)


def test_codecs_reject_the_frames_of_others():
    assert Nak().decode(packet(wire.TYPE_SM, 36), 0, 36) == wire.FRAME_BAD_TYPE


def test_frames_show_their_fields():
    nak = Nak(session_id=7, length=64)

    assert repr(nak) == (
        "Nak(frame_length=0, flags=0, session_id=7, stream_id=0, term_id=0, term_offset=0, length=64)"
    )


def test_frames_reject_fields_they_do_not_have():
    with pytest.raises(TypeError, match="Nak has no field window"):
        Nak(window=1)


def test_a_missing_buffer_raises_instead_of_crashing():
    with pytest.raises(AttributeError):
        Nak().decode(None, 0, 28)
