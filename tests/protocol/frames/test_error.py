import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import ErrorFrame


def decoded(content):
    error = ErrorFrame()
    assert error.decode(AtomicBuffer(content), 0, len(content)) == wire.FRAME_ACCEPTED
    return error


def encoded(text, *, error_length=None):
    buffer = AtomicBuffer.allocate(2048)
    error = ErrorFrame(error_code=13)
    error.text = text
    length = error.encode(buffer, 0)
    if error_length is not None:
        buffer.put_i32(wire.ERR_ERROR_LENGTH_OFFSET, error_length)
    return buffer.get_bytes(0, length)


@pytest.mark.parametrize("text", ["", "x", "gone away", "grün", "x" * 1023])
def test_a_text_arrives_as_it_was_sent(text):
    error = decoded(encoded(text))

    assert error.text == text
    assert error.is_valid()


def test_a_text_of_more_than_1023_bytes_cannot_be_sent():
    with pytest.raises(ValueError, match="text of 1024 bytes: must be at most 1023"):
        ErrorFrame().text = "x" * 1024


@pytest.mark.parametrize("error_length", [-1, 10, 1024, 2**31 - 1, -(2**31)])
def test_a_text_that_the_frame_does_not_hold_is_not_read(error_length):
    error = decoded(encoded("gone away", error_length=error_length))

    assert not error.is_valid()
    assert error.text == ""


def test_a_text_outlives_the_packet():
    packet = bytearray(encoded("gone away"))
    error = ErrorFrame()
    error.decode(AtomicBuffer(packet), 0, len(packet))

    packet[:] = bytes(len(packet))

    assert error.text == "gone away"


def test_bytes_that_are_not_utf_8_are_kept_on_the_wire_and_replaced_in_the_text():
    packet = encoded("gone away").replace(b"gone", b"\xffone")
    error = decoded(packet)
    target = AtomicBuffer.allocate(64)

    length = error.encode(target, 0)

    assert target.get_bytes(0, length) == packet
    assert error.text == "\N{REPLACEMENT CHARACTER}one away"
