"""See `runs.pyx`."""

from aeron_core._native.buffer import AtomicBuffer

def measure_run(
    data: AtomicBuffer,
    boundaries: AtomicBuffer,
    first: int,
    count: int,
    max_payload_length: int,
    space: int,
    allowance: int,
) -> int: ...
def write_run(
    log: AtomicBuffer,
    offset: int,
    length: int,
    data: AtomicBuffer,
    boundaries: AtomicBuffer,
    first: int,
    count: int,
    term_offset: int,
    session_id: int,
    stream_id: int,
    term_id: int,
    reserved_value: int,
) -> int: ...
def read_run(
    log: AtomicBuffer,
    offset: int,
    left: int,
    reach: int,
    position: int,
    max_messages: int,
    data: AtomicBuffer,
    data_length: int,
    boundaries: AtomicBuffer,
    stream_positions: AtomicBuffer,
    reserved_values: AtomicBuffer,
    session_ids: AtomicBuffer,
    first: int,
) -> int: ...
