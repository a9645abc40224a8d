"""Requests that shorten recordings, move their segments, and change their descriptors.

The order of the fields is their order in the message. Source: aeron-archive-codecs.xml.
"""

from __future__ import annotations

from typing import ClassVar

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.sbe import (
    I64,
    Ascii,
)
from aeron_core.protocol.archive.session_requests import RecordingRequest, SessionRequest


@frozen(slots=True)
class TruncateRecordingRequest(RecordingRequest):
    """Delete what follows a position; the response has the number of segment files that were deleted."""

    TEMPLATE_ID: ClassVar[int] = 13
    position: I64


@frozen(slots=True)
class PurgeRecordingRequest(RecordingRequest):
    """Delete a recording."""

    TEMPLATE_ID: ClassVar[int] = 104


@frozen(slots=True)
class DetachSegmentsRequest(RecordingRequest):
    """Move the start position; the files before it stay."""

    TEMPLATE_ID: ClassVar[int] = 53
    new_start_position: I64


@frozen(slots=True)
class DeleteDetachedSegmentsRequest(RecordingRequest):
    """Delete the files before the start position."""

    TEMPLATE_ID: ClassVar[int] = 54


@frozen(slots=True)
class PurgeSegmentsRequest(RecordingRequest):
    """Move the start position, and delete the files before it."""

    TEMPLATE_ID: ClassVar[int] = 55
    new_start_position: I64


@frozen(slots=True)
class AttachSegmentsRequest(RecordingRequest):
    """Move the start position back to the first detached file."""

    TEMPLATE_ID: ClassVar[int] = 56


@frozen(slots=True)
class MigrateSegmentsRequest(SessionRequest):
    """Move the files of a recording to the start of another one."""

    TEMPLATE_ID: ClassVar[int] = 57
    src_recording_id: I64
    dst_recording_id: I64


@frozen(slots=True)
class UpdateChannelRequest(RecordingRequest):
    """Change the channel in the descriptor of a recording."""

    TEMPLATE_ID: ClassVar[int] = 107
    channel: Ascii
