"""Logs of a real driver are read as their capture says."""

import hashlib

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams

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
            # Of padding the capture describes the header alone.
            assert {name: frame[name] for name in described.keys() & frame.keys()} == {
                name: described[name] for name in described.keys() & frame.keys()
            }
            offset += positions.align_frame(frame["frame_length"])
        assert offset == term["frames_end_offset"]
        if "uncommitted_frame" in term:
            assert log.buffer.get_i32(begin + offset) == term["uncommitted_frame"]["frame_length_field"]


def test_same_parameters_make_the_same_metadata_page(captured):
    old = LogBuffer(AtomicBuffer(captured.data))
    described = old.metadata()
    fixed = {
        name: getattr(described, name)
        for name in LogBufferParams.__dataclass_fields__
        if hasattr(described, name)
    }
    params = LogBufferParams(**fixed)

    log = LogBuffer.initialize(AtomicBuffer.allocate(len(captured.data)), params)

    # What the driver and the publishers have written since.
    log.set_is_connected(described.is_connected)
    log.set_active_transport_count(described.active_transport_count)
    for index, raw_tail in enumerate(described.raw_tails):
        log.buffer.put_i64(log.metadata_offset + index * 8, raw_tail)
    log.buffer.put_i32(log.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, described.active_term_count)
    page = wire.LOG_META_DATA_LENGTH
    assert log.buffer.get_bytes(log.metadata_offset, page) == captured.data[-page:]
