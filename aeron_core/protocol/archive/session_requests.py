"""Requests that open, keep and close a session with an Archive, and the fields that all others begin with.

The order of the fields is their order in the message. Source: aeron-archive-codecs.xml.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.sbe import (
    I32,
    I64,
    Ascii,
    Blob,
    FixedField,
    SbeMessage,
    VariableField,
    Version,
)


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
