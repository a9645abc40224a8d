import random

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames import FrameHeader, ResolutionEntry, ResolutionFrame, decode_entries

V4 = ResolutionEntry("node-a", bytes([127, 0, 0, 1]), 24151, age_ms=12, flags=wire.RES_FLAG_SELF)
V6 = ResolutionEntry("node-b", bytes([*range(16)]), 65535)


def encoded(*entries):
    buffer = AtomicBuffer.allocate(512)
    return buffer, ResolutionFrame(entries).encode(buffer, 0)


@pytest.mark.parametrize("entries", [(), (V4,), (V6,), (V4, V6, V4)])
def test_entries_arrive_as_they_were_sent(entries):
    buffer, length = encoded(*entries)

    assert ResolutionFrame.decode(buffer, 0, length) == ResolutionFrame(entries)


@pytest.mark.parametrize(("name", "length"), [("", 16), ("ab", 16), ("abc", 24), ("node-a", 24)])
def test_entries_are_padded_to_eight_bytes(name, length):
    assert ResolutionEntry(name, bytes(4), 1).encoded_length == length


@pytest.mark.parametrize("missing", range(1, 24))
def test_an_entry_that_its_packet_does_not_hold_is_rejected(missing):
    buffer, length = encoded(V4)

    with pytest.raises(ProtocolError):
        ResolutionFrame.decode(buffer, 0, length - missing)


def test_entries_before_a_wrong_one_are_valid():
    buffer, length = encoded(V4, V4)
    buffer.put_u8(wire.RES_ENTRIES_OFFSET + V4.encoded_length + wire.RES_TYPE_OFFSET, 9)
    entries = decode_entries(buffer, 0, length)

    assert next(entries) == V4
    with pytest.raises(ProtocolError, match="unknown type: must be one of 1, 2;"):
        next(entries)


@pytest.mark.parametrize("name_length", [-1, -32768, 32767])
def test_a_name_length_beyond_the_entry_is_rejected(name_length):
    buffer, length = encoded(V4)
    buffer.put_i16(wire.RES_ENTRIES_OFFSET + wire.RES_IP4_NAME_LENGTH_OFFSET, name_length)

    with pytest.raises(ProtocolError, match="impossible name length: must be at least 0"):
        ResolutionFrame.decode(buffer, 0, length)


@pytest.mark.parametrize(("version", "frame_type"), [(1, wire.TYPE_RES), (0, wire.TYPE_SM)])
def test_other_frames_are_rejected(version, frame_type):
    buffer, length = encoded(V4)
    FrameHeader(frame_length=length, version=version, frame_type=frame_type).encode(buffer, 0)

    with pytest.raises(
        ProtocolError,
        match=r"^not a resolution frame: must have version=0 and frame_type=7; the driver that sent it may have ",
    ):
        ResolutionFrame.decode(buffer, 0, length)


def test_errors_contain_nothing_that_the_peer_chose():
    chance = random.Random(9)
    texts = set()
    for _ in range(3000):
        buffer, length = encoded(V4)
        for _ in range(chance.randint(1, 3)):
            buffer.put_u8(chance.randrange(length), chance.randrange(256))
        try:
            ResolutionFrame.decode(buffer, 0, chance.randint(0, length))
        except ProtocolError as error:
            texts.add(str(error))

    # One for each check: the header, its type, the type of an entry, its length and the length of its name.
    assert len(texts) == 5


def test_an_address_of_neither_family_cannot_be_sent():
    with pytest.raises(ValueError, match="address of 5 bytes"):
        ResolutionEntry("node", bytes(5), 1).encode(AtomicBuffer.allocate(64), 0)
