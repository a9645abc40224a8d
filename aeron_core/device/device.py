"""Device that joins two PAIR channels: forwards messages between their peers, with their hop counts.

    peer ◄──► [first channel] ◄── Device ──► [second channel] ◄──► peer

With PAIR version 1, each message is sent with one hop more than it was received with, and a receiver discards a
message with more hops than its limit (`ttl=`), so no message stays in a loop. Back pressure stops reading in its
direction only. With one channel, messages are returned to the peers that sent them.

Not here: a thread. The caller runs `do_work`. Invariant: messages of one peer are sent in the order received.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeron_core._native import peers, wire
from aeron_core.device.forwarder import Forwarder
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import parse_bool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription

_UNREACHABLE = (wire.RESULT_NOT_CONNECTED, peers.RESULT_NO_PEER)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Totals of one direction: messages forwarded, the bytes of their payloads, and messages not forwarded."""

    messages: int = 0  # messages forwarded
    bytes: int = 0  # bytes of their payloads
    too_long: int = 0
    """Messages that were dropped because they exceed the other side's maximum message length (term-length=)."""
    left: int = 0
    """Messages that were read and not forwarded yet."""


class DeviceSide:
    """One channel of a device: a subscription and an exclusive publication."""

    def __init__(self, subscription: Subscription, publication: ExclusivePublication) -> None:
        self.channel = publication.channel
        self.is_polyamorous = parse_bool(ChannelUri.parse(self.channel).get("poly", "false") or "false")
        self.subscription = subscription
        self.publication = publication
        self.peers = publication.channel_peers()

    @classmethod
    def open(cls, aeron: Aeron, channel: str, stream_id: int) -> DeviceSide:
        """Add the subscription and the publication and wait for the driver; raises as `Aeron.add_subscription`."""
        subscription = aeron.add_subscription(channel, stream_id)
        try:
            return cls(subscription, aeron.add_exclusive_publication(channel, stream_id))
        except BaseException:
            subscription.close()
            raise

    def sessions(self) -> list[int]:
        """Return the session ids of the peers that are connected now."""
        return [peer.session_id for peer in self.peers.connected()]

    def close(self) -> None:
        """Close the subscription and the publication."""
        self.subscription.close()
        self.publication.close()


class Ties:
    """Assigns peers of one side to peers of the other, by session; the sides are 0 and 1.

    The first message of an unassigned peer assigns it to the peer of the other side with the fewest assignments, among
    equals to the first of the list. The reverse assignment is made too, unless that peer has one already. An
    assignment ends when one of the two peers disconnects.
    """

    def __init__(self) -> None:
        self._of_side: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def choose(self, side: int, session: int, here: Collection[int], there: Sequence[int]) -> int | None:
        """Return the session id of the peer that receives the messages of `session`; None if `there` is empty.

        `session` is that of a peer on `side`, 0 or 1. `here`: session ids of the connected peers on that side;
        `there`: of those on the other side.
        """
        ties, back = self._of_side[side], self._of_side[1 - side]
        tied = ties.get(session)
        if tied is not None and tied in there:
            return tied
        for removed in [each for each in ties if each not in here]:
            del ties[removed]
        if not there:
            return None
        users = list(ties.values())
        chosen = min(there, key=users.count)
        ties[session] = chosen
        if back.get(chosen) not in here:
            back[chosen] = session
        return chosen


