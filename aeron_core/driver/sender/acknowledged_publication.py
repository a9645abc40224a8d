"""The sending side of a stream whose medium draws from the log, and whose peer says what it has.

    log: sender position ─────────── sent ─────────── publisher position
         confirmed by the peer       known to the medium alone

The sender position is what the peer has confirmed, so that publishers are held back by it, and so that everything which
was not confirmed is still in the log to be sent again. There are no datagrams, hence no SETUP, heartbeats,
retransmissions and strategies of flow control.

Not here: what is sent and when (`SendChannelEndpoint.advance`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.sender.network_publication import NetworkPublication

if TYPE_CHECKING:
    from aeron_core.driver.sender.publication_params import NetworkPublicationParams


class AcknowledgedPublication(NetworkPublication):
    """One stream that is drawn from; see the module."""

    def __init__(self, params: NetworkPublicationParams) -> None:
        super().__init__(params)
        self._window_length = params.log.term_length >> 1

    def send_pending(self, now_ns: int) -> int:
        """Let the medium send what it can; return the bytes that were confirmed, a billion at most."""
        position = self.sender_position.get()
        confirmed = self.endpoint.advance(self, position, now_ns)
        self.has_receivers.set_release(self.endpoint.has_peer(self))
        if confirmed <= position:
            return 0
        self.sender_position.set_release(confirmed)
        self.sender_limit.set_release(confirmed + self._window_length)
        return min(confirmed - position, 1 << 30)

    def _has_subscribers(self, now_ns: int) -> bool:
        return self.has_receivers.get_acquire() != 0
