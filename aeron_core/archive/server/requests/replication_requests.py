"""Requests that start and stop replications.

Source: ArchiveConductor.replicate, ArchiveConductor.stopReplication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aeron_core.archive.server.channels import parse
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.replication import Replication
from aeron_core.errors import ArchiveErrorCode
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import NULL_VALUE

if TYPE_CHECKING:
    from aeron_core.archive.server.requests.recording_requests import RecordingRequests
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession

_Replicate = requests.ReplicateRequest | requests.TaggedReplicateRequest | requests.ReplicateRequest2


class ReplicationRequests:
    """Handlers of requests; a method raises ArchiveRefusedError for one that is refused."""

    def __init__(self, archive: ServedArchive, recordings: RecordingRequests) -> None:
        self._archive = archive
        self._recordings = recordings

    def handlers(self) -> Mapping[type, object]:
        """Return the handler of each request."""
        return {
            requests.ReplicateRequest: self._replicate,
            requests.TaggedReplicateRequest: self._replicate,
            requests.ReplicateRequest2: self._replicate,
            requests.StopReplicationRequest: self._stop,
        }

    def _replicate(self, session: ServedSession, given: _Replicate) -> None:
        archive, request = self._archive, _newest(given)
        if len(archive.replications) >= archive.params.max_recordings:
            raise refused(
                f"{archive.params.max_recordings} replications are active, the most",
                ArchiveErrorCode.MAX_RECORDINGS,
            )
        uri = parse(request.replication_channel or archive.params.replication_channel)
        if uri.get("control-mode") == "response" and (
            request.live_destination
            or not request.channel_tag_id == request.subscription_tag_id == NULL_VALUE
        ):
            raise refused(f"{uri}: a response channel allows neither a live destination nor tags")
        parse(request.src_control_channel)
        for channel in (request.live_destination, request.src_response_channel):
            if channel:
                parse(channel)
        if request.dst_recording_id != NULL_VALUE:
            archive.stopped(request.dst_recording_id, "replicate to")
        replication_id = archive.next_id()
        archive.replications[replication_id] = Replication(
            archive, self._recordings, session, replication_id, request
        )
        session.respond(request.correlation_id, replication_id)

    def _stop(self, session: ServedSession, request: requests.StopReplicationRequest) -> None:
        replication = self._archive.replications.get(request.replication_id)
        if replication is None or replication.is_done:
            raise refused(
                f"unknown replication id {request.replication_id}", ArchiveErrorCode.UNKNOWN_REPLICATION
            )
        replication.close()
        session.respond(request.correlation_id)


def _newest(request: _Replicate) -> requests.ReplicateRequest2:
    """Return a request of an older client as later ones send it."""
    if isinstance(request, requests.ReplicateRequest2):
        return request
    tagged = isinstance(request, requests.TaggedReplicateRequest)
    return requests.ReplicateRequest2(
        request.control_session_id,
        request.correlation_id,
        request.src_recording_id,
        request.dst_recording_id,
        NULL_VALUE,
        request.channel_tag_id if tagged else NULL_VALUE,  # type: ignore[union-attr]
        request.subscription_tag_id if tagged else NULL_VALUE,  # type: ignore[union-attr]
        request.src_control_stream_id,
        NULL_VALUE,
        NULL_VALUE,
        request.src_control_channel,
        request.live_destination,
        "",
        b"",
        "",
    )
