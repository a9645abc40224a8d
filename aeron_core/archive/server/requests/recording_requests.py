"""Requests that start, extend and stop recordings, and those for their positions.

Source: ArchiveConductor.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aeron_core.archive.server.channels import StreamRequest, parse, stream_key
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.recorded_stream import RecordedStream, check_not_deleted
from aeron_core.errors import ArchiveErrorCode
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import NULL_VALUE, SourceLocation

if TYPE_CHECKING:
    from aeron_core.archive.server.served_archive import RecordingSource, ServedArchive
    from aeron_core.archive.server.served_session import ServedSession

_Start = requests.StartRecordingRequest | requests.StartRecordingRequest2
_Extend = requests.ExtendRecordingRequest | requests.ExtendRecordingRequest2


class RecordingRequests:
    """Handlers of requests; a method raises ArchiveRefusedError for one that is refused."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive

    def handlers(self) -> Mapping[type, object]:
        """Return the handler of each request."""
        return {
            requests.StartRecordingRequest: self._start,
            requests.StartRecordingRequest2: self._start,
            requests.ExtendRecordingRequest: self._extend,
            requests.ExtendRecordingRequest2: self._extend,
            requests.StopRecordingRequest: self._stop,
            requests.StopRecordingSubscriptionRequest: self._stop_subscription,
            requests.StopRecordingByIdentityRequest: self._stop_by_identity,
            requests.StartPositionRequest: self._start_position,
            requests.RecordingPositionRequest: self._recording_position,
            requests.StopPositionRequest: self._stop_position,
            requests.MaxRecordedPositionRequest: self._max_recorded_position,
            requests.ArchiveIdRequest: self._archive_id,
        }

    def extend(
        self, session: ServedSession, correlation_id: int, request: StreamRequest, recording_id: int
    ) -> RecordedStream:
        """Record a stream as the continuation of a recording; raise ArchiveRefusedError if that is not possible."""
        entry = self._archive.stopped(recording_id, "extend")
        if request.stream_id != entry.stream_id:
            raise refused(
                f"cannot extend recording {recording_id} of stream {entry.stream_id} with stream {request.stream_id}",
                ArchiveErrorCode.UNKNOWN_RECORDING,
            )
        check_not_deleted(self._archive, entry)
        return self._add(session, correlation_id, request)

    def stop_subscription(self, subscription_id: int) -> bool:
        """Stop what a subscription records; return False if there is none."""
        for stream in list(self._archive.streams.values()):
            if stream.subscription_id == subscription_id:
                self._remove(stream)
                return True
        return False

    def _start(self, session: ServedSession, request: _Start) -> None:
        uri = parse(request.channel)
        self._add(
            session,
            request.correlation_id,
            StreamRequest(
                key=stream_key(request.stream_id, uri),
                uri=uri,
                channel=request.channel,
                stream_id=request.stream_id,
                is_local=request.source_location is SourceLocation.LOCAL,
                is_auto_stop=getattr(request, "auto_stop", False),
            ),
        )

    def _extend(self, session: ServedSession, request: _Extend) -> None:
        uri = parse(request.channel)
        wanted = StreamRequest(
            key=stream_key(request.stream_id, uri),
            uri=uri,
            channel=request.channel,
            stream_id=request.stream_id,
            is_local=request.source_location is SourceLocation.LOCAL,
            is_auto_stop=getattr(request, "auto_stop", False),
            recording_id=request.recording_id,
        )
        self.extend(session, request.correlation_id, wanted, request.recording_id)

    def _add(self, session: ServedSession, correlation_id: int, request: StreamRequest) -> RecordedStream:
        archive = self._archive
        limit = archive.params.max_recordings
        if len(archive.streams) + len(archive.detached_streams) >= limit:
            raise refused(f"{limit} recordings are active, the most", ArchiveErrorCode.MAX_RECORDINGS)
        archive.check_space()
        if request.key in archive.streams:
            raise refused(
                f"recording exists for stream {request.stream_id} of {request.channel}",
                ArchiveErrorCode.ACTIVE_SUBSCRIPTION,
            )
        stream = archive.streams[request.key] = RecordedStream(archive, session, correlation_id, request)
        return stream

    def _remove(self, stream: RecordingSource) -> None:
        del self._archive.streams[stream.request.key]
        stream.close()

    def _stop(self, session: ServedSession, request: requests.StopRecordingRequest) -> None:
        stream = self._archive.streams.get(stream_key(request.stream_id, parse(request.channel)))
        if stream is None:
            raise refused(
                f"no recording found for stream {request.stream_id} of {request.channel}",
                ArchiveErrorCode.UNKNOWN_SUBSCRIPTION,
            )
        self._remove(stream)
        session.respond(request.correlation_id)

    def _stop_subscription(
        self, session: ServedSession, request: requests.StopRecordingSubscriptionRequest
    ) -> None:
        if not self.stop_subscription(request.subscription_id):
            raise refused(
                f"no recording subscription found with id {request.subscription_id}",
                ArchiveErrorCode.UNKNOWN_SUBSCRIPTION,
            )
        session.respond(request.correlation_id)

    def _stop_by_identity(
        self, session: ServedSession, request: requests.StopRecordingByIdentityRequest
    ) -> None:
        archive = self._archive
        archive.recording(request.recording_id)
        found = archive.recordings.get(request.recording_id)
        if found is not None:
            stream = found.stream
            found.stop(archive.now_ms)
            stream.drop(found)
            # A detached stream has lost its key, which another one may have now.
            is_named = archive.streams.get(stream.request.key) is stream
            if is_named:
                del archive.streams[stream.request.key]
            if not stream.recordings:
                stream.close()
            elif is_named:
                # Other images of the stream continue.
                archive.detached_streams.append(stream)
        session.respond(request.correlation_id, int(found is not None))

    def _start_position(self, session: ServedSession, request: requests.StartPositionRequest) -> None:
        session.respond(request.correlation_id, self._archive.recording(request.recording_id).start_position)

    def _recording_position(self, session: ServedSession, request: requests.RecordingPositionRequest) -> None:
        self._archive.recording(request.recording_id)
        active = self._archive.recordings.get(request.recording_id)
        session.respond(request.correlation_id, NULL_VALUE if active is None else active.position)

    def _stop_position(self, session: ServedSession, request: requests.StopPositionRequest) -> None:
        session.respond(request.correlation_id, self._archive.recording(request.recording_id).stop_position)

    def _max_recorded_position(
        self, session: ServedSession, request: requests.MaxRecordedPositionRequest
    ) -> None:
        entry = self._archive.recording(request.recording_id)
        session.respond(request.correlation_id, self._archive.recorded_position(entry))

    def _archive_id(self, session: ServedSession, request: requests.ArchiveIdRequest) -> None:
        session.respond(request.correlation_id, self._archive.archive_id)
