"""Logs of a real driver are read as described by their capture."""

import gzip
import hashlib
from pathlib import Path

import pytest

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.logbuffer.rebuilder import insert
from aeron_core.logbuffer.scanner import scan_for_availability

SHM = Path(__file__).parents[1] / "vectors" / "shm"

RENAMED = {"log_type": "type"}


def describe_frame(buffer, offset):
    frame_length = buffer.get_i32_acquire(offset)
    payload_length = frame_length - wire.DATA_HEADER_LENGTH
    payload = buffer.get_bytes(offset + wire.DATA_HEADER_LENGTH, payload_length)
    return {
        "frame_length": frame_length,
        "version": buffer.get_u8(offset + wire.FRAME_VERSION_OFFSET),
        "flags": buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET),
        "type_id": buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET),
        "term_offset": buffer.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET),
        "session_id": buffer.get_i32(offset + wire.DATA_SESSION_ID_OFFSET),
        "stream_id": buffer.get_i32(offset + wire.DATA_STREAM_ID_OFFSET),
        "term_id": buffer.get_i32(offset + wire.DATA_TERM_ID_OFFSET),
        "reserved_value": buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET),
        "payload_length": payload_length,
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }


def test_every_field_of_the_metadata_is_read(captured):
    described = captured.described["metadata"]

    log = LogBuffer(AtomicBuffer(captured.data))

    assert log.metadata_offset == captured.described["metadata_offset"]
    metadata = log.metadata()
    for name in metadata.__dataclass_fields__:
        value = getattr(metadata, name)
        if name == "raw_tails":
            assert list(value) == described["raw_tails"]
        elif name == "default_header":
            assert value.hex() == described["default_header_hex"]
        elif name in {"session_id", "stream_id"}:
            assert value == described["default_header"][0][name]
        else:
            assert value == described[RENAMED.get(name, name)], name


def test_tails_are_read_as_term_and_offset(captured):
    log = LogBuffer(AtomicBuffer(captured.data))

    tails = [log.raw_tail_acquire(index) for index in range(3)]

    assert [
        {
            "term_id": positions.raw_tail_term_id(raw_tail),
            "term_offset": positions.raw_tail_term_offset(raw_tail, log.term_length),
        }
        for raw_tail in tails
    ] == captured.described["metadata"]["tails"]


def test_every_frame_is_read(captured):
    log = LogBuffer(AtomicBuffer(captured.data))

    for term in captured.described["terms"]:
        begin = positions.partition_offset(term["partition"], log.term_length)
        offset = term["first_whole_frame_offset"]
        for described in term["frames"]:
            assert offset == described["offset"]
            frame = describe_frame(log.buffer, begin + offset)
            # The capture describes only the header of padding.
            assert {name: frame[name] for name in described.keys() & frame.keys()} == {
                name: described[name] for name in described.keys() & frame.keys()
            }
            offset += positions.align_frame(frame["frame_length"])
        assert offset == term["frames_end_offset"]
        if "uncommitted_frame" in term:
            assert log.buffer.get_i32(begin + offset) == term["uncommitted_frame"]["frame_length_field"]


def test_the_same_parameters_give_the_same_metadata_page(captured):
    old = LogBuffer(AtomicBuffer(captured.data))
    described = old.metadata()
    fixed = {
        name: getattr(described, name)
        for name in LogBufferParams.__dataclass_fields__
        if hasattr(described, name)
    }
    params = LogBufferParams(**fixed)

    log = LogBuffer.initialize(AtomicBuffer.allocate(len(captured.data)), params)

    # Fields that the driver and the publishers wrote later.
    log.set_is_connected(described.is_connected)
    log.set_active_transport_count(described.active_transport_count)
    for index, raw_tail in enumerate(described.raw_tails):
        log.buffer.put_i64(log.metadata_offset + index * 8, raw_tail)
    log.buffer.put_i32(log.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, described.active_term_count)
    page = wire.LOG_META_DATA_LENGTH
    assert log.buffer.get_bytes(log.metadata_offset, page) == captured.data[-page:]


def publication_only(captured):
    if captured.described["metadata"]["type"] == wire.LOG_TYPE_IMAGE:
        pytest.skip("no publisher appends to the log of an image")


