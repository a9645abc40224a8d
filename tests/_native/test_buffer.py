"""Fields of an `AtomicBuffer`: their ranges, their bounds, and read-only memory."""

from __future__ import annotations

import pytest

from aeron_core._native.buffer import AtomicBuffer

CAPACITY = 24
#: Lengths in bytes of the fields by the suffix of their methods.
LENGTHS = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "i64": 8}
READS = ["get_i8", "get_u8", "get_i16", "get_u16", "get_i32", "get_i64"]
ORDERED_READS = ["get_u8_acquire", "get_i32_acquire", "get_i64_acquire"]
WRITES = ["put_i8", "put_u8", "put_i16", "put_u16", "put_i32", "put_i64"]
ORDERED_WRITES = ["put_u8_release", "put_i32_release", "put_i64_release"]
UPDATES = [*WRITES, *ORDERED_WRITES, "get_and_add_i32", "get_and_add_i64", "propose_max_i64_release"]
#: What a getter returns beside an exception: as a value it must not be taken for one.
FAULTS = {"i8": -85, "u8": 171, "i16": -21555, "u16": 43981, "i32": -1985229329, "i64": -1985229329}


def type_of(method: str) -> str:
    return next(name for name in LENGTHS if name in method.split("_"))


def edges(kind: str) -> list[int]:
    bits = LENGTHS[kind] * 8
    is_signed = kind.startswith("i")
    return [-(1 << bits - 1), -1, (1 << bits - 1) - 1] if is_signed else [0, 1, (1 << bits) - 1]


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_field_holds_each_value_of_its_range_at_any_offset(kind):
    buffer = AtomicBuffer.allocate(CAPACITY)
    length = LENGTHS[kind]
    put, get = getattr(buffer, f"put_{kind}"), getattr(buffer, f"get_{kind}")

    for value in [*edges(kind), FAULTS[kind]]:
        put(5, value)

        assert get(5) == value
        assert buffer.get_bytes(5, length) == value.to_bytes(length, "little", signed=kind.startswith("i"))
        assert buffer.get_bytes(0, 5) == bytes(5)
        assert buffer.get_bytes(5 + length, 8) == bytes(8)


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_value_outside_the_range_of_a_field_is_rejected(kind):
    buffer = AtomicBuffer.allocate(CAPACITY)
    low, *_, high = edges(kind)

    for value in (low - 1, high + 1):
        with pytest.raises(OverflowError):
            getattr(buffer, f"put_{kind}")(0, value)
    assert bytes(buffer) == bytes(CAPACITY)


@pytest.mark.parametrize("method", [*READS, *ORDERED_READS])
def test_a_read_outside_the_buffer_raises(method):
    buffer = AtomicBuffer.allocate(CAPACITY)

    for offset in (-1, CAPACITY - LENGTHS[type_of(method)] + 1, 1 << 62):
        with pytest.raises(IndexError, match=f"must lie within the {CAPACITY} bytes"):
            getattr(buffer, method)(offset)


@pytest.mark.parametrize("method", UPDATES)
def test_a_write_outside_the_buffer_raises_and_writes_nothing(method):
    buffer = AtomicBuffer.allocate(CAPACITY)

    for offset in (-1, CAPACITY - LENGTHS[type_of(method)] + 1, 1 << 62):
        with pytest.raises(IndexError, match=f"must lie within the {CAPACITY} bytes"):
            getattr(buffer, method)(offset, 1)
    assert bytes(buffer) == bytes(CAPACITY)


@pytest.mark.parametrize("method", UPDATES)
def test_a_write_to_read_only_memory_raises(method):
    buffer = AtomicBuffer(bytes(CAPACITY))

    with pytest.raises(IndexError, match="it is read-only and cannot be written"):
        getattr(buffer, method)(0, 1)


def test_a_proposed_maximum_replaces_only_a_smaller_value():
    buffer = AtomicBuffer.allocate(CAPACITY)

    assert buffer.propose_max_i64_release(8, 5) == 1
    assert buffer.propose_max_i64_release(8, 5) == 0
    assert buffer.propose_max_i64_release(8, -7) == 0
    assert buffer.get_i64(8) == 5
