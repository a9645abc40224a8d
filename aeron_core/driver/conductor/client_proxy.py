"""Responses and events from the driver to its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core.protocol import responses

if TYPE_CHECKING:
    from aeron_core.concurrent.broadcast_transmitter import BroadcastTransmitter
    from aeron_core.driver.event_log import EventLog
    from aeron_core.protocol.responses import Response


#: Bytes reserved for the fields of OnError before its text: they take 16, the rest is a margin.
_ERROR_FIELDS_LENGTH: Final = 64


class ClientProxy:
    """Transmitter of responses, which every client receives. Used by the conductor only."""

    def __init__(self, transmitter: BroadcastTransmitter, events: EventLog) -> None:
        self._transmitter = transmitter
        self._events = events

    def send(self, response: Response) -> None:
        """Log a response, if its event is enabled, and broadcast it; never waits for a client."""
        self._events.on_message(response)
        # This never blocks. Clients find their responses by the correlation id, which is unique among all
        # clients. A client that reads too slowly loses messages that are overwritten, and detects that.
        self._transmitter.transmit(response.TYPE_ID, response.encode())

    def on_error(self, correlation_id: int, code: int, text: str) -> None:
        """Send an error response to a command, with an ErrorCode; a text too long for one message is truncated."""
        limit = self._transmitter.max_message_length - _ERROR_FIELDS_LENGTH
        # The cut may fall inside a character: `ignore` drops its incomplete bytes.
        message = text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
        self.send(responses.OnError(correlation_id, code, message))

    def on_success(self, correlation_id: int) -> None:
        """Confirm a command that has no response type of its own."""
        self.send(responses.OnOperationSuccess(correlation_id))
