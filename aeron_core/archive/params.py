"""Parameters of a session with an archive, of replays and of replications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Final, Required, TypedDict

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.protocol.archive.codes import NULL_VALUE, REPLAY_ALL_AND_FOLLOW
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.errors import ArchiveRefusedError
    from aeron_core.protocol.archive.responses import RecordingSignalEvent

SignalHandler = Callable[["RecordingSignalEvent"], object]
ErrorHandler = Callable[["ArchiveRefusedError"], object]
#: Takes the archive's challenge and returns the credentials that answer it.
ChallengeHandler = Callable[[bytes], bytes]

#: Longest client name. Source: Aeron.Configuration.MAX_CLIENT_NAME_LENGTH.
_MAX_CLIENT_NAME_LENGTH: Final = 100


class ConnectOptions(TypedDict, total=False):
    """Arguments of `AeronArchive.connect`; `ControlParams` has their meaning and defaults."""

    control_request_channel: Required[str]
    control_response_channel: Required[str]
    control_request_stream_id: int
    control_response_stream_id: int
    message_timeout: float
    credentials: bytes
    on_challenge: ChallengeHandler | None
    on_recording_signal: SignalHandler | None
    on_error: ErrorHandler | None
    client_name: str
    control_term_length: int


@frozen(slots=True, kw_only=True)
class ControlParams:
    """How to reach an archive. Defaults: AeronArchive.java.

    Raises ConfigurationError for a wrong channel, timeout or name.
    """

    control_request_channel: str  # of the archive, such as aeron:udp?endpoint=archive:8010
    control_response_channel: str  # of this client, as the archive reaches it; its port may be 0
    control_request_stream_id: int = 10  # of the archive
    control_response_stream_id: int = 20  # of this client
    message_timeout: float = 10.0  # s; for the connection, and then for each response
    credentials: bytes = field(
        default=b"", repr=False
    )  # sent with the request to connect; their meaning is agreed with the archive
    on_challenge: ChallengeHandler | None = None  # answers a challenge; None: with the credentials
    on_recording_signal: SignalHandler | None = None  # called with each signal of this session
    on_error: ErrorHandler | None = None  # for errors of earlier requests, such as a replay that failed
    client_name: str = ""  # ASCII, which the archive shows in its counters
    control_term_length: int = 65_536  # bytes, of both streams, unless the channel has term-length

    def __post_init__(self) -> None:
        for channel in (self.control_request_channel, self.control_response_channel):
            ChannelUri.parse(channel)
        if not 0 < self.message_timeout < float("inf"):
            raise ConfigurationError(
                f"message_timeout={self.message_timeout}: must be a number of seconds above 0"
            )
        if len(self.client_name) > _MAX_CLIENT_NAME_LENGTH or not self.client_name.isascii():
            raise ConfigurationError(
                f"client_name={self.client_name!r}: must have at most {_MAX_CLIENT_NAME_LENGTH} ASCII characters"
            )


@frozen(slots=True, kw_only=True)
class ReplayParams:
    """What to replay of a recording: by default all of it, and then what is recorded meanwhile."""

    position: int | None = None  # the first byte, at the begin of a frame; None: the start position
    length: int = REPLAY_ALL_AND_FOLLOW  # bytes, up to the end of a frame, or REPLAY_ALL_AND_STOP
    limit_counter_id: int | None = None  # wait at its value, the end of a frame; of the archive's driver
    file_io_max_length: int | None = None  # bytes of one read of a file; None: the archive's own limit


@frozen(slots=True, kw_only=True)
class ReplicationParams:
    """How to copy a recording; the defaults make a new recording with all that the source has and will record.

    Raises ConfigurationError for both `live_destination` and `replication_session_id`.
    """

    dst_recording_id: int | None = None  # a recording to continue; None: a new one
    stop_position: int | None = None  # None: follow the source until it stops
    live_destination: str = ""  # channel of the live stream, which the copy joins when it has caught up
    replication_channel: str = ""  # for the replay from the source; empty: that of the archive
    channel_tag_id: int | None = None  # tags of the archive's subscription, so that others can follow it
    subscription_tag_id: int | None = None  # likewise
    file_io_max_length: int | None = None  # as in ReplayParams
    replication_session_id: int | None = None  # session id of the replay
    encoded_credentials: bytes = field(default=b"", repr=False)  # for the source
    src_response_channel: str = ""  # response channel for the source; empty: that of the archive

    def __post_init__(self) -> None:
        if self.live_destination and self.replication_session_id is not None:
            raise ConfigurationError(
                f"live_destination={self.live_destination!r} with replication_session_id="
                f"{self.replication_session_id}: must not both be given; a live stream has its own session id"
            )


def null_if_none(value: int | None) -> int:
    """Return -1, which stands for no value, for None."""
    return NULL_VALUE if value is None else value


def none_if_null(value: int) -> int | None:
    """Return None for -1."""
    return None if value == NULL_VALUE else value
