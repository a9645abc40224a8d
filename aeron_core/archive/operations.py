"""Requests of a session, as procedures: what `AeronArchive` and `AsyncAeronArchive` do, without the waits.

Source: AeronArchive.java, ArchiveProxy.java.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from aeron_core.archive.control_session import ControlSession
from aeron_core.archive.descriptors import ArchivedRecording, RecordingSubscription
from aeron_core.archive.params import ReplayParams, ReplicationParams, none_if_null, null_if_none
from aeron_core.archive.procedures import Procedure, registered
from aeron_core.errors import (
    ArchiveErrorCode,
    ArchiveRefusedError,
    ClientError,
    ConfigurationError,
)
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import NULL_VALUE, SourceLocation
from aeron_core.protocol.archive.responses import RecordingDescription, RecordingSubscriptionDescription
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import INT32_MAX

if TYPE_CHECKING:
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.protocol.archive.sbe import SbeMessage

#: Term length of the request stream of a replay over a response channel. Source: AeronArchive.java.
_REPLAY_REQUEST_TERM_LENGTH: Final = 65_536


class ArchiveOperations(ControlSession):
    """The requests; `AeronArchive` has methods of the same names, which document arguments, results and errors."""

    def add_recorded_publication(self, channel: str, stream_id: int) -> Procedure[Publication]:
        """See `AeronArchive.add_recorded_publication`."""
        self.check_open()
        with ExitStack() as opened:
            publication = yield from registered(self.aeron.add_publication_async(channel, stream_id))
            opened.callback(publication.close)
            if not publication.is_original:
                raise ClientError(
                    f"{publication!r}: this client already has a publication of the stream: close that first, or add "
                    "an exclusive one"
                )
            yield from self._record(channel, publication)
            opened.pop_all()
            return publication

    def add_recorded_exclusive_publication(
        self, channel: str, stream_id: int
    ) -> Procedure[ExclusivePublication]:
        """See `AeronArchive.add_recorded_exclusive_publication`."""
        self.check_open()
        with ExitStack() as opened:
            publication = yield from registered(
                self.aeron.add_exclusive_publication_async(channel, stream_id)
            )
            opened.callback(publication.close)
            yield from self._record(channel, publication)
            opened.pop_all()
            return publication

    def _record(self, channel: str, publication: Publication | ExclusivePublication) -> Procedure[int]:
        return self.start_recording(session_channel(channel, publication.session_id), publication.stream_id)

    def start_recording(
        self,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> Procedure[int]:
        """See `AeronArchive.start_recording`."""
        kind = requests.StartRecordingRequest2
        return self.request(kind, stream_id, source_location, auto_stop, channel)

    def extend_recording(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> Procedure[int]:
        """See `AeronArchive.extend_recording`."""
        kind = requests.ExtendRecordingRequest2
        return self.request(kind, recording_id, stream_id, source_location, auto_stop, channel)

    def stop_recording(self, channel: str, stream_id: int) -> Procedure[bool]:
        """See `AeronArchive.stop_recording`."""
        request = self.request(requests.StopRecordingRequest, stream_id, channel)
        return _succeeds(request, ArchiveErrorCode.UNKNOWN_SUBSCRIPTION)

    def stop_recorded_publication(self, publication: Publication | ExclusivePublication) -> Procedure[bool]:
        """See `AeronArchive.stop_recorded_publication`."""
        channel = session_channel(publication.channel, publication.session_id)
        return self.stop_recording(channel, publication.stream_id)

    def stop_recording_subscription(self, subscription_id: int) -> Procedure[bool]:
        """See `AeronArchive.stop_recording_subscription`."""
        request = self.request(requests.StopRecordingSubscriptionRequest, subscription_id)
        return _succeeds(request, ArchiveErrorCode.UNKNOWN_SUBSCRIPTION)

    def stop_recording_by_identity(self, recording_id: int) -> Procedure[bool]:
        """See `AeronArchive.stop_recording_by_identity`."""
        return (yield from self.request(requests.StopRecordingByIdentityRequest, recording_id)) != 0

    def list_recordings(
        self, from_recording_id: int = 0, record_count: int = INT32_MAX
    ) -> Procedure[list[ArchivedRecording]]:
        """See `AeronArchive.list_recordings`."""
        request = requests.ListRecordingsRequest(*self._ids(), from_recording_id, record_count)
        return self._recordings(request, record_count)

    def list_recordings_for_uri(
        self,
        channel_fragment: str,
        stream_id: int,
        from_recording_id: int = 0,
        record_count: int = INT32_MAX,
    ) -> Procedure[list[ArchivedRecording]]:
        """See `AeronArchive.list_recordings_for_uri`."""
        kind = requests.ListRecordingsForUriRequest
        request = kind(*self._ids(), from_recording_id, record_count, stream_id, channel_fragment)
        return self._recordings(request, record_count)

    def list_recording(self, recording_id: int) -> Procedure[ArchivedRecording | None]:
        """See `AeronArchive.list_recording`."""
        request = requests.ListRecordingRequest(*self._ids(), recording_id)
        found = yield from self._recordings(request, 1)
        return found[0] if found else None

    def _recordings(self, request: SbeMessage, count: int) -> Procedure[list[ArchivedRecording]]:
        found = yield from self.listing(request, RecordingDescription, count)
        return [ArchivedRecording.of(each) for each in found]

    def list_recording_subscriptions(
        self,
        channel_fragment: str = "",
        stream_id: int | None = None,
        pseudo_index: int = 0,
        subscription_count: int = INT32_MAX,
    ) -> Procedure[list[RecordingSubscription]]:
        """See `AeronArchive.list_recording_subscriptions`."""
        request = requests.ListRecordingSubscriptionsRequest(
            *self._ids(),
            pseudo_index,
            subscription_count,
            stream_id is not None,
            stream_id or 0,
            channel_fragment,
        )
        found = yield from self.listing(request, RecordingSubscriptionDescription, subscription_count)
        return [RecordingSubscription.of(each) for each in found]

    def find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> Procedure[int | None]:
        """See `AeronArchive.find_last_matching_recording`."""
        kind = requests.FindLastMatchingRecordingRequest
        return none_if_null(
            (yield from self.request(kind, min_recording_id, session_id, stream_id, channel_fragment))
        )

    def start_position(self, recording_id: int) -> Procedure[int]:
        """See `AeronArchive.start_position`."""
        return self.request(requests.StartPositionRequest, recording_id)

    def recording_position(self, recording_id: int) -> Procedure[int | None]:
        """See `AeronArchive.recording_position`."""
        return none_if_null((yield from self.request(requests.RecordingPositionRequest, recording_id)))

    def stop_position(self, recording_id: int) -> Procedure[int | None]:
        """See `AeronArchive.stop_position`."""
        return none_if_null((yield from self.request(requests.StopPositionRequest, recording_id)))

    def max_recorded_position(self, recording_id: int) -> Procedure[int]:
        """See `AeronArchive.max_recorded_position`."""
        return self.request(requests.MaxRecordedPositionRequest, recording_id)

    def start_replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> Procedure[int]:
        """See `AeronArchive.start_replay`."""
        if ChannelUri.parse(channel).get("control-mode") == "response":
            raise ConfigurationError(
                f"{channel!r}: a replay over a response channel needs the subscription of its requester: use replay"
            )
        deadline = self.deadline()
        request = self._replay_request(recording_id, channel, stream_id, params or ReplayParams())
        yield from self.send(request, deadline)
        return (yield from self.response(request, deadline))

    def replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> Procedure[Subscription]:
        """See `AeronArchive.replay`."""
        uri = ChannelUri.parse(channel)
        if uri.get("control-mode") == "response":
            return (
                yield from self._replay_response(recording_id, channel, stream_id, params or ReplayParams())
            )
        replay_id = yield from self.start_replay(recording_id, channel, stream_id, params)
        own = str(uri.with_params({"session-id": replay_session_id(replay_id)}))
        return (yield from registered(self.aeron.add_subscription_async(own, stream_id)))

    def _replay_response(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams
    ) -> Procedure[Subscription]:
        """Replay to a response channel, and return its subscription."""
        with ExitStack() as opened:
            subscription = yield from registered(self.aeron.add_subscription_async(channel, stream_id))
            opened.callback(subscription.close)
            yield from self.replay_to(subscription, recording_id, channel, stream_id, params)
            opened.pop_all()
            return subscription

    def replay_to(
        self,
        subscription: Subscription,
        recording_id: int,
        channel: str,
        stream_id: int,
        params: ReplayParams,
    ) -> Procedure[int]:
        """Replay to the response channel of `subscription`, wait until it is connected, and return the replay's id.

        Another publication of requests names the subscription that the replay is for.
        """
        token = yield from self.request(requests.ReplayTokenRequest, recording_id)
        deadline = self.deadline()
        with ExitStack() as requested:
            changes = dict.fromkeys(("session-id", "init-term-id", "term-id", "term-offset", "ssc"))
            request_channel = ChannelUri.parse(self.request_channel).with_params(
                {
                    **changes,
                    "response-correlation-id": subscription.registration_id,
                    "term-length": _REPLAY_REQUEST_TERM_LENGTH,
                }
            )
            publication = yield from registered(
                self.aeron.add_exclusive_publication_async(
                    str(request_channel), self.params.control_request_stream_id
                )
            )
            requested.callback(publication.close)
            while not publication.is_connected or publication.position_limit == 0:
                deadline.check(f"{request_channel} not connected")
                yield
            request = self._replay_request(recording_id, channel, stream_id, params, token)
            yield from self.send(request, deadline, publication)
            replay_id = yield from self.response(request, deadline)
            # The publication names the subscription until the replay is connected, or is over.
            while not (subscription.is_connected or subscription.is_closed):
                deadline.check(f"{subscription!r} not connected to the replay")
                yield
            return replay_id

    def _replay_request(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        params: ReplayParams,
        token: int = NULL_VALUE,
    ) -> SbeMessage:
        begin = (*self._ids(), recording_id, null_if_none(params.position), params.length)
        end = (stream_id, null_if_none(params.file_io_max_length), token, channel)
        if params.limit_counter_id is None:
            return requests.ReplayRequest(*begin, *end)
        return requests.BoundedReplayRequest(*begin, params.limit_counter_id, *end)

    def stop_replay(self, replay_id: int) -> Procedure[None]:
        """See `AeronArchive.stop_replay`."""
        yield from self.request(requests.StopReplayRequest, replay_id)

    def stop_all_replays(self, recording_id: int | None = None) -> Procedure[None]:
        """See `AeronArchive.stop_all_replays`."""
        yield from self.request(requests.StopAllReplaysRequest, null_if_none(recording_id))

    def truncate_recording(self, recording_id: int, position: int) -> Procedure[int]:
        """See `AeronArchive.truncate_recording`."""
        return self.request(requests.TruncateRecordingRequest, recording_id, position)

    def purge_recording(self, recording_id: int) -> Procedure[int]:
        """See `AeronArchive.purge_recording`."""
        return self.request(requests.PurgeRecordingRequest, recording_id)

    def detach_segments(self, recording_id: int, new_start_position: int) -> Procedure[None]:
        """See `AeronArchive.detach_segments`."""
        yield from self.request(requests.DetachSegmentsRequest, recording_id, new_start_position)

    def delete_detached_segments(self, recording_id: int) -> Procedure[int]:
        """See `AeronArchive.delete_detached_segments`."""
        return self.request(requests.DeleteDetachedSegmentsRequest, recording_id)

    def purge_segments(self, recording_id: int, new_start_position: int) -> Procedure[int]:
        """See `AeronArchive.purge_segments`."""
        return self.request(requests.PurgeSegmentsRequest, recording_id, new_start_position)

    def attach_segments(self, recording_id: int) -> Procedure[int]:
        """See `AeronArchive.attach_segments`."""
        return self.request(requests.AttachSegmentsRequest, recording_id)

    def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> Procedure[int]:
        """See `AeronArchive.migrate_segments`."""
        return self.request(requests.MigrateSegmentsRequest, src_recording_id, dst_recording_id)

    def update_channel(self, recording_id: int, channel: str) -> Procedure[None]:
        """See `AeronArchive.update_channel`."""
        yield from self.request(requests.UpdateChannelRequest, recording_id, channel)

    def replicate(
        self,
        src_recording_id: int,
        src_control_channel: str,
        src_control_stream_id: int,
        params: ReplicationParams | None = None,
    ) -> Procedure[int]:
        """See `AeronArchive.replicate`."""
        params = params or ReplicationParams()
        return self.request(
            requests.ReplicateRequest2,
            src_recording_id,
            null_if_none(params.dst_recording_id),
            null_if_none(params.stop_position),
            null_if_none(params.channel_tag_id),
            null_if_none(params.subscription_tag_id),
            src_control_stream_id,
            null_if_none(params.file_io_max_length),
            null_if_none(params.replication_session_id),
            src_control_channel,
            params.live_destination,
            params.replication_channel,
            params.encoded_credentials,
            params.src_response_channel,
        )

    def stop_replication(self, replication_id: int) -> Procedure[bool]:
        """See `AeronArchive.stop_replication`."""
        request = self.request(requests.StopReplicationRequest, replication_id)
        return _succeeds(request, ArchiveErrorCode.UNKNOWN_REPLICATION)

    def _ids(self) -> tuple[int, int]:
        """Return session and correlation id of a request; raise as `check_open`."""
        self.check_open()
        return self.control_session_id, self.aeron.next_correlation_id()


def _succeeds(request: Procedure[int], code: ArchiveErrorCode) -> Procedure[bool]:
    """Return a procedure that returns whether the request succeeds, and False if it is refused with `code`."""
    try:
        yield from request
    except ArchiveRefusedError as error:
        if error.code is code:
            return False
        raise
    return True


def session_channel(channel: str, session_id: int) -> str:
    """Return `channel` with the session id of one publication."""
    return str(ChannelUri.parse(channel).with_params({"session-id": session_id}))


def replay_session_id(replay_id: int) -> int:
    """Return the session id of a replay's stream, an int32: the lower half of the replay's id."""
    return (replay_id + 2**31) % 2**32 - 2**31
