"""Encoding and parsing of acknowledgements."""

import plain_codec
import pytest
from aeron_media.lumberjack._native import faults
from aeron_media.lumberjack.codec.acks import AckParser, encode_ack
from aeron_media.lumberjack.fault_texts import describe_fault
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.buffer import AtomicBuffer

SEQUENCES = [0, 1, 2048, 2**31 - 1, 2**31, 2**32 - 1]


@pytest.mark.parametrize("version", [b"1", b"2"])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_an_acknowledgement_is_encoded_in_six_bytes(version, sequence):
    buffer = AtomicBuffer.allocate(8)

    assert encode_ack(buffer, 1, version[0], sequence) == 6
    assert buffer.get_bytes(0, 8) == b"\0" + plain_codec.ack(sequence, version) + b"\0"


def test_an_acknowledgement_is_never_written_past_the_end():
    buffer = AtomicBuffer.allocate(5)

    with pytest.raises(IndexError):
        encode_ack(buffer, 0, 0x32, 1)


@pytest.mark.parametrize("version", [b"1", b"2"])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_an_acknowledgement_is_parsed_once_it_is_complete(version, sequence):
    parser = AckParser()
    frame = plain_codec.ack(sequence, version)

    for length in range(6):
        assert parser.parse(AtomicBuffer(frame), 0, length) == 0
        assert parser.fault == faults.NO_FAULT
    assert parser.parse(AtomicBuffer(frame + b"junk"), 0, 10) == 6
    assert (parser.version, parser.sequence) == (version[0], sequence)


@given(st.lists(st.tuples(st.sampled_from([b"1", b"2"]), st.integers(0, 2**32 - 1))), st.integers(1, 20))
def test_acknowledgements_are_parsed_in_order_however_they_are_split(acks, step):
    stream = b"".join(plain_codec.ack(sequence, version) for version, sequence in acks)
    parser = AckParser()
    found = []
    rest = b""

    for at in range(0, len(stream), step):
        rest += stream[at : at + step]
        while done := parser.parse(AtomicBuffer(rest), 0, len(rest)):
            found.append((bytes([parser.version]), parser.sequence))
            rest = rest[done:]

    assert (found, rest) == (acks, b"")


@pytest.mark.parametrize(("answer", "text", "detail"), [
    (b"3A\0\0\0\1", "wrong version: must be 0x31 ('1') or 0x32 ('2')", "version 0x33"),
    (b"H", "wrong version: must be 0x31 ('1') or 0x32 ('2')", "version 0x48"),
    (b"2W", "frame of a type that this side never receives", "frame type 0x57"),
    (b"1J\0\0\0\1", "frame of a type that this side never receives", "frame type 0x4a"),
])  # fmt: skip
def test_anything_else_is_a_fault_at_its_first_wrong_byte(answer, text, detail):
    parser = AckParser()

    assert parser.parse(AtomicBuffer(answer), 0, len(answer)) == 0
    found = describe_fault(parser.fault, parser.fault_value, parser.fault_limit)
    assert found[0].startswith(f"{text}: ")
    assert found[1] == detail
    assert parser.parse(AtomicBuffer(plain_codec.ack(1)), 0, 6) == 0


def test_bytes_outside_of_the_buffer_are_refused():
    with pytest.raises(IndexError):
        AckParser().parse(AtomicBuffer(b"2A"), 0, 3)
