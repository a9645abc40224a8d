"""Requests from clients to an Archive.

Not here: what they mean to a client (`aeron_core.archive`). The order of the fields is their order in the message.
Source: aeron-archive-codecs.xml; template 2 was removed in version 14 of the schema, and older clients send it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.codes import Location
from aeron_core.protocol.archive.sbe import (
    I32,
    I64,
    NULL_I32,
    NULL_I64,
    Ascii,
    Blob,
    Bool,
    FixedField,
    SbeMessage,
    VariableField,
    Version,
    by_template,
    decode_by_template,
)

#: Limit of the bytes of one read of a file; NULL_I32 or -1 for that of the Archive.
_FileIoLimit = Annotated[int, FixedField("i", NULL_I32, since=7)]
#: From ReplayTokenRequest, for a replay that is requested with another publication; NULL_I64 or -1 for none.
_ReplayToken = Annotated[int, FixedField("q", NULL_I64, since=10)]


@frozen(slots=True)
class ConnectRequest(SbeMessage):
    """Open a session without credentials."""

    TEMPLATE_ID: ClassVar[int] = 2
    correlation_id: I64
    response_stream_id: I32
    version: Annotated[int, FixedField("i", 0, since=2)]
    response_channel: Ascii


@frozen(slots=True)
class AuthConnectRequest(SbeMessage):
    """Open a session; the response is ControlResponse with the id of the session, or Challenge."""

    TEMPLATE_ID: ClassVar[int] = 58
    correlation_id: I64
    response_stream_id: I32
    version: Version
    response_channel: Ascii
    encoded_credentials: Blob
    client_info: Annotated[str, VariableField(is_text=True, since=12)]


@frozen(slots=True)
class CloseSessionRequest(SbeMessage):
    """Close a session; there is no response."""

    TEMPLATE_ID: ClassVar[int] = 3
    control_session_id: I64


@frozen(slots=True)
class SessionRequest(SbeMessage):
    """The fields that all other requests begin with; responses repeat both."""

    control_session_id: I64
    correlation_id: I64


@frozen(slots=True)
class RecordingRequest(SessionRequest):
    """A request about one recording."""

    recording_id: I64


@frozen(slots=True)
class ChallengeResponse(SessionRequest):
    """Answer a Challenge."""

    TEMPLATE_ID: ClassVar[int] = 60
    encoded_credentials: Blob


@frozen(slots=True)
class KeepAliveRequest(SessionRequest):
    """Activate a new session; there is no response."""

    TEMPLATE_ID: ClassVar[int] = 61


@frozen(slots=True)
class ArchiveIdRequest(SessionRequest):
    """Request the id of the Archive."""

    TEMPLATE_ID: ClassVar[int] = 68


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
class ReplayRequest(RecordingRequest):
    """Replay a recording; the response has the id of the replay, whose lower half is its session id."""

    TEMPLATE_ID: ClassVar[int] = 6
    position: I64  # -1: the start of the recording
    length: I64
    replay_stream_id: I32
    file_io_max_length: _FileIoLimit
    replay_token: _ReplayToken
    replay_channel: Ascii


@frozen(slots=True)
class BoundedReplayRequest(RecordingRequest):
    """Replay a recording up to the value of a counter of the Archive's driver."""

    TEMPLATE_ID: ClassVar[int] = 18
    position: I64
    length: I64
    limit_counter_id: I32
    replay_stream_id: I32
    file_io_max_length: _FileIoLimit
    replay_token: _ReplayToken
    replay_channel: Ascii


@frozen(slots=True)
class StopReplayRequest(SessionRequest):
    """Stop a replay."""

    TEMPLATE_ID: ClassVar[int] = 7
    replay_session_id: I64


@frozen(slots=True)
class StopAllReplaysRequest(RecordingRequest):
    """Stop all replays of a recording; -1 for those of all recordings."""

    TEMPLATE_ID: ClassVar[int] = 19


@frozen(slots=True)
class ReplayTokenRequest(RecordingRequest):
    """Request a token for a replay over a response channel."""

    TEMPLATE_ID: ClassVar[int] = 105


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


@frozen(slots=True)
class ReplicateRequest(SessionRequest):
    """Copy a recording from another archive; older clients send this, later ones ReplicateRequest2."""

    TEMPLATE_ID: ClassVar[int] = 50
    src_recording_id: I64
    dst_recording_id: I64
    src_control_stream_id: I32
    src_control_channel: Ascii
    live_destination: Ascii


@frozen(slots=True)
class TaggedReplicateRequest(SessionRequest):
    """Copy a recording, with tags for the subscription; older clients send this, later ones ReplicateRequest2."""

    TEMPLATE_ID: ClassVar[int] = 62
    src_recording_id: I64
    dst_recording_id: I64
    channel_tag_id: I64
    subscription_tag_id: I64
    src_control_stream_id: I32
    src_control_channel: Ascii
    live_destination: Ascii


@frozen(slots=True)
class ReplicateRequest2(SessionRequest):
    """Copy a recording from another archive; the response has the id of the replication."""

    TEMPLATE_ID: ClassVar[int] = 66
    src_recording_id: I64
    dst_recording_id: I64  # -1: a new recording
    stop_position: I64  # -1: all, and then what is recorded meanwhile
    channel_tag_id: I64
    subscription_tag_id: I64
    src_control_stream_id: I32
    file_io_max_length: _FileIoLimit
    replication_session_id: Annotated[int, FixedField("i", NULL_I32, since=8)]
    src_control_channel: Ascii
    live_destination: Ascii
    replication_channel: Ascii
    encoded_credentials: Annotated[bytes, VariableField(is_text=False, since=8)]
    src_response_channel: Annotated[str, VariableField(is_text=True, since=10)]


@frozen(slots=True)
class StopReplicationRequest(SessionRequest):
    """Stop a replication."""

    TEMPLATE_ID: ClassVar[int] = 51
    replication_id: I64


#: All requests by template id.
REQUESTS: Final = by_template(
    ConnectRequest,
    AuthConnectRequest,
    CloseSessionRequest,
    ChallengeResponse,
    KeepAliveRequest,
    ArchiveIdRequest,
    StartRecordingRequest,
    StartRecordingRequest2,
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    StopRecordingRequest,
    StopRecordingSubscriptionRequest,
    StopRecordingByIdentityRequest,
    ReplayRequest,
    BoundedReplayRequest,
    StopReplayRequest,
    StopAllReplaysRequest,
    ReplayTokenRequest,
    ListRecordingsRequest,
    ListRecordingsForUriRequest,
    ListRecordingRequest,
    FindLastMatchingRecordingRequest,
    ListRecordingSubscriptionsRequest,
    StartPositionRequest,
    RecordingPositionRequest,
    StopPositionRequest,
    MaxRecordedPositionRequest,
    TruncateRecordingRequest,
    PurgeRecordingRequest,
    DetachSegmentsRequest,
    DeleteDetachedSegmentsRequest,
    PurgeSegmentsRequest,
    AttachSegmentsRequest,
    MigrateSegmentsRequest,
    UpdateChannelRequest,
    ReplicateRequest,
    TaggedReplicateRequest,
    ReplicateRequest2,
    StopReplicationRequest,
)


def decode_request(data: bytes | memoryview) -> SbeMessage:
    """Return the request in `data`; raise ProtocolError if it is unknown, incomplete or invalid."""
    return decode_by_template("request", REQUESTS, data)
