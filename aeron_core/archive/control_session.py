"""Session with an archive: sends requests, and matches what arrives with them.

    connect ── AuthConnectRequest ──► wait ── ControlResponse OK ──► ask for the archive's id ──► connected
                                       │ Challenge ──► ChallengeResponse ──► wait
                                       └ ControlResponse ERROR ──► refused
    connected ── no image of the response stream ──► disconnected, for good
              ── close ──► closed

Not here: the streams of a session (connecting), which requests exist (operations), and the waits (aeron_archive, aio).
Invariant: one procedure runs at a time.

Source: AeronArchive.java, ArchiveProxy.java, ControlResponsePoller.java.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from aeron_core.archive.procedures import Deadline, Procedure
from aeron_core.archive.refusals import refusal
from aeron_core.client.publications.sending import error_of, is_final
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import (
    ArchiveDisconnectedError,
    ArchiveRefusedError,
    ClosedError,
)
from aeron_core.logbuffer.results import OfferResult
from aeron_core.protocol.archive.codes import (
    ARCHIVE_ID_VERSION,
    NULL_VALUE,
    PROTOCOL_VERSION,
    ControlResponseCode,
)
from aeron_core.protocol.archive.requests import (
    ArchiveIdRequest,
    AuthConnectRequest,
    ChallengeResponse,
    CloseSessionRequest,
    KeepAliveRequest,
)
from aeron_core.protocol.archive.responses import (
    Challenge,
    ControlResponse,
    RecordingSignalEvent,
    SessionMessage,
    decode_response,
)
from aeron_core.version import VERSION

if TYPE_CHECKING:
    from aeron_core.archive.params import ControlParams, SignalHandler
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.protocol.archive.sbe import SbeMessage

P = ParamSpec("P")
M = TypeVar("M", bound=SessionMessage)

_FRAGMENT_LIMIT: Final = 10
#: Polls of one call of `poll`, which leaves the rest to the next one. Invented.
_POLL_LIMIT: Final = 100
#: Errors of earlier requests that are kept for `take_error`. Invented.
_MAX_ERRORS: Final = 16


class ControlSession:
    """The streams of one session, and the messages on them.

    A method that returns a procedure, or the procedure, raises beside what the method names ClosedError,
    ArchiveDisconnectedError, ArchiveTimeoutError, ProtocolError for a message that cannot be used, and ValueError for
    an argument that a message cannot hold.
    """

    def __init__(
        self,
        aeron: Aeron,
        params: ControlParams,
        publication: ExclusivePublication,
        subscription: Subscription,
        request_channel: str,
    ) -> None:
        self.aeron: Final = aeron
        self.params: Final = params
        self.request_channel: Final = request_channel
        self.control_session_id = NULL_VALUE
        self.archive_id: int | None = None
        self.is_closed = False
        self.signal_handlers: list[SignalHandler] = []
        if params.on_recording_signal is not None:
            self.signal_handlers.append(params.on_recording_signal)
        self._publication = publication
        self._subscription = subscription
        self._arrived: deque[bytes] = deque()
        self._assembler = FragmentAssembler(self._keep)
        self._errors: deque[ArchiveRefusedError] = deque(maxlen=_MAX_ERRORS)
        self._is_disconnected = False

    @property
    def is_connected(self) -> bool:
        """Whether requests can be sent."""
        return not (self.is_closed or self._is_disconnected) and self._subscription.is_connected

    def deadline(self) -> Deadline:
        """Return the deadline of a response."""
        return Deadline(self.aeron, self.params.message_timeout)

    def connect(self, deadline: Deadline) -> Procedure[None]:
        """Return the procedure that opens the session; raises ArchiveAuthenticationError, ArchiveRefusedError."""
        channel = self.params.control_request_channel
        while not self._publication.is_connected:
            deadline.check(f"no archive found at {channel} stream {self.params.control_request_stream_id}")
            yield
        while (response_channel := self._subscription.resolved_channel()) is None:
            deadline.check(f"no address bound for {self.params.control_response_channel}")
            yield
        correlation_id = self.aeron.next_correlation_id()
        yield from self.send(
            AuthConnectRequest(
                correlation_id,
                self.params.control_response_stream_id,
                PROTOCOL_VERSION,
                response_channel,
                self.params.credentials,
                f"name={self.params.client_name} version={VERSION} aeron-core",
            ),
            deadline,
        )
        while not self._subscription.is_connected:
            deadline.check(f"archive at {channel} did not connect to {response_channel}")
            yield
        response = yield from self._connected(correlation_id, deadline)
        if response.version >= ARCHIVE_ID_VERSION:
            answer = yield from self.request(ArchiveIdRequest)
            self.archive_id = None if answer == NULL_VALUE else answer
        yield from self.keep_alive()

    def _connected(self, correlation_id: int, deadline: Deadline) -> Procedure[ControlResponse]:
        """Return the response that opens the session, after the answer to a challenge if there is one."""
        while True:
            deadline.check("the session was not opened")
            message = yield from self._next(deadline, "connect", correlation_id)
            self.control_session_id = message.control_session_id
            if isinstance(message, Challenge):
                answer = self.params.on_challenge or (lambda _: self.params.credentials)
                correlation_id = self.aeron.next_correlation_id()
                yield from self.send(
                    ChallengeResponse(
                        self.control_session_id, correlation_id, answer(message.encoded_challenge)
                    ),
                    deadline,
                )
            elif isinstance(message, ControlResponse):
                if message.code is not ControlResponseCode.OK:
                    raise refusal("connect", message)
                return message

    def request(
        self, kind: Callable[Concatenate[int, int, P], SbeMessage], *args: P.args, **kwargs: P.kwargs
    ) -> Procedure[int]:
        """Return the procedure that sends a request and returns its result; raises ArchiveRefusedError."""
        self.check_open()
        deadline = self.deadline()
        request = kind(self.control_session_id, self.aeron.next_correlation_id(), *args, **kwargs)
        yield from self.send(request, deadline)
        return (yield from self.response(request, deadline))

    def response(self, request: SbeMessage, deadline: Deadline) -> Procedure[int]:
        """Return the procedure that waits for the result of a request that was sent; raises ArchiveRefusedError."""
        what, correlation_id = type(request).__name__, _correlation_id_of(request)
        while True:
            message = yield from self._next(deadline, what, correlation_id)
            if not isinstance(message, ControlResponse):
                deadline.check(f"no response to {what}")
            elif message.code is ControlResponseCode.OK:
                return message.relevant_id
            else:
                raise refusal(what, message)

    def listing(self, request: SbeMessage, kind: type[M], count: int) -> Procedure[list[M]]:
        """Return the procedure that sends a request and returns the `kind` messages that answer it, at most `count`."""
        self.check_open()
        what, correlation_id, deadline = type(request).__name__, _correlation_id_of(request), self.deadline()
        found: list[M] = []
        if count == 0:
            return found
        yield from self.send(request, deadline)
        while len(found) < count:
            message = yield from self._next(deadline, what, correlation_id)
            if isinstance(message, kind):
                found.append(message)
                # A long list takes its time: the archive must only continue to send.
                deadline.extend()
            elif isinstance(message, ControlResponse):
                if message.code is ControlResponseCode.ERROR:
                    raise refusal(what, message)
                # RECORDING_UNKNOWN or SUBSCRIPTION_UNKNOWN ends a list that is shorter than requested.
                break
        return found

    def send(
        self, request: SbeMessage, deadline: Deadline, publication: ExclusivePublication | None = None
    ) -> Procedure[None]:
        """Return the procedure that sends a request, on the request stream unless `publication` is given."""
        publication = publication or self._publication
        data = request.encode()
        while (result := publication.offer(data)) < 0:
            if is_final(result):
                self.aeron._conductor.check_open()
                raise error_of(publication, result, self.params.message_timeout, None)
            if result == OfferResult.NOT_CONNECTED and self.control_session_id != NULL_VALUE:
                raise self._disconnected()
            deadline.check(f"{type(request).__name__} not sent")
            yield

    def send_once(self, request: SbeMessage) -> bool:
        """Send a request without waiting; return whether it was sent."""
        return self._publication.offer(request.encode()) >= 0

    def keep_alive(self) -> Procedure[None]:
        """Return the procedure that sends a keep-alive, to which there is no response."""
        self.check_open()
        return self.send(KeepAliveRequest(self.control_session_id, NULL_VALUE), self.deadline())

    def poll(self) -> int:
        """Dispatch signals, and keep errors, that have arrived; return how many signals; raise as a procedure."""
        self.check_open()
        count = 0
        for _ in range(_POLL_LIMIT):
            if not self._arrived and not self._poll():
                break
            while self._arrived:
                message = self._take()
                if isinstance(message, RecordingSignalEvent):
                    count += 1
                elif message is not None:
                    self._keep_error(message)
        if not self._subscription.is_connected:
            raise self._disconnected()
        return count

    def take_error(self) -> ArchiveRefusedError | None:
        """Return the oldest error of an earlier request, once; None if there is none, or they go to `on_error`."""
        return self._errors.popleft() if self._errors else None

    def check_open(self) -> None:
        """Raise ClosedError once the session or the client is closed, ArchiveDisconnectedError once it is lost."""
        self.aeron._conductor.check_open()
        if self.is_closed:
            raise ClosedError("the session with the archive is closed: connect again")
        if self._is_disconnected:
            raise self._disconnected()

    def close(self) -> None:
        """Close the session and its streams; closing twice does nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.control_session_id != NULL_VALUE and not self.aeron.is_closed:
            # Without a wait: the archive also notices that the response stream has ended.
            self._publication.offer(CloseSessionRequest(self.control_session_id).encode())
        try:
            self._publication.close()
        finally:
            self._subscription.close()

    def _next(self, deadline: Deadline, what: str, correlation_id: int) -> Procedure[SessionMessage]:
        """Return the next message that answers a request."""
        while True:
            if not self._arrived:
                self._poll()
            while self._arrived:
                message = self._take()
                if message is None or isinstance(message, RecordingSignalEvent):
                    continue
                if message.correlation_id == correlation_id:
                    return message
                self._keep_error(message)
            # Also after messages of no interest: an archive that never stops sending must not extend the timeout.
            self.aeron._conductor.check_open()
            if not self._subscription.is_connected:
                raise self._disconnected()
            deadline.check(f"no response to {what}")
            yield

    def _take(self) -> SessionMessage | None:
        """Remove and return the oldest message, after the handlers of a signal; None if it is of no interest."""
        message = decode_response(self._arrived.popleft())
        if message is None or self.control_session_id not in (NULL_VALUE, message.control_session_id):
            return None
        if isinstance(message, RecordingSignalEvent):
            for handler in tuple(self.signal_handlers):
                handler(message)
        return message

    def _poll(self) -> int:
        return self._subscription.poll(self._assembler, _FRAGMENT_LIMIT)

    def _keep(self, buffer: memoryview, _: Header) -> None:
        self._arrived.append(bytes(buffer))

    def _keep_error(self, message: SessionMessage) -> None:
        """Pass on the error of an earlier request, such as a replay whose subscriber did not connect."""
        if isinstance(message, ControlResponse) and message.code is ControlResponseCode.ERROR:
            error = refusal("an earlier request", message)
            if self.params.on_error is not None:
                self.params.on_error(error)
            else:
                self._errors.append(error)

    def _disconnected(self) -> ArchiveDisconnectedError:
        self._is_disconnected = True
        return ArchiveDisconnectedError(
            f"the session with the archive at {self.params.control_request_channel} has ended: the archive stopped, "
            "or the client did not read for some minutes: connect again"
        )


def _correlation_id_of(request: SbeMessage) -> int:
    correlation_id: int = getattr(request, "correlation_id")  # noqa: B009 - all but one have it
    return correlation_id
