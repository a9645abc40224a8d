"""Requests of clients: received on the control streams, matched with their sessions, and carried out.

Each request has a response, also one that this version does not support. A request that no session of its image has
sent is reported, but has no response: another client must not act for a session.

Source: ControlSessionAdapter.java, ArchiveConductor.newControlSession.
"""

from __future__ import annotations

import hmac
import struct
from typing import TYPE_CHECKING, Final, cast

from aeron_core.archive.server.channels import parse, stripped
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.requests.list_requests import ListRequests
from aeron_core.archive.server.requests.recording_requests import RecordingRequests
from aeron_core.archive.server.requests.replay_requests import ReplayRequests
from aeron_core.archive.server.requests.replication_requests import ReplicationRequests
from aeron_core.archive.server.requests.segment_requests import SegmentRequests
from aeron_core.archive.server.served_archive import RequestHandler
from aeron_core.archive.server.served_session import ServedSession, text_of
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import AeronError, ArchiveErrorCode, ArchiveRefusedError, ProtocolError
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import PROTOCOL_VERSION
from aeron_core.protocol.archive.sbe import HEADER_LENGTH, SCHEMA_VERSION, header_of

if TYPE_CHECKING:
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.client.subscriptions.header import FragmentImage, Header
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription

#: Source: ControlSessionAdapter.FRAGMENT_LIMIT.
_FRAGMENT_LIMIT: Final = 10
#: Sessions at the same time. An invented number: each has a log buffer.
_MAX_SESSIONS: Final = 500
_SESSION_AND_CORRELATION: Final = struct.Struct("<qq")


class Requests:
    """The control streams of an archive; its thread uses it."""

    def __init__(self, archive: ServedArchive, subscriptions: list[Subscription]) -> None:
        self._archive = archive
        self._streams = [
            (subscription, FragmentAssembler(self._on_message)) for subscription in subscriptions
        ]
        self.replays = ReplayRequests(archive)
        self.recordings = RecordingRequests(archive)
        self._handlers: dict[type, RequestHandler] = {}
        for group in (
            self.recordings,
            self.replays,
            ListRequests(archive),
            SegmentRequests(archive),
            ReplicationRequests(archive, self.recordings),
        ):
            self._handlers.update(cast("dict[type, RequestHandler]", group.handlers()))

    def poll(self) -> int:
        """Carry out the requests that have arrived; return their number."""
        work = 0
        for subscription, assembler in self._streams:
            work += subscription.poll(assembler, _FRAGMENT_LIMIT)
        return work

    def on_unavailable_image(self, image: Image) -> None:
        """End the sessions of a client whose requests have ended."""
        for _, assembler in self._streams:
            assembler.free_session(image.session_id)
        for session in list(self._archive.sessions.values()):
            if session.image is image:
                session.end("the request stream has ended")

    def _on_message(self, buffer: memoryview, header: Header) -> None:
        image = header.image
        assert image is not None
        data = bytes(buffer)
        try:
            request = requests.decode_request(data)
        except ProtocolError as error:
            self._refuse_unreadable(data, image, error)
            return
        if isinstance(request, requests.AuthConnectRequest | requests.ConnectRequest):
            self._connect(request, image)
        elif isinstance(request, requests.CloseSessionRequest):
            session = self._session_of(request.control_session_id, image)
            if session is not None:
                session.end("the client has closed it")
        elif isinstance(request, requests.SessionRequest):
            self._carry_out(request, image)

    def _connect(
        self, request: requests.AuthConnectRequest | requests.ConnectRequest, image: FragmentImage
    ) -> None:
        archive = self._archive
        try:
            if len(archive.sessions) >= _MAX_SESSIONS:
                raise refused(f"{_MAX_SESSIONS} sessions are open, the most")
            uri = parse(request.response_channel)
            more = {
                key: uri.get(key, default)
                for key, default in (("term-length", "64k"), ("sparse", "true"), ("mtu", None))
            }
            channel = stripped(uri, more)
            if uri.get("control-mode") == "response":
                channel = channel.with_params({"response-correlation-id": image.correlation_id})
        except AeronError as error:
            # There is no channel for a response.
            archive.report(error)
            return
        session_id = archive.next_id()
        archive.sessions[session_id] = ServedSession(
            session_id,
            request.correlation_id,
            image,
            (str(channel), request.response_stream_id),
            self._refusal_of(request, session_id),
        )

    def _refusal_of(
        self, request: requests.AuthConnectRequest | requests.ConnectRequest, session_id: int
    ) -> tuple[int, str] | None:
        """Return error code and text if a client may not connect."""
        if request.version >> 16 != PROTOCOL_VERSION >> 16:
            return (
                session_id,
                f"invalid client version {_dotted(request.version)}, archive is {_dotted(PROTOCOL_VERSION)}",
            )
        given = getattr(request, "encoded_credentials", b"")
        wanted = self._archive.params.credentials
        if wanted is not None and not hmac.compare_digest(given, wanted):
            return ArchiveErrorCode.AUTHENTICATION_REJECTED, "authentication rejected"
        return None

    def _carry_out(self, request: requests.SessionRequest, image: FragmentImage) -> None:
        replay = isinstance(request, requests.ReplayRequest | requests.BoundedReplayRequest)
        by_token = self.replays.session_of(request) if replay else None  # type: ignore[arg-type]
        session = by_token or self._session_of(request.control_session_id, image)
        if session is None or not session.activate():
            return
        if isinstance(request, requests.KeepAliveRequest | requests.ChallengeResponse):
            return
        handler = self._handlers.get(type(request))
        try:
            if handler is None:
                raise refused(f"{type(request).__name__}: is not supported")
            if by_token is not None:
                self.replays.start_for(session, request, image)  # type: ignore[arg-type]
            else:
                handler(session, request)
        except ArchiveRefusedError as error:
            session.refuse(request.correlation_id, str(error), error.code)
        except (AeronError, OSError, ValueError) as error:
            self._archive.raise_if_closed(error)
            if isinstance(error, AeronError):
                self._archive.report(error)
            session.refuse(request.correlation_id, text_of(error))

    def _refuse_unreadable(self, data: bytes, image: FragmentImage, error: ProtocolError) -> None:
        """Respond to a request that is unknown or damaged, if it names a session of its image."""
        self._archive.report(error)
        try:
            template_id = header_of(data)[1]
            session_id, correlation_id = _SESSION_AND_CORRELATION.unpack_from(data, HEADER_LENGTH)
        except (ProtocolError, struct.error):
            return
        session = self._session_of(session_id, image)
        if session is not None and session.activate():
            session.refuse(
                correlation_id,
                f"request of template {template_id}: is not supported, or damaged; this archive knows version "
                f"{SCHEMA_VERSION} of the messages",
            )

    def _session_of(self, session_id: int, image: FragmentImage) -> ServedSession | None:
        session = self._archive.sessions.get(session_id)
        if session is None or session.image is not image:
            self._archive.report(
                ProtocolError(
                    f"control request from {image.source_identity} for a session that is not its own"
                )
            )
            return None
        return session


def _dotted(version: int) -> str:
    return f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF}.{version & 0xFF}"
