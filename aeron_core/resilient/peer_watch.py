"""Watch of the peers of a resilient publication or subscription: follows it from one driver to the next.

Not here: comparing peers (client.conductor.peer_watch). Invariant: each peer that was passed to `on_added` is passed to
`on_removed` before it is added again, also if its driver was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from aeron_core.errors import ClosedError
from aeron_core.resilient.publications import ResilientExclusivePublication, ResilientPublication
from aeron_core.resilient.subscription import ResilientSubscription

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.channel_peers import ChannelPeer
    from aeron_core.client.conductor.peer_watch import PeerHandler, PeerWatch, RefusalHandler

WatchedResource: TypeAlias = ResilientPublication | ResilientExclusivePublication | ResilientSubscription


class ResilientPeerWatch:
    """Watch of one resource, until it, the resource or the client is closed.

    Handlers are called by the plain client, as those of `Aeron.watch_peers`; `on_removed` for peers of a lost driver is
    called on the thread of events.
    """

    def __init__(
        self,
        resource: WatchedResource,
        on_added: PeerHandler | None,
        on_removed: PeerHandler | None,
        on_refused: RefusalHandler | None,
    ) -> None:
        if not isinstance(resource, WatchedResource):
            raise TypeError(
                f"resource={resource!r}: must be a publication or subscription of this resilient client, "
                "as its add_publication and add_subscription return"
            )
        self._resource = resource
        self._on_added, self._on_removed, self._on_refused = on_added, on_removed, on_refused
        self._peers: dict[int, ChannelPeer] = {}
        self._current: PeerWatch | None = None
        self._was_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it has ended: it, its resource or the client was closed."""
        return self._was_closed or self._resource.is_closed

    def close(self) -> None:
        """Stop calling the handlers; closing twice does nothing. Any thread may call it."""
        self._was_closed = True
        if self._current is not None:
            self._current.close()

    def follow(self, aeron: Aeron) -> int:
        """Watch the plain resource in `aeron` if it is another one; return 1 if it is. For the supervisor."""
        plain = self._resource.plain
        if plain.is_closed or (self._current is not None and self._current.resource is plain):
            return 0
        try:
            self._current = aeron.watch_peers(
                plain, on_added=self._added, on_removed=self._removed, on_refused=self._on_refused
            )
        except ClosedError:
            return 0  # just lost: the next driver is followed
        if self._was_closed:
            self._current.close()
        return 1

    def lose(self, run: Callable[..., object]) -> None:
        """Remove the peers of a lost driver; `run` calls a handler with its arguments. For the supervisor."""
        if self._current is not None:
            self._current.close()
        peers, self._peers = self._peers, {}
        if self._on_removed is not None:
            for peer in peers.values():
                # A handler may have closed the watch.
                if not self.is_closed:
                    run(self._on_removed, peer)

    def _added(self, peer: ChannelPeer) -> None:
        self._peers[peer.session_id] = peer
        if self._on_added is not None:
            self._on_added(peer)

    def _removed(self, peer: ChannelPeer) -> None:
        self._peers.pop(peer.session_id, None)
        if self._on_removed is not None:
            self._on_removed(peer)
