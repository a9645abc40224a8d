"""Send side of a stream over a connection: the medium reads from the log, and the peer confirms what it received.

    log: sender position ─────────── sent ─────────── publisher position
         confirmed by the peer       known to the medium only

There are no datagrams, hence no SETUP, heartbeats, retransmissions or flow control strategies.

Not here: what is sent and when (`SendChannelEndpoint.advance`).
Invariant: the sender position is the confirmed position. So publishers wait for the peer, and everything that is not
confirmed is still in the log and can be sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.sender.sending_publication import SendingPublication

if TYPE_CHECKING:
    from aeron_core.driver.sender.publication_params import AcknowledgedPublicationParams

#: Upper limit of the result of `send_pending`, an `int32_t`: one call may confirm more bytes than that type can hold.
_MAX_REPORTED = 1 << 30


class AcknowledgedPublication(SendingPublication):
    """One stream that is sent over a connection; methods run on the sender, the constructor on the conductor."""

    def __init__(self, params: AcknowledgedPublicationParams) -> None:
        super().__init__(params)
        self.medium_state = params.medium_state
        self._window_length = params.log.term_length >> 1

    def send_pending(self, now_ns: int) -> int:
        """Let the medium send what it can; return the newly confirmed bytes, at most 2**30."""
        # Plain read: only this thread writes the sender position.
        position = self.sender_position.get()
        confirmed = self.endpoint.advance(self, position, now_ns)
        # The connected peer is the receiver: there are no status messages that could show it alive.
        self.has_receivers.set_release(self.endpoint.has_peer(self))
        if confirmed <= position:
            return 0
        # Data before this position is never sent again: `update_limit` lets publishers reuse its part of the log.
        self.sender_position.set_release(confirmed)
        # For monitoring only: the medium decides how much it sends.
        self.sender_limit.set_release(confirmed + self._window_length)
        return min(confirmed - position, _MAX_REPORTED)

    def _has_subscribers(self, now_ns: int) -> bool:
        return self.has_receivers.get_acquire() != 0
