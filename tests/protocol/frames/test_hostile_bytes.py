"""No bytes from a peer make a codec raise, read outside the packet, or return an undocumented result."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames import (
    DataHeader,
    ErrorFrame,
    FrameHeader,
    Nak,
    ResolutionFrame,
    ResponseSetup,
    Rttm,
    Setup,
    StatusMessage,
    validate,
    validate_data_packet,
)

CODECS = [DataHeader, ErrorFrame, FrameHeader, Nak, ResponseSetup, Rttm, Setup, StatusMessage]
REFUSALS = {
    wire.FRAME_TOO_SHORT,
    wire.FRAME_BAD_VERSION,
    wire.FRAME_BAD_LENGTH,
    wire.FRAME_BAD_TYPE,
    wire.FRAME_BAD_FIELD,
}
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
RANGES = {
    "flags": st.integers(0, 255),
    "version": st.integers(0, 255),
    "reserved_value": INT64,
    "receiver_id": INT64,
    "group_tag": INT64,
    "echo_timestamp": INT64,
    "reception_delta": INT64,
    "has_group_tag": st.booleans(),
}


@st.composite
def headed(draw):
    """Random bytes after a common header that is often valid."""
    content = bytearray(draw(st.binary(min_size=8, max_size=256)))
    header = FrameHeader(
        frame_length=draw(st.one_of(st.just(len(content)), st.integers(0, 300), INT32)),
        version=draw(st.sampled_from([0, 0, 0, 1])),
        flags=draw(st.integers(0, 255)),
        frame_type=draw(st.one_of(st.integers(0, 12), st.integers(0, 65535))),
    )
    header.encode(AtomicBuffer(content), 0)
    return bytes(content)


def check_all(content):
    # Exactly the packet: one byte read beyond it raises IndexError.
    buffer = AtomicBuffer(content)
    length = len(content)
    result = validate(buffer, 0, length)
    for codec in CODECS:
        frame = codec()
        assert frame.decode(buffer, 0, length) in REFUSALS | {wire.FRAME_ACCEPTED}
        check_methods(frame)
    if result in (wire.TYPE_DATA, wire.TYPE_PAD):
        term_offset = buffer.get_i32(wire.DATA_TERM_OFFSET_OFFSET)
        filled = validate_data_packet(buffer, 0, length, term_offset, wire.TERM_MIN_LENGTH)
        assert filled in REFUSALS or 0 <= filled <= wire.TERM_MIN_LENGTH
    else:
        assert result in REFUSALS or result in range(12)
    with contextlib.suppress(ProtocolError):
        ResolutionFrame.decode(buffer, 0, length)


def check_methods(frame):
    repr(frame)
    if isinstance(frame, (Setup, ErrorFrame)):
        frame.is_valid()
    if isinstance(frame, (Nak, StatusMessage)):
        frame.is_valid(wire.TERM_MIN_LENGTH)
    if isinstance(frame, StatusMessage):
        frame.is_near(0, -1, 16)
    if isinstance(frame, ErrorFrame):
        assert len(frame.text) <= wire.ERR_MAX_TEXT_LENGTH


@given(st.binary(max_size=256))
def test_random_bytes_never_raise(content):
    check_all(content)


@given(headed())
def test_random_bytes_after_a_plausible_header_never_raise(content):
    check_all(content)


@given(st.data())
def test_mutated_packets_of_real_drivers_never_raise(datagrams, data):
    content = bytearray(data.draw(st.sampled_from(datagrams)))
    for _ in range(data.draw(st.integers(1, 4))):
        # Mutate headers: payloads are not decoded.
        content[data.draw(st.integers(0, min(len(content), 64) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))

    check_all(bytes(content[:cut]))


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.data())
def test_fields_are_decoded_as_they_were_encoded(codec, data):
    values = {name: data.draw(RANGES.get(name, INT32), name) for name in codec().names()}
    if codec is DataHeader:
        values["frame_type"] = data.draw(st.sampled_from([wire.TYPE_DATA, wire.TYPE_PAD]))
        values["frame_length"] = data.draw(st.integers(0, 2**31 - 1))
    if codec is FrameHeader:
        values["frame_type"] = data.draw(st.integers(0, 65535))
    if codec is StatusMessage and not values["has_group_tag"]:
        values["group_tag"] = 0
    sent = codec(**values)
    buffer = AtomicBuffer.allocate(64)
    length = sent.encode(buffer, 0)
    received = codec()

    assert received.decode(buffer, 0, length) == wire.FRAME_ACCEPTED

    if codec not in (DataHeader, FrameHeader):
        values["frame_length"] = length
    if codec is ErrorFrame:
        values["error_length"] = 0
    assert received.fields() == values
