"""Session of one client with an archive that is served: its response stream, and what is sent on it.

    INIT            waits for the driver to add the publication of the response stream
    CONNECTING      waits for the client's subscription, then sends the challenge if there is one
    CHALLENGED      waits for the answer to the challenge
    AUTHENTICATED   repeats the response to the request to connect until another request arrives
    REJECTED        repeats the refusal until the client is disconnected
    ACTIVE          sends responses in their order, and a ping every second
    DONE            closes the publication

A session ends when its client is disconnected, or when nothing could be sent for the connect timeout, and in the states
INIT, CONNECTING, CHALLENGED and REJECTED after that. Not here: which requests exist (requests), and which clients are
admitted (authentication).

Source: ControlSession.java.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from aeron_core.archive.server.authentication import Admitted, Challenged, Decision, Rejected
from aeron_core.archive.server.channels import is_name, is_response, sends_back
from aeron_core.errors import AeronError, ArchiveErrorCode, ErrorCode, RegistrationError
from aeron_core.logbuffer.results import OfferResult
from aeron_core.protocol.archive.codes import (
    NULL_VALUE,
    PROTOCOL_VERSION,
    ControlResponseCode,
    RecordingSignal,
)
from aeron_core.protocol.archive.responses import (
    ArchivePing,
    Challenge,
    ControlResponse,
    RecordingSignalEvent,
)

if TYPE_CHECKING:
    from aeron_core.archive.server.params import ArchiveServerParams
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.header import FragmentImage
    from aeron_core.protocol.archive.sbe import SbeMessage
    from aeron_core.uri.channel_uri import ChannelUri

#: Interval of repeated responses. Source: ControlSession.RESEND_INTERVAL_MS.
_RESEND_INTERVAL_MS: Final = 200
#: Messages that wait until the client reads; a client that does not read loses its session. An invented number.
_MAX_PENDING: Final = 4096
#: Time for which a client is sent to whose credentials were not accepted, and in which it must connect. An invented
#: number: the address may be that of another host, which did not ask for it.
_STRANGER_TIMEOUT_MS: Final = 1000
#: The same, if that is not the address of its requests: some SETUP frames, and a client within that distance answers.
_ELSEWHERE_TIMEOUT_MS: Final = 300
#: Linger of a response channel of a stranger, which binds a port for it.
_STRANGER_LINGER: Final = "1s"
#: Longest text of an error. An invented number: it fits into the shortest message.
_MAX_TEXT_LENGTH: Final = 1024
#: Messages of a list that one duty cycle sends, and entries that it looks at for them. Invented numbers.
_LIST_LIMIT: Final = 64
_SCAN_LIMIT: Final = 1024


class SessionState(Enum):
    """States; the docstring of the module describes them."""

    INIT = auto()
    CONNECTING = auto()
    CHALLENGED = auto()
    AUTHENTICATED = auto()
    REJECTED = auto()
    ACTIVE = auto()
    DONE = auto()


class ServedSession:
    """One client; the archive's thread uses it. Times are milliseconds since the epoch."""

    def __init__(
        self,
        session_id: int,
        correlation_id: int,
        image: FragmentImage,
        response: tuple[ChannelUri, int],
        decision: Decision,
    ) -> None:
        """`image`: of its requests; `response`: channel and stream id."""
        self.session_id = session_id
        self.image = image
        self.state = SessionState.INIT
        self.end_reason = ""
        #: The messages of a list; None for an entry that is not in it.
        self.listing: Iterator[SbeMessage | None] | None = None
        self._correlation_id = correlation_id
        self._response = str(response[0]), response[1]
        self._channel = response[0]
        self._decision = decision
        self._registration: Registration[ExclusivePublication] | None = None
        self._publication: ExclusivePublication | None = None
        self._pending: deque[bytes] = deque()
        self._deadline_ms: int | None = None
        self._resend_ms = 0
        self._ping_ms = 0

    @property
    def max_message_length(self) -> int:
        """Length of the longest message that the response stream carries, in bytes."""
        return 0 if self._publication is None else self._publication.max_message_length

    def activate(self) -> bool:
        """Take note of a request; return whether the session may have one."""
        if self.state is SessionState.AUTHENTICATED:
            self.state, self._deadline_ms = SessionState.ACTIVE, None
        return self.state is SessionState.ACTIVE

    @property
    def is_stranger(self) -> bool:
        """Whether the credentials of the client were not accepted, or not yet."""
        return not isinstance(self._decision, Admitted)

    @property
    def is_rejected(self) -> bool:
        """Whether the client was refused: the session lasts until it has its error."""
        return isinstance(self._decision, Rejected)

    @property
    def is_resolving(self) -> bool:
        """Whether the driver may be resolving a name of the response channel."""
        return self.state is SessionState.INIT and is_name(self._channel)

    @property
    def has_response_channel(self) -> bool:
        """Whether the archive binds a port for the responses."""
        return is_response(self._channel)

    @property
    def user(self) -> str:
        """The name of the user that was admitted, empty without names."""
        return self._decision.name if isinstance(self._decision, Admitted) else ""

    def answer(self, correlation_id: int, decide: Callable[[Challenged], Decision]) -> None:
        """Take the answer to the challenge, on which `decide` decides; does nothing in another state."""
        if self.state is SessionState.CHALLENGED:
            assert isinstance(self._decision, Challenged)
            self._correlation_id = correlation_id
            self._decision = decide(self._decision)
            self.state = SessionState.CONNECTING

    def respond(
        self,
        correlation_id: int,
        relevant_id: int = 0,
        code: ControlResponseCode = ControlResponseCode.OK,
        text: str = "",
    ) -> None:
        """Send the outcome of a request."""
        self.send(self._control_response(correlation_id, relevant_id, code, text))

    def refuse(
        self, correlation_id: int, text: str, code: ArchiveErrorCode = ArchiveErrorCode.GENERIC
    ) -> None:
        """Send the error of a request."""
        self.respond(correlation_id, code, ControlResponseCode.ERROR, text)

    def signal(
        self,
        signal: RecordingSignal,
        correlation_id: int,
        recording_id: int,
        subscription_id: int = NULL_VALUE,
        position: int = NULL_VALUE,
    ) -> None:
        """Send the signal of a recording."""
        self.send(
            RecordingSignalEvent(
                self.session_id, correlation_id, recording_id, subscription_id, position, signal
            )
        )

    def send(self, message: SbeMessage) -> None:
        """Send a message, after those that are pending; does nothing once the session is done."""
        if self.state is SessionState.DONE:
            return
        data = message.encode()
        if self._pending or not self._offer(data):
            self._pending.append(data)
            if len(self._pending) > _MAX_PENDING:
                self.end("the client does not read its responses")

    def end(self, reason: str) -> None:
        """End the session in the next duty cycle."""
        if self.state is not SessionState.DONE:
            self.end_reason = reason
            self.state = SessionState.DONE

    def do_work(self, aeron: Aeron, params: ArchiveServerParams, now_ms: int) -> int:
        """Advance the session; return the work count. Raises the errors of adding a publication."""
        if self._deadline_ms is not None and now_ms > self._deadline_ms:
            self.end("the client did not connect, or did not read its responses")
        if self.state is SessionState.INIT:
            return self._open(aeron, params, now_ms)
        if self.state is SessionState.CONNECTING:
            return self._connect(params, now_ms)
        if self.state in (SessionState.AUTHENTICATED, SessionState.REJECTED):
            return self._repeat(now_ms)
        if self.state is SessionState.ACTIVE:
            return self._serve(params, now_ms)
        return 0

    def close(self) -> None:
        """Close the response stream; the client is disconnected at once."""
        self.state = SessionState.DONE
        self.listing = None
        if self._publication is not None:
            self._publication.revoke()
        elif self._registration is not None:
            self._registration.cancel()

    def _open(self, aeron: Aeron, params: ArchiveServerParams, now_ms: int) -> int:
        timeout_ms = params.connect_timeout_ms
        if self.is_stranger:
            timeout_ms = min(timeout_ms, _STRANGER_TIMEOUT_MS)
        if self._deadline_ms is None:
            self._deadline_ms = now_ms + timeout_ms
        if self._registration is None:
            channel, stream_id = self._response
            if self.is_stranger and self.has_response_channel:
                channel = str(self._channel.with_params({"linger": _STRANGER_LINGER}))
            self._registration = aeron.add_exclusive_publication_async(channel, stream_id)
        try:
            self._publication = self._registration.poll()
        except RegistrationError as error:
            self._registration = None
            if error.code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            return 0
        if self._publication is None:
            return 0
        if self.is_stranger and not sends_back(self._channel, self.image.source_identity):
            timeout_ms = min(timeout_ms, _ELSEWHERE_TIMEOUT_MS)
        self._deadline_ms = now_ms + timeout_ms
        self.state = SessionState.CONNECTING
        return 1

    def _connect(self, params: ArchiveServerParams, now_ms: int) -> int:
        assert self._publication is not None
        if not self._publication.is_connected:
            return 0
        if isinstance(self._decision, Challenged):
            challenge = Challenge(
                self.session_id, self._correlation_id, PROTOCOL_VERSION, self._decision.challenge
            )
            if not self._offer(challenge.encode()):
                return 0
            self._move_to(SessionState.CHALLENGED)
        else:
            is_admitted = isinstance(self._decision, Admitted)
            self._move_to(SessionState.AUTHENTICATED if is_admitted else SessionState.REJECTED)
        timeout_ms = params.connect_timeout_ms
        if self.state is SessionState.REJECTED:
            timeout_ms = min(timeout_ms, _STRANGER_TIMEOUT_MS)
        self._deadline_ms = now_ms + timeout_ms
        return 1

    def _move_to(self, state: SessionState) -> None:
        if self.state is not SessionState.DONE:
            self.state = state

    def _control_response(
        self, correlation_id: int, relevant_id: int, code: ControlResponseCode, text: str
    ) -> ControlResponse:
        text = text.encode("ascii", "backslashreplace").decode()[:_MAX_TEXT_LENGTH]
        return ControlResponse(self.session_id, correlation_id, relevant_id, code, PROTOCOL_VERSION, text)

    def _repeat(self, now_ms: int) -> int:
        assert self._publication is not None
        if now_ms <= self._resend_ms:
            return 0
        self._resend_ms = now_ms + _RESEND_INTERVAL_MS
        code, relevant_id, text = ControlResponseCode.OK, self.session_id, ""
        if isinstance(self._decision, Rejected):
            code, relevant_id, text = ControlResponseCode.ERROR, self._decision.code, self._decision.text
        response = self._control_response(self._correlation_id, relevant_id, code, text)
        if not self._offer(response.encode()) and not self._publication.is_connected:
            self.end("the client is disconnected")
        return 1

    def _serve(self, params: ArchiveServerParams, now_ms: int) -> int:
        assert self._publication is not None
        if not self._publication.is_connected:
            self.end("the client is disconnected")
            return 1
        work = self._flush() + self._list()
        if now_ms >= self._ping_ms and not self._pending:
            self._ping_ms = now_ms + params.liveness_interval_ms
            if not self._offer(ArchivePing(self.session_id).encode()):
                self._start_deadline(params, now_ms)
                return work
        if self._pending:
            self._start_deadline(params, now_ms)
        return work

    def _start_deadline(self, params: ArchiveServerParams, now_ms: int) -> None:
        if self._deadline_ms is None:
            self._deadline_ms = now_ms + params.connect_timeout_ms

    def _flush(self) -> int:
        work = 0
        while self._pending and self._offer(self._pending[0]):
            self._pending.popleft()
            work += 1
        return work

    def _list(self) -> int:
        scanned = sent = 0
        while self.listing is not None and not self._pending and sent < _LIST_LIMIT and scanned < _SCAN_LIMIT:
            scanned += 1
            try:
                message = next(self.listing)
            except StopIteration:
                self.listing = None
                break
            if message is not None:
                self.send(message)
                sent += 1
        return scanned

    def _offer(self, data: bytes) -> bool:
        """Return whether the response stream has accepted a message, or never will."""
        assert self._publication is not None
        try:
            result = self._publication.offer(data)
        except ValueError as error:
            self.end(f"a response is too long for the response stream: {error}")
            return True
        if result >= 0 and self.state in (SessionState.ACTIVE, SessionState.AUTHENTICATED):
            self._deadline_ms = None
        if result == OfferResult.CLOSED:
            self.end("the response stream is closed")
        return result >= 0


def text_of(error: Exception) -> str:
    """Return the text of an error for a client."""
    return str(error) if isinstance(error, AeronError) else f"{type(error).__name__}: {error}"
