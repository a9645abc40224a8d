"""Parameters of an archive that is served, and what its parts share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from aeron_core.archive.server.authentication import Authenticator, Authorisation, admit_all
from aeron_core.errors import AeronError, ConfigurationError
from aeron_core.file_access import PRIVATE, FileAccess
from aeron_core.frozen import frozen
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.uri.channel_uri import ChannelUri

#: Source: Archive.Configuration.SEGMENT_FILE_LENGTH_DEFAULT.
DEFAULT_SEGMENT_LENGTH: Final = 128 * 1024 * 1024
#: Source: AeronArchive.Configuration.LOCAL_CONTROL_CHANNEL_DEFAULT.
LOCAL_CONTROL_CHANNEL: Final = "aeron:ipc?term-length=64k"


def epoch_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@frozen(slots=True, kw_only=True)
class ArchiveServerParams:
    """How an archive is reached and what it allows. Defaults: Archive.Configuration, AeronArchive.Configuration.

    Raises ConfigurationError for a wrong channel, length or checksum.
    """

    control_channel: str | None = (
        None  # of requests over the network, such as aeron:udp?endpoint=archive:8010
    )
    control_stream_id: int = 10
    local_control_channel: str = LOCAL_CONTROL_CHANNEL  # of requests on the same driver
    local_control_stream_id: int = 10
    replication_channel: str = "aeron:udp?endpoint=localhost:0"  # on which other archives reach this one
    events_channel: str | None = None  # of recording events; None: there are none
    events_stream_id: int = 30
    segment_length: int = DEFAULT_SEGMENT_LENGTH  # bytes of a file, at least a term
    record_checksum: FrameChecksum | None = None  # that is written into each frame; None: none is
    replay_checksum: FrameChecksum | None = (
        None  # that each frame must have, also if another archive wrote it
    )
    sync_level: int = 0  # 1: data is on disk before it counts as recorded
    access: FileAccess = PRIVATE  # to a folder that is created; files get that of their folder
    archive_id: int | None = None  # None: the id of its client
    authenticator: Authenticator = admit_all  # decides which clients may connect
    authorisation: Authorisation | None = None  # decides on each request; None: all are allowed
    max_sessions: int = 500  # of clients whose credentials were accepted, at the same time
    max_requests: int = 1000  # in a second, of one host or local client; further ones wait
    max_recordings: int = 20  # images that are recorded, and streams, at the same time
    max_replays: int = 20  # at the same time
    low_space: int = DEFAULT_SEGMENT_LENGTH  # free bytes below which no recording starts
    connect_timeout_ms: int = 5000  # of response and replay streams
    liveness_interval_ms: int = 1000  # between pings of a session
    io_length: int = 1024 * 1024  # bytes of one read or write
    replication_timeout: float = 10.0  # s, for each response of another archive
    on_error: Callable[[AeronError], object] = lambda _: (
        None
    )  # called with errors that do not stop the archive
    clock_ms: Callable[[], int] = epoch_ms

    def __post_init__(self) -> None:
        for channel in (
            self.control_channel,
            self.local_control_channel,
            self.replication_channel,
            self.events_channel,
        ):
            if channel is not None:
                ChannelUri.parse(channel)
        self._check_control_channels()
        for name in ("record_checksum", "replay_checksum"):
            kind = getattr(self, name)
            if kind is not None and not isinstance(kind, FrameChecksum):
                raise ConfigurationError(
                    f"{name}={kind!r}: must be FrameChecksum.CRC32, FrameChecksum.CRC32C or None"
                )
        for name in ("max_sessions", "max_requests", "max_recordings", "max_replays"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name}={getattr(self, name)}: must be at least 1")
        length = self.segment_length
        if length & (length - 1) or not 65_536 <= length <= 2**30:
            raise ConfigurationError(
                f"segment_length={length}: must be a power of two from 65536 to 1073741824"
            )

    def _check_control_channels(self) -> None:
        # Two subscriptions to one IPC stream would receive, and answer, each request twice.
        if (
            self.control_channel is not None
            and ChannelUri.parse(self.control_channel).is_ipc
            and ChannelUri.parse(self.local_control_channel).is_ipc
            and self.control_stream_id == self.local_control_stream_id
        ):
            raise ConfigurationError(
                f"control_channel={self.control_channel}: stream {self.control_stream_id} of aeron:ipc is that of the "
                f"local control channel: must be a UDP channel, such as aeron:udp?endpoint=localhost:8010, or have "
                f"another stream id"
            )
