"""All requests from clients to an Archive.

Not here: what they mean to a client (`aeron_core.archive`). Source: aeron-archive-codecs.xml; template 2 was removed in
version 14 of the schema, and older clients send it.
"""

from __future__ import annotations

from typing import Final

from aeron_core.protocol.archive.change_requests import (
    AttachSegmentsRequest,
    DeleteDetachedSegmentsRequest,
    DetachSegmentsRequest,
    MigrateSegmentsRequest,
    PurgeRecordingRequest,
    PurgeSegmentsRequest,
    TruncateRecordingRequest,
    UpdateChannelRequest,
)
from aeron_core.protocol.archive.copy_requests import (
    BoundedReplayRequest,
    ReplayRequest,
    ReplayTokenRequest,
    ReplicateRequest,
    ReplicateRequest2,
    StopAllReplaysRequest,
    StopReplayRequest,
    StopReplicationRequest,
    TaggedReplicateRequest,
)
from aeron_core.protocol.archive.recording_requests import (
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    FindLastMatchingRecordingRequest,
    ListRecordingRequest,
    ListRecordingsForUriRequest,
    ListRecordingsRequest,
    ListRecordingSubscriptionsRequest,
    MaxRecordedPositionRequest,
    RecordingPositionRequest,
    StartPositionRequest,
    StartRecordingRequest,
    StartRecordingRequest2,
    StopPositionRequest,
    StopRecordingByIdentityRequest,
    StopRecordingRequest,
    StopRecordingSubscriptionRequest,
)
from aeron_core.protocol.archive.sbe import SbeMessage, by_template, decode_by_template
from aeron_core.protocol.archive.session_requests import (
    ArchiveIdRequest,
    AuthConnectRequest,
    ChallengeResponse,
    CloseSessionRequest,
    ConnectRequest,
    KeepAliveRequest,
    RecordingRequest,
    SessionRequest,
)

__all__ = [
    "REQUESTS",
    "ArchiveIdRequest",
    "AttachSegmentsRequest",
    "AuthConnectRequest",
    "BoundedReplayRequest",
    "ChallengeResponse",
    "CloseSessionRequest",
    "ConnectRequest",
    "DeleteDetachedSegmentsRequest",
    "DetachSegmentsRequest",
    "ExtendRecordingRequest",
    "ExtendRecordingRequest2",
    "FindLastMatchingRecordingRequest",
    "KeepAliveRequest",
    "ListRecordingRequest",
    "ListRecordingSubscriptionsRequest",
    "ListRecordingsForUriRequest",
    "ListRecordingsRequest",
    "MaxRecordedPositionRequest",
    "MigrateSegmentsRequest",
    "PurgeRecordingRequest",
    "PurgeSegmentsRequest",
    "RecordingPositionRequest",
    "RecordingRequest",
    "ReplayRequest",
    "ReplayTokenRequest",
    "ReplicateRequest",
    "ReplicateRequest2",
    "SessionRequest",
    "StartPositionRequest",
    "StartRecordingRequest",
    "StartRecordingRequest2",
    "StopAllReplaysRequest",
    "StopPositionRequest",
    "StopRecordingByIdentityRequest",
    "StopRecordingRequest",
    "StopRecordingSubscriptionRequest",
    "StopReplayRequest",
    "StopReplicationRequest",
    "TaggedReplicateRequest",
    "TruncateRecordingRequest",
    "UpdateChannelRequest",
    "decode_request",
]

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
