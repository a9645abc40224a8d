"""See `json_text.pyx`."""

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue

def append_json_text(source: AtomicBuffer, offset: int, length: int, into: ByteQueue) -> int: ...

# C functions: only compiled modules see them.
def text_length(source: AtomicBuffer, offset: int, length: int) -> int: ...
def write_text(source: AtomicBuffer, offset: int, length: int, into: ByteQueue) -> int: ...
