"""Requests that start and stop recordings, list and find them, and ask for their positions.

The order of the fields is their order in the message. Source: aeron-archive-codecs.xml.
"""

from __future__ import annotations

from typing import ClassVar

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.codes import Location
from aeron_core.protocol.archive.sbe import (
    I32,
    I64,
    Ascii,
    Bool,
)
from aeron_core.protocol.archive.session_requests import RecordingRequest, SessionRequest


@frozen(slots=True)
class StartRecordingRequest(SessionRequest):
    """Record a stream; the response has the id of the Archive's subscription."""

    TEMPLATE_ID: ClassVar[int] = 4
    stream_id: I32
    source_location: Location
    channel: Ascii


@frozen(slots=True)
class StartRecordingRequest2(SessionRequest):
    """Record a stream, and remove the subscription when its first image ends if `auto_stop`."""

    TEMPLATE_ID: ClassVar[int] = 63
    stream_id: I32
    source_location: Location
    auto_stop: Bool
    channel: Ascii


@frozen(slots=True)
class ExtendRecordingRequest(RecordingRequest):
    """Continue a stopped recording with another publication."""

    TEMPLATE_ID: ClassVar[int] = 11
    stream_id: I32
    source_location: Location
    channel: Ascii


@frozen(slots=True)
class ExtendRecordingRequest2(RecordingRequest):
    """Continue a stopped recording, and remove the subscription when its first image ends if `auto_stop`."""

    TEMPLATE_ID: ClassVar[int] = 64
    stream_id: I32
    source_location: Location
    auto_stop: Bool
    channel: Ascii


@frozen(slots=True)
class StopRecordingRequest(SessionRequest):
    """Stop what a request with this channel and stream started."""

    TEMPLATE_ID: ClassVar[int] = 5
    stream_id: I32
    channel: Ascii


@frozen(slots=True)
class StopRecordingSubscriptionRequest(SessionRequest):
    """Stop what the subscription records."""

    TEMPLATE_ID: ClassVar[int] = 14
    subscription_id: I64


@frozen(slots=True)
class StopRecordingByIdentityRequest(RecordingRequest):
    """Stop one recording; the response has 1 if it was active, otherwise 0."""

    TEMPLATE_ID: ClassVar[int] = 65


@frozen(slots=True)
class ListRecordingsRequest(SessionRequest):
    """List recordings in the order of their ids."""

    TEMPLATE_ID: ClassVar[int] = 8
    from_recording_id: I64
    record_count: I32


@frozen(slots=True)
class ListRecordingsForUriRequest(SessionRequest):
    """List recordings of a stream whose channel contains a text."""

    TEMPLATE_ID: ClassVar[int] = 9
    from_recording_id: I64
    record_count: I32
    stream_id: I32
    channel: Ascii


@frozen(slots=True)
class ListRecordingRequest(RecordingRequest):
    """List one recording."""

    TEMPLATE_ID: ClassVar[int] = 10


@frozen(slots=True)
class FindLastMatchingRecordingRequest(SessionRequest):
    """Find the newest recording of a session whose channel contains a text; the response has its id."""

    TEMPLATE_ID: ClassVar[int] = 16
    min_recording_id: I64
    session_id: I32
    stream_id: I32
    channel: Ascii


@frozen(slots=True)
class ListRecordingSubscriptionsRequest(SessionRequest):
    """List what is being recorded on request."""

    TEMPLATE_ID: ClassVar[int] = 17
    pseudo_index: I32  # of the first one
    subscription_count: I32
    apply_stream_id: Bool  # whether to compare the stream id
    stream_id: I32
    channel: Ascii


@frozen(slots=True)
class StartPositionRequest(RecordingRequest):
    """Request the start position of a recording."""

    TEMPLATE_ID: ClassVar[int] = 52


@frozen(slots=True)
class RecordingPositionRequest(RecordingRequest):
    """Request the position that is recorded; -1 if the recording is not active."""

    TEMPLATE_ID: ClassVar[int] = 12


@frozen(slots=True)
class StopPositionRequest(RecordingRequest):
    """Request the stop position; -1 if the recording is active."""

    TEMPLATE_ID: ClassVar[int] = 15


@frozen(slots=True)
class MaxRecordedPositionRequest(RecordingRequest):
    """Request the recorded position of an active recording, or the stop position."""

    TEMPLATE_ID: ClassVar[int] = 67
