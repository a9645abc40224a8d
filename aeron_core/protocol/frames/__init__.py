"""Frames as they travel: each is one module with one class, decoded into again and again.

`decode(buffer, offset, length)` answers `wire.FRAME_ACCEPTED` or a negative that says why not;
`encode(buffer, offset)` answers the bytes written. Compiled modules cimport each class from its own module
and need no GIL to call it.
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
