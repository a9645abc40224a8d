"""What an archive lists: its recordings, and the subscriptions that record on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aeron_core.archive.params import none_if_null
from aeron_core.errors import ClientError
from aeron_core.frozen import frozen
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.protocol.archive.responses import RecordingDescription, RecordingSubscriptionDescription


@frozen(slots=True)
class ArchivedRecording:
    """One recording as it was when it was listed; lengths and positions in bytes."""

    recording_id: int
    start_time_ms: int  # since the epoch
    stop_time_ms: int | None  # None while it is active
    start_position: int
    stop_position: int | None  # None while it is active
    initial_term_id: int
    segment_length: int  # of a file
    term_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str  # without parameters that do not identify the stream
    original_channel: str
    source_identity: str  # address of the publication's driver

    @classmethod
    def of(cls, message: RecordingDescription) -> Self:
        """Return the recording that an archive described."""
        return cls(
            message.recording_id,
            message.start_timestamp,
            none_if_null(message.stop_timestamp),
            message.start_position,
            none_if_null(message.stop_position),
            message.initial_term_id,
            message.segment_file_length,
            message.term_buffer_length,
            message.mtu_length,
            message.session_id,
            message.stream_id,
            message.stripped_channel,
            message.original_channel,
            message.source_identity,
        )

    def segment_base_position(self, position: int) -> int:
        """Return the position at which the segment file that contains `position` begins."""
        begin = self.start_position - self.start_position % self.term_length
        return position - (position - begin) % self.segment_length

    def extension_channel(self, channel: str) -> str:
        """Return `channel` for a publication that continues the recording, see `AeronArchive.extend_recording`.

        Raises ClientError if the recording is active, ChannelUriError for a wrong channel.
        """
        if self.stop_position is None:
            raise ClientError(f"recording {self.recording_id} is active: stop it before you extend it")
        builder = ChannelUriBuilder(ChannelUri.parse(channel))
        builder.initial_position(self.stop_position, self.initial_term_id, self.term_length)
        return str(builder.put("mtu", self.mtu_length).build())


@frozen(slots=True)
class RecordingSubscription:
    """A subscription of the archive that records what it receives."""

    subscription_id: int
    stream_id: int
    stripped_channel: str

    @classmethod
    def of(cls, message: RecordingSubscriptionDescription) -> Self:
        """Return the subscription that an archive described."""
        return cls(message.subscription_id, message.stream_id, message.stripped_channel)
