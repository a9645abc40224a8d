"""Bytes as the content of a JSON string."""

import json

import pytest
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget
from aeron_media.lumberjack._native.json_text import append_json_text
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.buffer import AtomicBuffer


def escaped(source):
    queue = ByteQueue(MemoryBudget(1 << 20), 1 << 20)
    assert append_json_text(AtomicBuffer(source), 0, len(source), queue) == 1
    return queue.to_bytes()


def expected(source):
    return json.dumps(source.decode("utf-8", "replace"), ensure_ascii=False)[1:-1].encode()


@pytest.mark.parametrize("value", range(256))
def test_each_byte_is_encoded_as_by_json(value):
    for source in (
        bytes([value]),
        bytes([97, value, 98]),
        bytes([value, 0x80]),
        bytes([value, 0xBF, 0x80, 0x80]),
    ):
        assert escaped(source) == expected(source)


@pytest.mark.parametrize("first", range(0xC0, 0x100))
def test_only_valid_utf8_is_copied(first):
    for second in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0):
        for tail in (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b'"', b"\x80\n", b"\xe2\x82\xac"):
            source = bytes([first, second]) + tail
            assert escaped(source) == expected(source)


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_any_bytes_are_encoded_as_by_json(source):
    assert escaped(source) == expected(source)


def test_a_full_queue_is_not_changed():
    queue = ByteQueue(MemoryBudget(1 << 20), 5)

    assert append_json_text(AtomicBuffer(b"\0"), 0, 1, queue) == 0
    assert queue.to_bytes() == b""