class _Direction:
    """Forwards from one side to the other."""

    def __init__(self, index: int, source: DeviceSide, target: DeviceSide, ties: Ties) -> None:
        self._index = index
        self._source = source
        self._target = target
        self._ties = ties
        self._is_tied = source.is_polyamorous or target.is_polyamorous
        self._forwarders: dict[int, Forwarder] = {}
        self._chosen: dict[int, int] = {}  # session of the chosen peer, by the image's correlation id
        self._past = Traffic()  # totals of the images that have closed

    @property
    def traffic(self) -> Traffic:
        """Totals of this direction so far, images that have closed included."""
        every = list(self._forwarders.values())
        return Traffic(
            self._past.messages + sum(each.messages for each in every),
            self._past.bytes + sum(each.bytes for each in every),
            self._past.too_long + sum(each.too_long for each in every),
            sum(each.left() for each in every),
        )

    def do_work(self, *, reads: bool = True) -> int:
        """Forward messages and return how many; without `reads`, only those that were read before.

        Raises ProtocolError for an invalid frame in the log of an image.
        """
        before = self.traffic.messages
        for forwarder in list(self._each()):
            if (reads and forwarder.has_messages()) or forwarder.left():
                self._forward(forwarder)
        return self.traffic.messages - before

    def _each(self) -> Iterator[Forwarder]:
        images = self._source.subscription.images
        for image in images:
            if image.correlation_id not in self._forwarders:
                self._forwarders[image.correlation_id] = self._new_forwarder(image)
        if len(self._forwarders) > len(images):
            self._forget({image.correlation_id for image in images})
        return iter(self._forwarders.values())

    def _new_forwarder(self, image: Image) -> Forwarder:
        return Forwarder(image, self._target.publication, self._target.peers)

    def _forget(self, living: set[int]) -> None:
        for key, forwarder in list(self._forwarders.items()):
            if key not in living and forwarder.left() == 0:
                self._past = Traffic(
                    self._past.messages + forwarder.messages,
                    self._past.bytes + forwarder.bytes,
                    self._past.too_long + forwarder.too_long,
                )
                del self._forwarders[key]
                self._chosen.pop(key, None)

    def _forward(self, forwarder: Forwarder) -> None:
        if not self._is_tied:
            forwarder.forward(False, 0)
            return
        key = forwarder.image.correlation_id
        session = self._chosen.get(key)
        # A side without poly=true has one peer at a time, which may change between two calls: choose it each time.
        if session is None or not self._target.is_polyamorous:
            session = self._choose(forwarder.image.session_id)
            if session is None:
                return
            self._chosen[key] = session
        if forwarder.forward(self._target.is_polyamorous, session) in _UNREACHABLE:
            del self._chosen[key]

    def _choose(self, session: int) -> int | None:
        there = self._target.sessions()
        if self._source is self._target:
            return session if session in there else None
        return self._ties.choose(self._index, session, self._source.sessions(), there)


class Device:
    """A device between two channels, or of one channel with itself; one thread uses it."""

    def __init__(self, first: DeviceSide, second: DeviceSide | None = None) -> None:
        self._sides = [first] if second is None else [first, second]
        ties = Ties()
        self._directions = [
            _Direction(index, side, self._sides[index - 1], ties) for index, side in enumerate(self._sides)
        ]

    @classmethod
    def join(cls, aeron: Aeron, first: str, second: str, stream_id: int = 1001) -> Device:
        """Return a device of two channels, or of one if both are equal.

        PAIR channels do not send the `stream_id` to peers: any int32 works. Waits for the driver; raises the same
        errors as `Aeron.add_subscription`.
        """
        side = DeviceSide.open(aeron, first, stream_id)
        try:
            return cls(side, None if second == first else DeviceSide.open(aeron, second, stream_id))
        except BaseException:
            side.close()
            raise

    @property
    def channels(self) -> tuple[str, ...]:
        """The URIs of the channels: two, or one of a device that joins a channel with itself."""
        return tuple(side.channel for side in self._sides)

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """The totals of the messages received from each channel, in the order of `channels`."""
        return tuple(direction.traffic for direction in self._directions)

    @property
    def is_closed(self) -> bool:
        """Whether a channel is closed: by `close`, with the client, or because the driver shut down."""
        return any(side.subscription.is_closed for side in self._sides)

    def do_work(self) -> int:
        """Forward received messages and return how many; raises ProtocolError for an invalid frame in a log."""
        return sum(direction.do_work() for direction in self._directions)

    def settle(self) -> bool:
        """Forward messages that were read already; return whether all were sent or queued for their peers."""
        for direction in self._directions:
            direction.do_work(reads=False)
        return all(each.left == 0 for each in self.traffic) and all(
            side.peers.unsent_length(side.publication.position) <= 0 for side in self._sides
        )

    def close(self) -> None:
        """Close the channels.

        Messages that were read and not forwarded are lost: call `settle` before, until it returns true.
        """
        for side in self._sides:
            side.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
