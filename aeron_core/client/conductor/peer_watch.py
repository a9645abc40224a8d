"""Tells a program of peers that come to a channel, that go, and that are refused.

Looks at the driver's counters now and then, on the thread of the client's conductor: a peer that has come and gone
between two looks is not told of. Not here: who the peers are (channel_peers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import peers
from aeron_core.client.channel_peers import ChannelPeer

if TYPE_CHECKING:
    from aeron_core._native.counter import Counter
    from aeron_core.client.conductor.callbacks import Callbacks
    from aeron_core.client.publications.publication_base import PublicationBase
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader

# An invented number: soon for a person and for a program that answers newcomers, and no work worth noticing.
_INTERVAL_NS: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class PeerRefusal:
    """Peers that a channel has turned away, or that have turned it away."""

    reason: str
    """Which of the medium's counters counts them, such as `sp-refused`; the error log says more."""
    count: int
    """How many since the last look."""


PeerHandler = Callable[[ChannelPeer], object]
RefusalHandler = Callable[[PeerRefusal], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerHandlers:
    """What a program wants to hear of a channel's peers."""

    on_added: PeerHandler | None = None
    on_removed: PeerHandler | None = None
    on_refused: RefusalHandler | None = None


class PeerWatch:
    """Of one publication or subscription, until it is closed."""

    def __init__(
        self, resource: PublicationBase | Subscription, handlers: PeerHandlers, counters: CountersReader
    ) -> None:
        self.resource = resource
        self.is_closed = False
        self._handlers = handlers
        self._counters = _refusals_of(resource, counters)
        self._peers: dict[int, ChannelPeer] = {}
        self._refused: dict[str, int] = {}
        self._refused = self._count_refused()

    def close(self) -> None:
        """Hear no more; closing twice does nothing."""
        self.is_closed = True

    def look(self, callbacks: Callbacks) -> int:
        """Tell what has changed since the last look; return how much. For the client's conductor."""
        before, self._peers = self._peers, {peer.session_id: peer for peer in self.resource.peers}
        gone = [peer for session, peer in before.items() if session not in self._peers]
        come = [peer for session, peer in self._peers.items() if session not in before]
        refused = self._newly_refused()
        for peer in gone:
            self._tell(callbacks, self._handlers.on_removed, peer)
        for peer in come:
            self._tell(callbacks, self._handlers.on_added, peer)
        for refusal in refused:
            self._tell(callbacks, self._handlers.on_refused, refusal)
        return len(gone) + len(come) + len(refused)

    def _tell(self, callbacks: Callbacks, handler: Callable[..., object] | None, what: object) -> None:
        # A handler may have closed the watch.
        if handler is not None and not self.is_closed:
            callbacks.peer_event(handler, what)

    def _newly_refused(self) -> list[PeerRefusal]:
        before, self._refused = self._refused, self._count_refused()
        return [
            PeerRefusal(reason, count - before.get(reason, 0))
            for reason, count in self._refused.items()
            if count > before.get(reason, 0)
        ]

    def _count_refused(self) -> dict[str, int]:
        if self.resource.is_closed:
            # Its counters may belong to somebody else by now.
            return self._refused
        return {reason: counter.get_acquire() for reason, counter in self._counters.items()}


def _refusals_of(resource: PublicationBase | Subscription, reader: CountersReader) -> dict[str, Counter]:
    """Return the counters of refusals of a channel's endpoint, by what they count."""
    if resource.is_closed or resource.channel_status_id < 0:
        return {}
    endpoint_id = reader.registration_id(resource.channel_status_id)
    return {
        record.label.partition(":")[0]: reader.counter(record.id)
        for record in reader
        if record.type_id == peers.COUNTER_TYPE_REFUSALS and record.registration_id == endpoint_id
    }


class PeerWatches:
    """All of a client; used under the lock of its conductor."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._watches: list[PeerWatch] = []
        self._next_ns = 0

    def add(self, watch: PeerWatch) -> None:
        """Look after one more."""
        self._watches.append(watch)

    def check(self, now_ns: int) -> int:
        """Tell what has changed, every so often; return how much."""
        if not self._watches or now_ns < self._next_ns:
            return 0
        self._next_ns = now_ns + _INTERVAL_NS
        work = 0
        for watch in tuple(self._watches):
            # Asked for first: the last look is one after the end.
            is_last = watch.resource.is_closed
            work += watch.look(self._callbacks)
            if is_last:
                watch.close()
        self._watches = [watch for watch in self._watches if not watch.is_closed]
        return work
