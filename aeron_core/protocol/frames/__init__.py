"""Frames of the wire protocol: one module and one class each, reused for decoding.

`decode(buffer, offset, length)` returns `wire.FRAME_ACCEPTED` or a negative `wire.FRAME_…`; `encode(buffer, offset)`
returns the number of bytes written. Compiled modules cimport each class from its own module and need no GIL to call
it. Resolution frames differ: they are plain Python, and `decode` returns the frame or raises ProtocolError.
"""

from aeron_core.protocol.frames.data import DataHeader, is_heartbeat, validate_data_packet
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.header import Frame, FrameHeader, validate
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame, decode_entries
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage

__all__ = [
    "DataHeader",
    "ErrorFrame",
    "Frame",
    "FrameHeader",
    "Nak",
    "ResolutionEntry",
    "ResolutionFrame",
    "ResponseSetup",
    "Rttm",
    "Setup",
    "StatusMessage",
    "decode_entries",
    "is_heartbeat",
    "validate",
    "validate_data_packet",
]
