"""Logs for tests: new ones, and copies from a running driver."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams

SHM = Path(__file__).parents[1] / "vectors" / "shm"
FIXTURE = json.loads((SHM / "01-fixture.json").read_text())

MakeLog = Callable[..., LogBuffer]


@pytest.fixture(scope="session")
def make_log() -> MakeLog:
    """Return a factory of connected logs, by default with terms of 64 KiB and an MTU of 1408."""

    def make(**changes: Any) -> LogBuffer:
        fields = {
            "initial_term_id": 7,
            "term_length": 65536,
            "mtu_length": 1408,
            "session_id": 11,
            "stream_id": 22,
        }
        params = LogBufferParams(**(fields | changes))
        log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        log.set_is_connected(True)
        return log

    return make


@dataclass(frozen=True)
class Frame:
    """One frame in a log."""

    length: int
    payload: bytes
    flags: int = wire.DATA_FLAGS_UNFRAGMENTED
    type: int = wire.TYPE_DATA
    reserved_value: int = 0
    aligned_length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "aligned_length", positions.align_frame(self.length))


@pytest.fixture(scope="session")
def put_frame() -> Callable[..., int]:
    """Return a function that writes a complete frame at a position and returns the position after it."""

    def put(log: LogBuffer, position: int, payload: bytes = b"", **changes: Any) -> int:
        frame = Frame(**({"length": 32 + len(payload), "payload": payload} | changes))
        offset = log.frame_offset(position)
        log.apply_default_header(offset)
        buffer = log.buffer
        buffer.put_u8(offset + wire.FRAME_FLAGS_OFFSET, frame.flags)
        buffer.put_u16(offset + wire.FRAME_TYPE_OFFSET, frame.type)
        buffer.put_i32(offset + wire.DATA_TERM_OFFSET_OFFSET, position & log.term_length_mask)
        term_id = positions.compute_term_id(position, log.position_bits_to_shift, log.initial_term_id)
        buffer.put_i32(offset + wire.DATA_TERM_ID_OFFSET, term_id)
        buffer.put_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET, frame.reserved_value)
        buffer.put_bytes(offset + wire.DATA_HEADER_LENGTH, payload)
        buffer.put_i32_release(offset, frame.length)
        return position + frame.aligned_length

    return put


@dataclass(frozen=True)
class Captured:
    """A log of a real driver, with the description of its contents."""

    data: bytes
    described: dict[str, Any]

    def __repr__(self) -> str:
        return str(self.described["what"])


@pytest.fixture(params=FIXTURE["log_buffers"], ids=lambda described: described["file"].split(".")[0])
def captured(request: pytest.FixtureRequest) -> Captured:
    """Provide each log that was copied from a running driver."""
    described = request.param
    return Captured(gzip.decompress((SHM / described["file"]).read_bytes()), described)


@pytest.fixture(scope="session")
def read_frames() -> Callable[..., list[Frame]]:
    """Return a function that reads the complete frames from a position on, at most to the end of the term."""

    def read(log: LogBuffer, position: int = 0) -> list[Frame]:
        found, buffer = [], log.buffer
        offset = log.frame_offset(position)
        end = log.frame_offset(position - (position & log.term_length_mask)) + log.term_length
        while offset < end and (length := buffer.get_i32_acquire(offset)) > 0:
            found.append(
                Frame(
                    length=length,
                    payload=buffer.get_bytes(
                        offset + wire.DATA_HEADER_LENGTH, length - wire.DATA_HEADER_LENGTH
                    ),
                    flags=buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET),
                    type=buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET),
                    reserved_value=buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET),
                )
            )
            offset += found[-1].aligned_length
        return found

    return read


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., tuple[AtomicBuffer, AtomicBuffer]]:
    """Return a function that lays messages out as a batch: contiguous bytes, and boundaries."""

    def make(messages: list[bytes]) -> tuple[AtomicBuffer, AtomicBuffer]:
        data = AtomicBuffer(bytearray(b"".join(messages)))
        boundaries = AtomicBuffer.allocate(8 * len(messages) + 8)
        end = 0
        for number, message in enumerate(messages, start=1):
            end += len(message)
            boundaries.put_i64(8 * number, end)
        return data, boundaries

    return make
