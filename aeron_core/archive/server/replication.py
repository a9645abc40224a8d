"""Replication: copies a recording of another archive into this one, and may join its live stream.

    connect ──► describe ──► extend the copy ──► replay from the source ──► replicate ──► SYNC, end
                   │                                                  └──► catch up ──► join live ──► MERGE, end
                   └ the copy has all of it: SYNC, end

The copy is recorded like any other stream: its images come from a replay of the source. The signal REPLICATE_END is the
last, after an error, too. Source: ReplicationSession.java.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aeron_core.archive.connecting import connecting
from aeron_core.archive.operations import ArchiveOperations, replay_session_id
from aeron_core.archive.params import ControlParams, ReplayParams, none_if_null
from aeron_core.archive.procedures import Deadline, Procedure, registered
from aeron_core.archive.server.channels import StreamRequest, check_text, secured_as, stream_key
from aeron_core.archive.server.files.catalogued import Catalogued
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.served_session import text_of
from aeron_core.errors import AeronError, ArchiveErrorCode, ArchiveRefusedError
from aeron_core.protocol.archive.codes import (
    NULL_VALUE,
    REPLAY_ALL_AND_FOLLOW,
    RecordingSignal,
)
from aeron_core.protocol.archive.requests import ReplicateRequest2, StopReplayRequest
from aeron_core.protocol.archive.sbe import NULL_I32
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.archive.descriptors import ArchivedRecording
    from aeron_core.archive.server.recorded_stream import RecordedStream
    from aeron_core.archive.server.requests.recording_requests import RecordingRequests
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription

#: Distance at which the live stream is added. Source: ReplicationSession.LIVE_ADD_MAX_WINDOW.
_LIVE_WINDOW: Final = 32 * 1024 * 1024
#: Interval between polls for errors of the source. Source: ReplicationSession.SOURCE_ARCHIVE_POLL_INTERVAL_MS.
_POLL_INTERVAL_MS: Final = 100


class Replication:
    """One copy; the archive's thread uses it."""

    def __init__(
        self,
        archive: ServedArchive,
        recordings: RecordingRequests,
        session: ServedSession,
        replication_id: int,
        request: ReplicateRequest2,
    ) -> None:
        self.is_done = False
        self._archive = archive
        self._recordings = recordings
        self._session = session
        self._id = replication_id
        self._request = request
        self._control = ChannelUri.parse(request.src_control_channel)
        self._channel = (
            ChannelUri.parse(request.replication_channel)
            if request.replication_channel
            else secured_as(ChannelUri.parse(archive.params.replication_channel), self._control)
        )
        self._is_response = self._channel.get("control-mode") == "response"
        self._recording_id = request.dst_recording_id
        self._stream: RecordedStream | None = None
        self._source: ArchiveOperations | None = None
        self._replay_id: int | None = None
        self._poll_ms = 0
        self._steps: Generator[None, None, None] = self._run()

    def do_work(self, now_ms: int) -> int:
        """Do the next step."""
        try:
            next(self._steps)
        except StopIteration:
            self.close()
        except (AeronError, ValueError) as error:
            self._archive.raise_if_closed(error)
            self._fail(error)
        return 0

    def close(self) -> None:
        """End the replication: stop its replay and its recording, unless that has joined the live stream."""
        if self.is_done:
            return
        self.is_done = True
        self._steps.close()
        subscription_id = NULL_VALUE
        if self._stream is not None:
            subscription_id = self._stream.subscription_id
            self._recordings.stop_subscription(subscription_id)
        if self._source is not None:
            if self._replay_id is not None and not self._source.is_closed:
                # Without a wait: the replay also ends because it has no subscriber.
                self._source.send_once(
                    StopReplayRequest(
                        self._source.control_session_id,
                        self._archive.aeron.next_correlation_id(),
                        self._replay_id,
                    )
                )
            self._source.close()
        self._signal(RecordingSignal.REPLICATE_END, NULL_VALUE, subscription_id)

    def _fail(self, error: Exception) -> None:
        code = error.code if isinstance(error, ArchiveRefusedError) else ArchiveErrorCode.GENERIC
        self._session.refuse(self._id, text_of(error), code)
        self.close()

    def _signal(self, signal: RecordingSignal, position: int, subscription_id: int | None = None) -> None:
        if subscription_id is None:
            subscription_id = NULL_VALUE if self._stream is None else self._stream.subscription_id
        self._session.signal(signal, self._id, self._recording_id, subscription_id, position)

    def _deadline(self) -> Deadline:
        return Deadline(self._archive.aeron, self._archive.params.replication_timeout)

    def _run(self) -> Generator[None, None, None]:
        request = self._request
        source = self._source = yield from self._connected()
        found = yield from source.list_recording(request.src_recording_id)
        if found is None:
            raise refused(
                f"unknown recording id of the source: {request.src_recording_id}",
                ArchiveErrorCode.UNKNOWN_RECORDING,
            )
        if 0 < request.file_io_max_length < found.mtu_length:
            raise refused(
                f"file_io_max_length={request.file_io_max_length}: must be at least {found.mtu_length}, the MTU of the "
                "recording"
            )
        if request.live_destination and found.stop_position is not None:
            raise refused(
                f"recording {found.recording_id} of the source is not active: it has no live stream"
            )
        position = self._begin_copy(found)
        if found.stop_position is not None and found.stop_position in (found.start_position, position):
            self._signal(RecordingSignal.SYNC, found.stop_position)
            return
        reached = NULL_VALUE
        if request.live_destination:
            reached = yield from self._live_position(source)
        stream, destination = yield from self._extended(found)
        image = yield from self._replayed(source, stream, found, position)
        if destination is None or not request.live_destination:
            yield from self._replicated(stream, found)
        else:
            yield from self._merged(stream, image, destination, reached)

    def _connected(self) -> Procedure[ArchiveOperations]:
        request, params = self._request, self._archive.params
        response = request.src_response_channel
        if not response:
            own = secured_as(ChannelUri.parse(params.replication_channel), self._control)
            response = str(_with_port(own, "0"))
        control = ControlParams(
            control_request_channel=request.src_control_channel,
            control_request_stream_id=request.src_control_stream_id,
            control_response_channel=response,
            message_timeout=params.replication_timeout,
            credentials=request.encoded_credentials,
            client_name=f"replication {self._id}",
        )
        try:
            return (yield from connecting(self._archive.aeron, control, ArchiveOperations))
        except AeronError as error:
            self._archive.raise_if_closed(error)
            raise refused(
                f"the source was not connected: {error}", ArchiveErrorCode.REPLICATION_CONNECTION_FAILURE
            ) from error

    def _begin_copy(self, found: ArchivedRecording) -> int:
        """Return the position at which the copy continues; describe it in the catalogue if it is new or empty."""
        catalog = self._archive.catalog
        described = Catalogued(
            recording_id=self._recording_id,
            start_time_ms=found.start_time_ms,
            stop_time_ms=found.start_time_ms,
            start_position=found.start_position,
            stop_position=found.start_position,
            initial_term_id=found.initial_term_id,
            segment_length=found.segment_length,
            term_length=found.term_length,
            mtu_length=found.mtu_length,
            session_id=found.session_id,
            stream_id=found.stream_id,
            stripped_channel=found.stripped_channel,
            channel=found.original_channel,
            source_identity=found.source_identity,
        )
        catalog.check(described)
        # The source is another program, and what it describes is in all lists of this archive from now on.
        for name in ("stripped_channel", "channel", "source_identity"):
            check_text(f"{name} of the source", getattr(described, name))
        if self._recording_id == NULL_VALUE:
            self._recording_id = catalog.add(described).recording_id
            self._signal(RecordingSignal.REPLICATE, found.start_position)
            return found.start_position
        entry = self._archive.stopped(self._recording_id, "replicate to")
        if entry.start_position == entry.stop_position:
            catalog.replace(replace(described, recording_id=self._recording_id))
            return found.start_position
        return entry.stop_position

    def _live_position(self, source: ArchiveOperations) -> Procedure[int]:
        position = yield from source.recording_position(self._request.src_recording_id)
        if position is None:
            raise refused(f"recording {self._request.src_recording_id} of the source is not active any more")
        return position

    def _session_id(self, found: ArchivedRecording) -> int:
        given = self._request.replication_session_id
        return (
            found.session_id if given in (NULL_VALUE, NULL_I32) or self._request.live_destination else given
        )

    def _extended(self, found: ArchivedRecording) -> Procedure[tuple[RecordedStream, str | None]]:
        """Record the replay as the continuation of the copy; return its destination if it has several."""
        request = self._request
        is_tagged = not request.channel_tag_id == request.subscription_tag_id == NULL_VALUE
        uri = self._channel.with_params({"rejoin": False})
        if not self._is_response:
            uri = uri.with_params({"session-id": self._session_id(found)})
        destination = None
        if is_tagged or request.live_destination:
            tags = [
                self._id if tag == NULL_VALUE else tag
                for tag in (request.channel_tag_id, request.subscription_tag_id)
            ]
            uri = uri.with_params(
                {"endpoint": None, "tags": f"{tags[0]},{tags[1]}", "control-mode": "manual"}
            )
            kept = {
                key: self._channel.params[key]
                for key in ("endpoint", "interface", "security")
                if key in self._channel
            }
            destination = str(ChannelUri(self._channel.media, kept))
        wanted = StreamRequest(
            key=stream_key(found.stream_id, uri),
            uri=uri,
            channel=str(uri),
            stream_id=found.stream_id,
            is_local=False,
            is_auto_stop=True,
            recording_id=self._recording_id,
        )
        stream = self._stream = self._recordings.extend(self._session, self._id, wanted, self._recording_id)
        deadline = self._deadline()
        while stream.subscription is None:
            if stream.is_done:
                raise refused(f"the driver refused {stream.channel}")
            deadline.check(f"no subscription to {stream.channel}")
            yield
        if destination is not None:
            yield from registered(stream.subscription.add_destination_async(destination))
        return stream, destination

    def _replayed(
        self, source: ArchiveOperations, stream: RecordedStream, found: ArchivedRecording, position: int
    ) -> Procedure[Image | None]:
        """Request the replay and return its image; None if it has ended already."""
        request, subscription = self._request, stream.subscription
        assert subscription is not None
        stop = request.stop_position
        params = ReplayParams(
            position=position,
            length=REPLAY_ALL_AND_FOLLOW if stop == NULL_VALUE else stop - position,
            file_io_max_length=none_if_null(max(request.file_io_max_length, NULL_VALUE)),
        )
        wanted = request.src_recording_id, found.stream_id, params
        if self._is_response:
            replay_id = yield from source.replay_to(subscription, wanted[0], str(self._channel), *wanted[1:])
        else:
            channel = yield from self._replay_channel(subscription, found)
            replay_id = yield from source.start_replay(wanted[0], channel, *wanted[1:])
        self._replay_id = replay_id
        return (yield from self._image_of(subscription, stream, replay_session_id(replay_id)))

    def _replay_channel(self, subscription: Subscription, found: ArchivedRecording) -> Procedure[str]:
        """Return the channel on which the source sends, with the port that the driver has bound."""
        deadline, channel = self._deadline(), self._channel
        while (endpoint := subscription.resolved_endpoint()) is None and channel.is_udp:
            deadline.check(f"no address bound for {channel}")
            yield
        if endpoint is not None and channel.get("endpoint", "").endswith(":0"):
            channel = _with_port(channel, endpoint.rpartition(":")[2])
        channel = channel.with_params({"session-id": self._session_id(found)})
        if self._request.live_destination:
            channel = channel.with_params({"linger": 0, "eos": False})
        return str(channel)

    def _image_of(
        self, subscription: Subscription, stream: RecordedStream, session_id: int
    ) -> Procedure[Image | None]:
        deadline = self._deadline()
        while (image := subscription.image_by_session_id(session_id)) is None:
            if stream.is_done:
                return None
            self._check_source()
            deadline.check(f"no image of the replay with session {session_id}")
            yield
        return image

    def _replicated(self, stream: RecordedStream, found: ArchivedRecording) -> Procedure[None]:
        """Wait until the copy has all that the source had, or up to the stop position, or the replay has ended."""
        stop = found.stop_position
        while True:
            position = self._position()
            is_synced = stop is not None and position >= stop
            is_reached = self._request.stop_position != NULL_VALUE and position >= self._request.stop_position
            if is_synced:
                self._signal(RecordingSignal.SYNC, position)
            if is_synced or is_reached or stream.is_done:
                self._replay_id = None
                return
            self._check_source()
            yield

    def _merged(
        self, stream: RecordedStream, image: Image | None, destination: str, reached: int
    ) -> Procedure[None]:
        """Wait until the copy has caught up, and then receives the live stream without the replay."""
        source, subscription = self._source, stream.subscription
        assert source is not None
        assert subscription is not None
        if image is None:
            raise refused("the replay of the source has ended before the live stream was joined")
        while self._position() < reached:
            self._check_joining(image)
            yield
        is_added = False
        while True:
            live = yield from self._live_position(source)
            behind = live - self._position()
            if not is_added and behind <= min(image.term_length // 4, _LIVE_WINDOW):
                yield from registered(subscription.add_destination_async(self._request.live_destination))
                is_added = True
            elif is_added and behind <= 0 and image.active_transport_count >= 2:
                yield from registered(subscription.remove_destination_async(destination))
                self._signal(RecordingSignal.MERGE, self._position())
                self._stream = None  # it continues
                return
            self._check_joining(image)
            yield

    def _position(self) -> int:
        return self._archive.recorded_position(self._archive.recording(self._recording_id))

    def _check_joining(self, image: Image) -> None:
        if image.is_closed:
            raise refused("the replay of the source has ended before the live stream was joined")
        self._check_source()

    def _check_source(self) -> None:
        """Raise an error that the source has sent, and once it is disconnected."""
        source, now_ms = self._source, self._archive.now_ms
        if source is None or now_ms < self._poll_ms:
            return
        self._poll_ms = now_ms + _POLL_INTERVAL_MS
        source.poll()
        if (error := source.take_error()) is not None:
            raise error


def _with_port(uri: ChannelUri, port: str) -> ChannelUri:
    """Return the channel with another port of its endpoint."""
    host, colon, _ = uri.get("endpoint", "").rpartition(":")
    return uri.with_params({"endpoint": f"{host}:{port}"}) if colon else uri
