"""Requests of clients: received on the control streams, matched with their sessions, and carried out.

Each request has a response, also one that this version does not support. A request that no session of its image has
sent is reported, but has no response: another client must not act for a session.

Source: ControlSessionAdapter.java, ArchiveConductor.newControlSession.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from aeron_core.archive.server.admission import Admission
from aeron_core.archive.server.authentication import Admitted, Challenged, Decision, Rejected
from aeron_core.archive.server.channels import is_response, parse, responses
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.requests.list_requests import ListRequests
from aeron_core.archive.server.requests.recording_requests import RecordingRequests
from aeron_core.archive.server.requests.replay_requests import ReplayRequests
from aeron_core.archive.server.requests.replication_requests import ReplicationRequests
from aeron_core.archive.server.requests.segment_requests import SegmentRequests
from aeron_core.archive.server.served_archive import RequestHandler
from aeron_core.archive.server.served_session import ServedSession, text_of
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import AeronError, ArchiveErrorCode, ArchiveRefusedError, PluginError, ProtocolError
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
#: Bytes of a request; longer ones are dropped. An invented number: the longest have three channels.
_MAX_REQUEST_LENGTH: Final = 64 * 1024
#: Source of the images of local clients. Source: aeron_driver_conductor.c, AERON_IPC_CHANNEL.
IPC_IDENTITY: Final = "aeron:ipc"
#: Fragments of one duty cycle of all clients of a control stream. An invented number: about a millisecond.
_CYCLE_LIMIT: Final = 40
_SESSION_AND_CORRELATION: Final = struct.Struct("<qq")


class Requests:
    """The control streams of an archive; its thread uses it."""

    def __init__(self, archive: ServedArchive, subscriptions: list[Subscription]) -> None:
        self._archive = archive
        self._streams = [
            (subscription, FragmentAssembler(self._on_message, _MAX_REQUEST_LENGTH))
            for subscription in subscriptions
        ]
        self._admission = Admission(archive)
        self._turn = 0
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
        self._turn += 1
        return sum(self._poll(subscription, assembler) for subscription, assembler in self._streams)

    def _poll(self, subscription: Subscription, assembler: FragmentAssembler) -> int:
        """Carry out requests of each client in turn; those of one with too many wait, as do then its own requests."""
        images = subscription.images
        begin, work = self._turn % max(len(images), 1), 0
        for image in images[begin:] + images[:begin]:
            left = self._admission.left(image)
            if left <= 0:
                self._admission.note_wait(image)
            limit = min(_FRAGMENT_LIMIT, _CYCLE_LIMIT - work, left)
            if limit > 0:
                count = image.poll(assembler, limit)
                self._admission.take(image, count)
                work += count
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
            uri = parse(request.response_channel)
            channel = responses(uri, is_local=image.source_identity == IPC_IDENTITY)
            if is_response(uri):
                channel = channel.with_params({"response-correlation-id": image.correlation_id})
            session_id = archive.next_id()
            decision = self._decision_on(request, session_id, image)
            self._admission.check(image, channel, decision)
        except AeronError as error:
            # There is no channel for a response.
            archive.limits.clients.increment()
            archive.report(error)
            return
        if isinstance(decision, Rejected):
            archive.limits.clients.increment()
        archive.sessions[session_id] = ServedSession(
            session_id, request.correlation_id, image, (channel, request.response_stream_id), decision
        )

    def _decision_on(
        self,
        request: requests.AuthConnectRequest | requests.ConnectRequest,
        session_id: int,
        image: FragmentImage,
    ) -> Decision:
        """Return whether a client may connect."""
        if request.version >> 16 != PROTOCOL_VERSION >> 16:
            return Rejected(
                session_id,
                f"invalid client version {_dotted(request.version)}, archive is {_dotted(PROTOCOL_VERSION)}",
            )
        credentials = getattr(request, "encoded_credentials", b"")
        return self._decided(lambda: self._archive.params.authenticator(credentials), image)

    def _decided(self, decide: Callable[[], Decision], image: FragmentImage) -> Decision:
        """Return what an authenticator decides: a client is rejected if it fails. A rejection is reported."""
        try:
            decision = decide()
        except Exception as error:
            # Not the text of the error, which may have the credentials.
            self._archive.report(PluginError(f"the authenticator failed: {type(error).__name__}; correct it"))
            decision = Rejected()
        if isinstance(decision, Rejected):
            self._archive.report(ProtocolError(f"client at {image.source_identity}: authentication rejected"))
        return decision

    def _answered(self, challenged: Challenged, answer: bytes, image: FragmentImage) -> Decision:
        """Return the decision on an answer to a challenge; only now a client counts as admitted."""
        decision = self._decided(lambda: challenged.decide(answer), image)
        if isinstance(decision, Admitted):
            try:
                self._admission.check_admitted()
            except ArchiveRefusedError as error:
                self._archive.report(error)
                decision = Rejected(error.code, str(error))
        if isinstance(decision, Rejected):
            self._archive.limits.clients.increment()
        return decision

    def _carry_out(self, request: requests.SessionRequest, image: FragmentImage) -> None:
        replay = isinstance(request, requests.ReplayRequest | requests.BoundedReplayRequest)
        by_token = self.replays.session_of(request) if replay else None  # type: ignore[arg-type]
        session = by_token or self._session_of(request.control_session_id, image)
        if session is None:
            return
        if isinstance(request, requests.ChallengeResponse):
            given = request.encoded_credentials
            session.answer(
                request.correlation_id, lambda challenged: self._answered(challenged, given, image)
            )
            return
        if not session.activate() or isinstance(request, requests.KeepAliveRequest):
            return
        handler = self._handlers.get(type(request))
        try:
            self._authorise(session, request)
            if handler is None:
                raise refused(f"{type(request).__name__}: is not supported")
            if by_token is not None:
                self.replays.start_for(session, request, image)  # type: ignore[arg-type]
            else:
                handler(session, request)
        except ArchiveRefusedError as error:
            self._archive.limits.requests.increment()
            session.refuse(request.correlation_id, str(error), error.code)
        except (AeronError, OSError, ValueError) as error:
            self._archive.raise_if_closed(error)
            if isinstance(error, AeronError):
                self._archive.report(error)
            session.refuse(request.correlation_id, text_of(error))

    def _authorise(self, session: ServedSession, request: requests.SessionRequest) -> None:
        """Raise ArchiveRefusedError for a request that the user of the session may not send."""
        authorisation = self._archive.params.authorisation
        try:
            reason = None if authorisation is None else authorisation(session.user, request)
        except Exception as error:
            # Not the text of the error, which the client would receive.
            self._archive.report(PluginError(f"the authorisation failed: {type(error).__name__}; correct it"))
            raise refused("unauthorised action", ArchiveErrorCode.UNAUTHORISED_ACTION) from None
        if reason is not None:
            self._archive.report(ProtocolError(f"client at {session.image.source_identity}: {reason}"))
            raise refused(reason, ArchiveErrorCode.UNAUTHORISED_ACTION)

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
