"""See `frames.pxd`."""

from aeron_core._native.buffer import AtomicBuffer

def begin_frame(
    buffer: AtomicBuffer,
    offset: int,
    mark: int,
    flags: int,
    frame_type: int,
    term_offset: int,
    session_id: int,
    stream_id: int,
    term_id: int,
    reserved_value: int,
) -> int: ...
def write_frame(
    buffer: AtomicBuffer,
    offset: int,
    term_offset: int,
    session_id: int,
    stream_id: int,
    term_id: int,
    reserved_value: int,
    source: AtomicBuffer,
    source_offset: int,
    length: int,
) -> int: ...
def data_frame_length(buffer: AtomicBuffer, offset: int, left: int) -> int: ...

# A C function: only compiled modules can call it.
def write_bytes(
    buffer: AtomicBuffer,
    offset: int,
    term_offset: int,
    session_id: int,
    stream_id: int,
    term_id: int,
    reserved_value: int,
    payload: bytes,
    length: int,
) -> int: ...
