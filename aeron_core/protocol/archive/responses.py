"""Messages from an Archive: responses to requests, signals, and the progress of recordings.

Responses and signals are sent on the response stream of a session, the progress of all recordings on the events stream
of the Archive, if it is enabled. Source: aeron-archive-codecs.xml.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from aeron_core.frozen import frozen
from aeron_core.protocol.archive.codes import ResponseCode, Signal
from aeron_core.protocol.archive.sbe import (
    I32,
    I64,
    Ascii,
    Blob,
    FixedField,
    SbeMessage,
    Version,
    by_template,
    decode_by_template,
    header_of,
)


@frozen(slots=True)
class SessionMessage(SbeMessage):
    """The fields that all messages of a session begin with; the correlation id is that of the request."""

    control_session_id: I64
    correlation_id: I64


@frozen(slots=True)
class ControlResponse(SessionMessage):
    """Outcome of a request."""

    TEMPLATE_ID: ClassVar[int] = 1
    relevant_id: I64  # the result; if the code is ERROR, an error code
    code: ResponseCode
    version: Annotated[int, FixedField("i", 0, since=4)]  # of the protocol of the Archive
    error_message: Ascii


@frozen(slots=True)
class Challenge(SessionMessage):
    """Request for credentials."""

    TEMPLATE_ID: ClassVar[int] = 59
    version: Version
    encoded_challenge: Blob


@frozen(slots=True)
class RecordingDescription(SessionMessage):
    """One recording of a list; times are milliseconds since the epoch, -1 stands for none."""

    TEMPLATE_ID: ClassVar[int] = 22
    recording_id: I64
    start_timestamp: I64
    stop_timestamp: I64
    start_position: I64
    stop_position: I64
    initial_term_id: I32
    segment_file_length: I32
    term_buffer_length: I32
    mtu_length: I32
    session_id: I32
    stream_id: I32
    stripped_channel: Ascii
    original_channel: Ascii
    source_identity: Ascii


@frozen(slots=True)
class RecordingSubscriptionDescription(SessionMessage):
    """One recording subscription of a list."""

    TEMPLATE_ID: ClassVar[int] = 23
    subscription_id: I64
    stream_id: I32
    stripped_channel: Ascii


@frozen(slots=True)
class RecordingSignalEvent(SessionMessage):
    """A signal; the correlation id is that of the request that caused it, -1 if there is none."""

    TEMPLATE_ID: ClassVar[int] = 24
    recording_id: I64
    subscription_id: I64  # -1 if there is none
    position: I64  # of the stream; -1 if there is none
    signal: Signal


@frozen(slots=True)
class ArchivePing(SbeMessage):
    """A message that finds out whether the client still receives; it expects no answer."""

    TEMPLATE_ID: ClassVar[int] = 106
    control_session_id: I64


@frozen(slots=True)
class RecordingStarted(SbeMessage):
    """A recording has started, or was extended."""

    TEMPLATE_ID: ClassVar[int] = 101
    recording_id: I64
    start_position: I64
    session_id: I32
    stream_id: I32
    channel: Ascii
    source_identity: Ascii


@frozen(slots=True)
class RecordingProgress(SbeMessage):
    """A recording has reached a position."""

    TEMPLATE_ID: ClassVar[int] = 102
    recording_id: I64
    start_position: I64
    position: I64


@frozen(slots=True)
class RecordingStopped(SbeMessage):
    """A recording has ended."""

    TEMPLATE_ID: ClassVar[int] = 103
    recording_id: I64
    start_position: I64
    stop_position: I64


#: What the response stream of a session carries, by template id.
RESPONSES: Final = by_template(
    ControlResponse,
    Challenge,
    RecordingDescription,
    RecordingSubscriptionDescription,
    RecordingSignalEvent,
    ArchivePing,
)
#: What the events stream carries, by template id.
EVENTS: Final = by_template(RecordingStarted, RecordingProgress, RecordingStopped)


def decode_response(data: bytes | memoryview) -> SessionMessage | None:
    """Return the message of a session in `data`, None for one that a client ignores: a ping, or an unknown template.

    Raises ProtocolError if it is of another schema, incomplete or invalid.
    """
    if header_of(data)[1] not in RESPONSES:
        return None
    message = decode_by_template("response", RESPONSES, data)
    return message if isinstance(message, SessionMessage) else None


def decode_event(data: bytes | memoryview) -> RecordingStarted | RecordingProgress | RecordingStopped | None:
    """Return the event in `data`, None for an unknown template; raises as `decode_response`."""
    if header_of(data)[1] not in EVENTS:
        return None
    message = decode_by_template("event", EVENTS, data)
    assert isinstance(message, RecordingStarted | RecordingProgress | RecordingStopped)
    return message
