"""Receivers that have proved that they get what the stream sends, for flow controls that require it.

A status message is easily forged, and an invented receiver holds back a stream that waits for its slowest one. A number
that only reaches the receivers of the stream distinguishes them:

    status message of an unproved receiver ──► RTTM with the reply flag and a secret number in place of its timestamp
    reply of that receiver with the number ──► proved, until it is forgotten

Receivers of the reference reply to RTTM in the same way, so that they need no change.
Not here: whether a flow control requires a proof.
Invariant: at most as many receivers are remembered as are live, and one is asked at most once per SETUP_INTERVAL_NS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core._native.pointers import LongMap
from aeron_core.driver.agents.rate_limit import RateLimit

if TYPE_CHECKING:
    from aeron_core.driver.sender.live_receivers import LiveReceivers

# Value of a receiver in place of the time of its last request.
_PROVED = -1
#: Requests in 10 ms. Our choice: a hundred receivers that join at once are asked within 130 ms, and a flood of status
#: messages makes the stream send 800 small frames a second at most.
_REQUESTS = 8
_REQUEST_INTERVAL_NS = 10_000_000


class ReceiverProofs:
    """The proofs of one publication; used by the sender only. `secret` is a random number, at least 0."""

    def __init__(self, secret: int) -> None:
        self.secret = secret
        self._states = LongMap()
        self._requests = RateLimit(_REQUESTS, _REQUEST_INTERVAL_NS)

    def is_proved(self, receiver_id: int) -> bool:
        """Return whether a receiver has replied with the secret."""
        return self._states.get(receiver_id, 0) == _PROVED

    def take_request(self, receiver_id: int, now_ns: int) -> bool:
        """Return whether to ask a live, unproved receiver now, and record that."""
        asked_ns = self._states.get(receiver_id, 0)
        if asked_ns != 0 and now_ns < asked_ns + wire.SETUP_INTERVAL_NS:
            return False
        if not self._requests.take(now_ns):
            return False
        self._states.put(receiver_id, now_ns)
        return True

    def on_reply(self, receiver_id: int, number: int) -> bool:
        """Handle a reply; return whether `number` is the secret and the receiver was asked, and is proved now."""
        # 0: not asked.
        if number != self.secret or self._states.get(receiver_id, 0) == 0:
            return False
        self._states.put(receiver_id, _PROVED)
        return True

    def forget(self, receiver_id: int) -> int:
        """Forget a receiver; return 0."""
        self._states.remove(receiver_id)
        return 0

    def forget_all_but(self, live: LiveReceivers) -> int:
        """Forget the receivers that are not live any more; return 0."""
        for slot in range(self._states.capacity):
            # Removing may move another entry into the slot, so check the slot again.
            while self._states.is_used(slot) and not live.is_tracked(self._states.key_at(slot)):
                self._states.remove(self._states.key_at(slot))
        return 0
