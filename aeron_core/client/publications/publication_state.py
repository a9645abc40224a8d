"""State, destinations and lifetime of a publication: everything but offering messages.

Not here: offering (publication_base) and the frames of a log (logbuffer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aeron_core._native.park import Bell
from aeron_core.client import channel_status
from aeron_core.client.channel_peers import ChannelPeer, ChannelPeers
from aeron_core.client.command_arguments import channel_of, int64_of
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.logbuffer.results import OfferResult
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from aeron_core.client.registrations import Registration


class PublicationState:
    """State and destinations of a publication; any thread may read the state, change destinations, and close it."""

    def __init__(self, params: PublicationArguments) -> None:
        self.channel = params.channel
        self.stream_id = params.stream_id
        self.session_id = params.session_id
        self.registration_id = params.registration_id
        self.original_registration_id = params.original_registration_id
        self.channel_status_id = params.channel_status_id
        self.position_limit_id = params.position_limit_id
        self.is_closed = False
        self._log = params.log
        self._limit = params.limit
        self._limit_bell = params.bell or Bell()
        # Nothing is sent for IPC: the sender only moves the limit, and subscribers read the log.
        self._bell = (params.stream_bell or Bell()) if self.channel_status_id < 0 else self._limit_bell
        self._owner = params.owner
        self._peers: ChannelPeers | None = None

    @property
    def position(self) -> int:
        """The stream position in bytes after everything that was appended or claimed; CLOSED once closed."""
        if self.is_closed:
            return OfferResult.CLOSED
        return self._position()

    @property
    def last_position(self) -> int:
        """The stream position in bytes after everything that was appended or claimed, also once closed."""
        return self._position()

    @property
    def position_limit(self) -> int:
        """The publisher limit in bytes: messages that begin before this position are accepted. CLOSED once closed."""
        if self.is_closed:
            return OfferResult.CLOSED
        return self._limit.get_i64_acquire(0)

    @property
    def available_window(self) -> int:
        """Bytes from the position to the publisher limit, frame headers included; 0 if none, CLOSED once closed."""
        if self.is_closed:
            return OfferResult.CLOSED
        return max(self._limit.get_i64_acquire(0) - self._position(), 0)

    @property
    def is_connected(self) -> bool:
        """Whether the publication is open and the driver reports its stream as connected.

        Over a network: flow control has the receivers that it requires, or a spy simulates a connection. With
        IPC: there is a subscriber.
        """
        return not self.is_closed and self._log.is_connected()

    @property
    def max_payload_length(self) -> int:
        """Maximum length in bytes of a message in one frame, and of a claim."""
        return self._log.max_payload_length

    @property
    def max_message_length(self) -> int:
        """Maximum length of a message in bytes."""
        return self._log.max_message_length

    @property
    def max_possible_position(self) -> int:
        """The position, in bytes, at which the stream ends at the latest: add a new publication to continue."""
        return self._log.max_possible_position

    @property
    def term_buffer_length(self) -> int:
        """Length of a term in bytes."""
        return self._log.term_length

    @property
    def initial_term_id(self) -> int:
        """The term id at which the stream began."""
        return self._log.initial_term_id

    @property
    def position_bits_to_shift(self) -> int:
        """The shift that turns a term count into a position: log2 of the term length."""
        return self._log.position_bits_to_shift

    @property
    def is_original(self) -> bool:
        """Whether this publication created the stream; a publication that was added later may share it."""
        return self.registration_id == self.original_registration_id

    @property
    def peers(self) -> list[ChannelPeer]:
        """The peers that are connected; empty once closed, or if the channel's medium does not distinguish peers."""
        return [] if self.is_closed else self.channel_peers().connected()

    def channel_peers(self) -> ChannelPeers:
        """Return the peers of the channel, which are looked up in the driver's counters by the first call."""
        if self._peers is None:
            self._peers = ChannelPeers(
                self._owner.counters, self.channel_status_id, self.original_registration_id
            )
        return self._peers

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait until it is connected; raise NotConnectedError after `timeout` seconds, None for no limit.

        Raises ClosedError if the publication is closed, ClientError if it has to wait in a handler of the client.
        """
        self._owner.await_connected(self, timeout)

    @property
    def channel_status(self) -> channel_status.ChannelStatus:
        """State of the channel's endpoint in the driver; always ACTIVE for IPC."""
        return channel_status.channel_status(self._owner.counters, self.channel_status_id)

    def local_addresses(self) -> list[str]:
        """Return `address:port` of the sockets that the driver sends from; empty for IPC and while none is bound."""
        return channel_status.local_addresses(self._owner.counters, self.channel_status_id)

    def add_destination(self, channel: str) -> int:
        """Add a destination (`control-mode=manual`) and return its registration id.

        Waits for the driver and raises as `Aeron.add_publication`.
        """
        self._owner.check_may_wait()
        return self.add_destination_async(channel).result()

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `add_destination` and return its registration without waiting for the driver."""
        channel = channel_of(channel)
        return self._owner.command(
            f"add_destination {channel!r}", commands.AddDestination, self.registration_id, channel
        )

    def remove_destination(self, channel: str) -> None:
        """Remove the destination that was added with this channel; waits and raises as `add_destination`."""
        self._owner.check_may_wait()
        self.remove_destination_async(channel).result()

    def remove_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `remove_destination`; return its registration, with the command's id as result."""
        channel = channel_of(channel)
        return self._owner.command(
            f"remove_destination {channel!r}", commands.RemoveDestination, self.registration_id, channel
        )

    def remove_destination_by_id(self, destination_registration_id: int) -> None:
        """Remove the destination with the id that `add_destination` returned; waits and raises as that method."""
        self._owner.check_may_wait()
        self.remove_destination_by_id_async(destination_registration_id).result()

    def remove_destination_by_id_async(self, destination_registration_id: int) -> Registration[int]:
        """Send the command of `remove_destination_by_id`; return its registration, with the command's id as result."""
        destination_id = int64_of(destination_registration_id, "destination_registration_id")
        return self._owner.command(
            f"remove_destination_by_id {destination_id}",
            commands.RemoveDestinationById,
            self.registration_id,
            destination_id,
        )

    def revoke(self) -> None:
        """Close the publication and end its stream, also for other publications that share it.

        The driver closes the images of subscribers: messages that they have not read by then are lost. Does nothing
        once closed. Raises ClientError if the driver's command ring stays full for 10 ms; the publication stays open.
        """
        self._owner.close_publication(self.registration_id, revoke=True)

    def close(self) -> None:
        """Close the publication; the driver still delivers what was appended. Closing twice does nothing.

        Raises ClientError if the driver's command ring stays full for 10 ms; the publication stays open.
        """
        self._owner.close_publication(self.registration_id, revoke=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "connected" if self.is_connected else "not connected"
        identity = f"{self.channel!r}, {self.stream_id}, session_id={self.session_id}"
        return f"{type(self).__name__}({identity}, {state})"

    def mark_closed(self) -> None:
        """Make offers return CLOSED from now on. For the client's conductor."""
        self.is_closed = True

    def _position(self) -> int:
        return min(self._log.producer_position(), self._log.max_possible_position)
