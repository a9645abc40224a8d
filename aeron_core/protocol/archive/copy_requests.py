"""Requests for replays and replications.

The order of the fields is their order in the message. Source: aeron-archive-codecs.xml.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.sbe import (
    I32,
    I64,
    NULL_I32,
    NULL_I64,
    Ascii,
    FixedField,
    VariableField,
)
from aeron_core.protocol.archive.session_requests import RecordingRequest, SessionRequest

#: Limit of the bytes of one read of a file; NULL_I32 or -1 for that of the Archive.
_FileIoLimit = Annotated[int, FixedField("i", NULL_I32, since=7)]
#: From ReplayTokenRequest, for a replay that is requested with another publication; NULL_I64 or -1 for none.
_ReplayToken = Annotated[int, FixedField("q", NULL_I64, since=10)]


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
