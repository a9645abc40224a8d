"""Frames of a datagram: every codec decodes or refuses any bytes, and encodes what it has decoded."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import (
    DataHeader,
    ErrorFrame,
    FrameHeader,
    Nak,
    ResponseSetup,
    Rttm,
    Setup,
    StatusMessage,
    validate,
    validate_data_packet,
)
from targets._messages import datagrams

CODECS = [DataHeader, ErrorFrame, FrameHeader, Nak, ResponseSetup, Rttm, Setup, StatusMessage]
REFUSALS = {
    wire.FRAME_TOO_SHORT,
    wire.FRAME_BAD_VERSION,
    wire.FRAME_BAD_LENGTH,
    wire.FRAME_BAD_TYPE,
    wire.FRAME_BAD_FIELD,
}
# Set by an encoder: the length of what it encodes, which is the fixed part of a frame.
LENGTHS = {"frame_length", "error_length"}


def seeds() -> list[bytes]:
    return [each for each in datagrams() if len(each) <= 600]


def check(data: bytes) -> bool:
    buffer, length = AtomicBuffer(data), len(data)
    for codec in CODECS:
        frame = codec()
        result = frame.decode(buffer, 0, length)
        assert result in REFUSALS | {wire.FRAME_ACCEPTED}
        repr(frame)
        check_ranges(frame)
        if result == wire.FRAME_ACCEPTED and codec not in {DataHeader, FrameHeader}:
            assert decoded_again(frame) == values_of(frame)
    result = validate(buffer, 0, length)
    if result not in {wire.TYPE_DATA, wire.TYPE_PAD}:
        assert result in REFUSALS or result in range(12)
        return result not in REFUSALS
    term_offset = buffer.get_i32(wire.DATA_TERM_OFFSET_OFFSET)
    filled = validate_data_packet(buffer, 0, length, term_offset, wire.TERM_MIN_LENGTH)
    assert filled in REFUSALS or 0 <= filled <= wire.TERM_MIN_LENGTH
    return filled not in REFUSALS


def check_ranges(frame):
    if isinstance(frame, Setup | ErrorFrame):
        frame.is_valid()
    if isinstance(frame, Nak | StatusMessage):
        frame.is_valid(wire.TERM_MIN_LENGTH)
    if isinstance(frame, StatusMessage):
        frame.is_near(0, -1, 16)
    if isinstance(frame, ErrorFrame):
        assert len(frame.text) <= wire.ERR_MAX_TEXT_LENGTH


def values_of(frame):
    values = {name: value for name, value in frame.fields().items() if name not in LENGTHS}
    if isinstance(frame, StatusMessage) and not frame.has_group_tag:
        values.pop("group_tag")
    return values


def decoded_again(frame):
    buffer = AtomicBuffer.allocate(wire.ERR_MAX_TEXT_LENGTH + 64)
    length = frame.encode(buffer, 0)
    again = type(frame)()
    assert again.decode(buffer, 0, length) == wire.FRAME_ACCEPTED
    return values_of(again)
