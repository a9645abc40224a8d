"""Opens the streams of a session with an archive, and then the session."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from aeron_core.archive.control_session import ControlSession
from aeron_core.archive.procedures import Deadline, Procedure, registered, retried
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.archive.params import ControlParams
    from aeron_core.client.aeron import Aeron

S = TypeVar("S", bound=ControlSession)


def connecting(aeron: Aeron, params: ControlParams, kind: type[S]) -> Procedure[S]:
    """Return the procedure that opens a session, a `kind`, and returns it; raises as `ControlSession.connect`."""
    deadline = Deadline(aeron, params.message_timeout)
    defaults = {"term-length": params.control_term_length, "sparse": True}
    request = _with_defaults(params.control_request_channel, defaults)
    response = _with_defaults(params.control_response_channel, defaults)
    is_response_channel = response.get("control-mode") == "response"
    if not is_response_channel:
        # One session id for both streams: other clients of the archive, with the same channels, have others.
        answer = aeron._operations.next_session_id(params.control_request_stream_id)
        session_id = answer if isinstance(answer, int) else (yield from registered(answer))
        request = request.with_params({"session-id": session_id})
        response = response.with_params({"session-id": session_id})
    with ExitStack() as opened:
        subscription = yield from retried(
            lambda: aeron.add_subscription_async(str(response), params.control_response_stream_id), deadline
        )
        opened.callback(subscription.close)
        if is_response_channel:
            request = request.with_params({"response-correlation-id": subscription.registration_id})
        publication = yield from retried(
            lambda: aeron.add_exclusive_publication_async(str(request), params.control_request_stream_id),
            deadline,
        )
        opened.callback(publication.close)
        session = kind(aeron, params, publication, subscription, str(request))
        opened.callback(session.close)
        yield from session.connect(deadline)
        opened.pop_all()
        return session


def _with_defaults(channel: str, defaults: dict[str, int | bool]) -> ChannelUri:
    uri = ChannelUri.parse(channel)
    return uri.with_params({key: value for key, value in defaults.items() if key not in uri})
