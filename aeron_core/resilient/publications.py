"""Publications of a resilient client: `Publication` and `ExclusivePublication` that outlive their driver.

Not here: re-adding them (restoration). While there is no driver, an offer returns NOT_CONNECTED, as without a
subscriber, and `send` waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from aeron_core._native import wire
from aeron_core.client.channel_status import ChannelStatus
from aeron_core.client.publications.claim import Claim
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.publications.publication import Publication
from aeron_core.client.publications.publication_base import PublicationBase
from aeron_core.client.publications.sending import error_of
from aeron_core.errors import ClosedError, NotConnectedError
from aeron_core.logbuffer.results import OfferResult
from aeron_core.resilient.destinations import KeptDestinations
from aeron_core.resilient.resource import ResilientResource, deadline_of, remaining_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aeron_core.bytes_like import BytesLike
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.channel_peers import ChannelPeer
    from aeron_core.client.registrations import Registration
    from aeron_core.resilient.owner import ResilientOwner

P = TypeVar("P", bound=PublicationBase)


class ResilientPublicationBase(ResilientResource[P]):
    """What both kinds of resilient publications have in common; threads may use it as the plain one."""

    channel: str  # the channel URI, as added
    stream_id: int  # the stream within the channel

    def __init__(self, owner: ResilientOwner, current: P) -> None:
        super().__init__(owner, current)
        self.channel = current.channel
        self.stream_id = current.stream_id
        self._destinations = KeptDestinations()

    @property
    def session_id(self) -> int:
        """The session id; another one after each restart, unless the channel has `session-id=`."""
        return self._current.session_id

    @property
    def original_registration_id(self) -> int:
        """The id of the publication that created the stream; another one after each restart."""
        return self._current.original_registration_id

    @property
    def is_original(self) -> bool:
        """Whether this publication created the stream; a publication that was added later may share it."""
        return self._current.is_original

    @property
    def channel_status_id(self) -> int:
        """The id of the channel's status counter, -1 for IPC; another one after each restart."""
        return self._current.channel_status_id

    @property
    def position_limit_id(self) -> int:
        """The id of the counter of the publisher limit; another one after each restart."""
        return self._current.position_limit_id

    @property
    def destinations(self) -> KeptDestinations:
        """The destinations to re-add. For the supervisor."""
        return self._destinations

    @property
    def position(self) -> int:
        """The stream position in bytes after everything that was appended or claimed; CLOSED once closed.

        While the driver is gone, the last one; after a restart the stream is another one, and begins again.
        """
        return OfferResult.CLOSED if self.is_closed else self._current.last_position

    @property
    def position_limit(self) -> int:
        """The publisher limit in bytes; `position` while the driver is gone, CLOSED once closed."""
        if self.is_closed:
            return OfferResult.CLOSED
        limit = self._current.position_limit
        return self._current.last_position if limit == wire.RESULT_CLOSED else limit

    @property
    def available_window(self) -> int:
        """Bytes from the position to the publisher limit; 0 while the driver is gone, CLOSED once closed."""
        if self.is_closed:
            return OfferResult.CLOSED
        return max(self._current.available_window, 0)

    @property
    def is_connected(self) -> bool:
        """Whether the driver reports its stream as connected; False while the driver is gone."""
        return self._current.is_connected

    @property
    def max_payload_length(self) -> int:
        """Maximum length in bytes of a message in one frame, and of a claim."""
        return self._current.max_payload_length

    @property
    def max_message_length(self) -> int:
        """Maximum length of a message in bytes."""
        return self._current.max_message_length

    @property
    def max_possible_position(self) -> int:
        """The position, in bytes, at which the stream ends at the latest."""
        return self._current.max_possible_position

    @property
    def term_buffer_length(self) -> int:
        """Length of a term in bytes."""
        return self._current.term_buffer_length

    @property
    def initial_term_id(self) -> int:
        """The term id at which the stream began; after a restart that of the new stream."""
        return self._current.initial_term_id

    @property
    def position_bits_to_shift(self) -> int:
        """The shift that turns a term count into a position: log2 of the term length."""
        return self._current.position_bits_to_shift

    @property
    def peers(self) -> list[ChannelPeer]:
        """The peers that are connected; empty while the driver is gone."""
        return self._current.peers

    @property
    def channel_status(self) -> ChannelStatus:
        """State of the channel's endpoint in the driver; INITIALIZING while the driver is gone."""
        return self._current.channel_status if self.is_attached else ChannelStatus.INITIALIZING

    def local_addresses(self) -> list[str]:
        """Return `address:port` of the sockets that the driver sends from; empty while the driver is gone."""
        return self._current.local_addresses() if self.is_attached else []

    def offer(
        self,
        data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
        *,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append one message as `Publication.offer`; NOT_CONNECTED while the driver is gone, CLOSED once closed."""
        # Two calls, because keyword arguments cost more than the comparison.
        if peer is None and reserved_value == 0:
            result = self._current.offer(data)
        else:
            result = self._current.offer(data, reserved_value=reserved_value, peer=peer)
        return result if result >= 0 else self._refused(result)

    def send(
        self,
        data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
        *,
        timeout: float | None = None,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append one message and wait until it is accepted, as `Publication.send`, also while the driver is gone.

        Raises NotConnectedError if the driver is not back and the publication connected within `timeout` seconds,
        None for no limit; ClosedError once closed. Raises ClientError if it has to wait in a handler.
        """
        result = self.offer(data, reserved_value=reserved_value, peer=peer)
        if result >= 0:
            return result
        deadline_s = deadline_of(timeout)
        while True:
            current = self._await_attached(deadline_s, timeout)
            try:
                return current.send(
                    data, timeout=remaining_s(deadline_s), reserved_value=reserved_value, peer=peer
                )
            except ClosedError:
                # The driver is gone again: wait for the next one.
                self._check_open()
                if not current.is_closed:
                    raise
            except NotConnectedError as error:
                if deadline_s is None:
                    raise
                # In the text of the plain publication the timeout is what was left of it.
                result = OfferResult.NOT_CONNECTED if peer is None else OfferResult.NO_PEER
                raise error_of(current, result, timeout, peer) from error

    def offer_batch(  # noqa: PLR0913 - the parameters of the plain publication
        self,
        data: BytesLike,
        offsets: BytesLike,
        *,
        first: int = 0,
        count: int | None = None,
        reserved_value: int = 0,
        reserved_step: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append many messages as `Publication.offer_batch`; NOT_CONNECTED while the driver is gone."""
        result = self._current.offer_batch(
            data,
            offsets,
            first=first,
            count=count,
            reserved_value=reserved_value,
            reserved_step=reserved_step,
            peer=peer,
        )
        return result if result >= 0 else self._refused(result)

    def offer_many(
        self,
        messages: Sequence[BytesLike | list[BytesLike] | tuple[BytesLike, ...]],
        *,
        first: int = 0,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append many messages as `Publication.offer_many`; NOT_CONNECTED while the driver is gone."""
        result = self._current.offer_many(messages, first=first, reserved_value=reserved_value, peer=peer)
        return result if result >= 0 else self._refused(result)

    def try_claim(self, length: int, *, peer: int | None = None) -> Claim:
        """Claim space as `Publication.try_claim`; the claim fails with NOT_CONNECTED while the driver is gone.

        A claim that is committed after the driver has died is lost, like a message that was offered then.
        """
        current = self._current
        claim = current.try_claim(length, peer=peer)
        if claim or claim.position != wire.RESULT_CLOSED or self.is_closed:
            return claim
        return Claim(current, wire.RESULT_NOT_CONNECTED, None)

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait until it is connected, also while the driver is gone.

        Raises NotConnectedError after `timeout` seconds, None for no limit; ClosedError once closed; ClientError if it
        has to wait in a handler.
        """
        self._owner.await_until(lambda: self.is_connected or self.is_closed, timeout)
        self._check_open()
        if not self.is_connected:
            reason = "" if self.is_attached else f" ({self._owner.why()})"
            raise NotConnectedError(
                f"{self!r}: not connected within {timeout} s{reason}: start its peer for the same channel and stream, "
                "or as many receivers as its flow control requires, or use a longer timeout"
            )

    def add_destination(self, channel: str) -> int:
        """Add a destination (`control-mode=manual`) that is re-added with the publication; return its id.

        The id stays valid for `remove_destination_by_id`. Waits for the driver, also while it is gone, and raises as
        `Aeron.add_publication`.
        """
        return self._retried(lambda current: self._add_destination(current, channel).result())

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `add_destination`; raise DriverTimeoutError while the driver is gone."""
        return self._add_destination(self._attached(), channel)

    def remove_destination(self, channel: str) -> None:
        """Remove the destination that was added with this channel; waits and raises as `add_destination`."""
        self._destinations.remove(channel)
        self._retried(lambda current: current.remove_destination(channel))

    def remove_destination_by_id(self, destination_registration_id: int) -> None:
        """Remove the destination with the id that `add_destination` returned; waits and raises as that method."""

        def remove(current: P) -> None:
            destination_id = self._destinations.id_in(current, destination_registration_id)
            # In a new driver, the id of the lost one may be that of another destination.
            if destination_id is not None:
                current.remove_destination_by_id(destination_id)

        self._retried(remove)
        self._destinations.remove_by_id(destination_registration_id)

    def revoke(self) -> None:
        """Close the publication and end its stream, as `Publication.revoke`; stop re-adding it."""
        self._close(lambda current: current.revoke())

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "attached" if self.is_attached else "detached"
        identity = f"{self.channel!r}, {self.stream_id}, session_id={self.session_id}"
        return f"{type(self).__name__}({identity}, {state})"

    def _add_destination(self, current: P, channel: str) -> Registration[int]:
        registration = current.add_destination_async(channel)
        self._destinations.add(channel, registration, current)
        return registration

    def _refused(self, result: int) -> int:
        """Return `result`, but NOT_CONNECTED for CLOSED while only the plain publication is closed."""
        if result == wire.RESULT_CLOSED and not self.is_closed:
            return OfferResult.NOT_CONNECTED
        return result


class ResilientPublication(ResilientPublicationBase[Publication]):
    """A `Publication` that is re-added after the driver or the client was lost."""

    def submit(self, aeron: Aeron) -> Registration[Publication]:
        """Send the command that adds it to another plain client. For the supervisor."""
        return aeron.add_publication_async(self.channel, self.stream_id)


class ResilientExclusivePublication(ResilientPublicationBase[ExclusivePublication]):
    """An `ExclusivePublication` that is re-added after the driver or the client was lost."""

    def submit(self, aeron: Aeron) -> Registration[ExclusivePublication]:
        """Send the command that adds it to another plain client. For the supervisor."""
        return aeron.add_exclusive_publication_async(self.channel, self.stream_id)

    def append_padding(self, length: int) -> int:
        """Append padding as `ExclusivePublication.append_padding`; NOT_CONNECTED while the driver is gone."""
        return self._refused(self._current.append_padding(length))

    def offer_block(self, block: BytesLike) -> int:
        """Append whole frames as `ExclusivePublication.offer_block`; NOT_CONNECTED while the driver is gone.

        Raises ValueError for frames that were built for the stream before a restart.
        """
        return self._refused(self._current.offer_block(block))

    @property
    def term_id(self) -> int:
        """The term id of the next frame, if it fits into the current term."""
        return self._current.term_id

    @property
    def term_offset(self) -> int:
        """The offset of the next frame in its term, in bytes; the term length if the current term is full."""
        return self._current.term_offset