def test_the_same_messages_give_the_same_terms_and_tails(captured):
    publication_only(captured)
    old = LogBuffer(AtomicBuffer(captured.data))
    described = old.metadata()
    position, end, tail = history_of(captured)
    log = LogBuffer.initialize(
        AtomicBuffer.allocate(len(captured.data)),
        LogBufferParams(
            **fixed_fields(described),
            term_id=positions.compute_term_id(position, 16, described.initial_term_id),
            term_offset=position & 0xFFFF,
        ),
    )
    limit = AtomicBuffer(bytearray(b"\xff" * 7 + b"\x7f"))
    kind = ConcurrentAppender if described.log_type == 0 else ExclusiveAppender
    appender = kind(log, described.session_id, described.stream_id, limit)

    start = position
    while position < end:
        position = append_again(old, appender, position)
    if tail > end:
        appender.claim(BufferClaim(), tail - end - wire.DATA_HEADER_LENGTH)

    for at in range(start, tail, 32):
        offset = log.frame_offset(at)
        assert log.buffer.get_bytes(offset, 32) == old.buffer.get_bytes(offset, 32), at
    assert log.active_term_count_acquire() == described.active_term_count
    assert log.producer_position() == old.producer_position() == tail
    for count in {start // 65536, tail // 65536}:
        assert log.raw_tail_acquire(count % 3) == described.raw_tails[count % 3]


def fixed_fields(described):
    names = LogBufferParams.__dataclass_fields__
    return {name: getattr(described, name) for name in names if hasattr(described, name)}


def history_of(captured):
    """Return the range of positions with complete frames in the log, and the position of its tail."""
    terms = captured.described["terms"]
    count = captured.described["metadata"]["active_term_count"]
    active, before = terms[count % 3], terms[(count - 1) % 3]
    begin = count * 65536 + active["first_whole_frame_offset"]
    if before["frames"]:
        begin = (count - 1) * 65536 + before["first_whole_frame_offset"]
    end = count * 65536 + active["frames_end_offset"]
    claimed = -active["uncommitted_frame"]["frame_length_field"] if "uncommitted_frame" in active else 0
    return begin, end, end + claimed


def append_again(old, appender, position):
    """Append the message at a position of another log as its publisher did; return the position after it."""
    offset, buffer = old.frame_offset(position), old.buffer
    length = buffer.get_i32(offset) - wire.DATA_HEADER_LENGTH
    reserved_value = buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
    if buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD:
        following = position + positions.align_frame(length + 32)
        if following & 0xFFFF == 0:
            # The end of a term: a message that did not fit is the first of the next term.
            first = AtomicBuffer.allocate(buffer.get_i32(old.frame_offset(following)) - 32)
            assert appender.offer(first, 0, len(first), 0) == -3
        elif buffer.get_bytes(offset + 32, length) == bytes(length):
            assert appender.append_padding(length) == following
        else:
            claim = BufferClaim()
            assert appender.claim(claim, length) == following
            claim.buffer[:] = buffer.get_bytes(offset + 32, length)
            claim.abort()
        return following
    message = b""
    while True:
        offset = old.frame_offset(position)
        length = buffer.get_i32(offset)
        message += buffer.get_bytes(offset + 32, length - 32)
        position += positions.align_frame(length)
        if buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_END:
            break
    assert appender.offer(AtomicBuffer(message), 0, len(message), reserved_value) == position
    return position


def test_publication_is_rebuilt_from_its_datagrams_as_its_image_was():
    published, image = (
        LogBuffer(AtomicBuffer(gzip.decompress((SHM / name).read_bytes())))
        for name in ("01-xpub-udp.logbuffer.gz", "01-image-udp-2.logbuffer.gz")
    )
    params = LogBufferParams(**fixed_fields(image.metadata()))
    rebuilt = LogBuffer.initialize(AtomicBuffer.allocate(image.buffer.capacity), params)
    position, end = 2 * 65536 + 61440, published.producer_position()

    while position < end:
        offset = published.frame_offset(position)
        left = 65536 - (position & 0xFFFF)
        pair = scan_for_availability(published.buffer, offset, left, published.mtu_length)
        insert(rebuilt.buffer, offset, published.buffer, offset, positions.low_of_pair(pair))
        position += positions.low_of_pair(pair) + positions.high_of_pair(pair)

    assert rebuilt.buffer.get_bytes(0, 3 * 65536) == image.buffer.get_bytes(0, 3 * 65536)
