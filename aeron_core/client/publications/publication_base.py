"""What the two kinds of publications have in common: who they are, their state, their destinations and peers.

Not here: offering single messages (publication, exclusive_publication) and the frames of a log (logbuffer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.integers import ReusedInt
from aeron_core.client._native import arguments
from aeron_core.client._native.payload import Payload
from aeron_core.client.channel_peers import addressed
from aeron_core.client.publications.batch_arguments import boundaries_of, count_of
from aeron_core.client.publications.publication_params import PublicationParams
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.frame_writer import check_range

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aeron_core.client.channel_peers import ChannelPeer, ChannelPeers
    from aeron_core.client.channel_status import ChannelStatus
    from aeron_core.client.registrations import Registration


class PublicationBase:
    """Any thread may ask for its state, change its destinations and close it."""

    def __init__(self, params: PublicationParams) -> None:
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
        self._payload = Payload()
        self._results = ReusedInt()
        self._owner = params.owner
        self._spare_claim: BufferClaim | None = None
        self._peers: ChannelPeers | None = None

    @property
    def position(self) -> int:
        """The position behind everything that was offered, CLOSED once closed."""
        if self.is_closed:
            return wire.RESULT_CLOSED
        return self._position()

    @property
    def position_limit(self) -> int:
        """The position up to which offers succeed, CLOSED once closed."""
        if self.is_closed:
            return wire.RESULT_CLOSED
        return self._limit.get_i64_acquire(0)

    @property
    def available_window(self) -> int:
        """How many bytes can be offered until back pressure, CLOSED once closed."""
        if self.is_closed:
            return wire.RESULT_CLOSED
        return max(self._limit.get_i64_acquire(0) - self._position(), 0)

    @property
    def is_connected(self) -> bool:
        """Whether somebody receives the stream."""
        return not self.is_closed and self._log.is_connected()

    @property
    def max_payload_length(self) -> int:
        """Bytes of the longest message in one frame, and of the longest claim."""
        return self._log.max_payload_length

    @property
    def max_message_length(self) -> int:
        """Bytes of the longest message."""
        return self._log.max_message_length

    @property
    def max_possible_position(self) -> int:
        """The position at which the stream ends: a new publication must go on then."""
        return self._log.max_possible_position

    @property
    def term_buffer_length(self) -> int:
        """Bytes of a term."""
        return self._log.term_length

    @property
    def initial_term_id(self) -> int:
        """The term id with which the stream began."""
        return self._log.initial_term_id

    @property
    def position_bits_to_shift(self) -> int:
        """By how many bits a term count is shifted to give a position."""
        return self._log.position_bits_to_shift

    @property
    def is_original(self) -> bool:
        """Whether this object's command made the stream, which later ones of the same channel share."""
        return self.registration_id == self.original_registration_id

    def offer_batch(  # noqa: PLR0913
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        first: int = 0,
        count: int | None = None,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append many messages without the GIL; return how many were, or the negative reason for none.

        `offsets`: int64, one more than messages; message i is data[offsets[i]:offsets[i + 1]]. Where fewer
        are appended than asked for, go on later with `first` that much higher. `peer` is as for `offer`. Raises
        ValueError when the first of them is too long or its offsets are wrong.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        boundaries = boundaries_of(offsets)
        number = arguments.int64_of(first, "first")
        wanted = count_of(boundaries, first, count)
        if peer is None:
            value = arguments.field_of(reserved_value, "reserved_value")
        else:
            value = addressed(arguments.int32_of(peer, "peer"), reserved_value)
            wanted = self.count_for(peer, boundaries, number, wanted)
            if wanted < 0:
                return wanted
        return self._offer_batch(AtomicBuffer(data), boundaries, number, wanted, value)

    @property
    def peers(self) -> list[ChannelPeer]:
        """Who is connected, where the channel's medium tells its peers apart; else none."""
        return [] if self.is_closed else self.channel_peers().connected()

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait for a receiver; raises NotConnectedError after `timeout` seconds, None for ever."""
        self._owner.await_connected(self, timeout)

    @property
    def channel_status(self) -> ChannelStatus:
        """Whether the driver has the channel's endpoint open; ACTIVE for IPC."""
        return self._owner.channel_status(self.channel_status_id)

    def local_addresses(self) -> list[str]:
        """Return `address:port` of the sockets that the driver sends from."""
        return self._owner.local_addresses(self.channel_status_id)

    def add_destination(self, channel: str) -> int:
        """Send to one more place (`control-mode=manual`) and return the destination's registration id."""
        return self._owner.result(self.add_destination_async(channel))

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Do as `add_destination` does, without waiting for the driver."""
        return self._owner.add_destination(self.registration_id, channel)

    def remove_destination(self, channel: str) -> None:
        """Send to one place less."""
        self._owner.result(self.remove_destination_async(channel))

    def remove_destination_async(self, channel: str) -> Registration[int]:
        """Do as `remove_destination` does, without waiting for the driver."""
        return self._owner.remove_destination(self.registration_id, channel)

    def remove_destination_by_id(self, destination_registration_id: int) -> None:
        """Send to one place less, which `add_destination` gave this id."""
        self._owner.result(self.remove_destination_by_id_async(destination_registration_id))

    def remove_destination_by_id_async(self, destination_registration_id: int) -> Registration[int]:
        """Do as `remove_destination_by_id` does, without waiting for the driver."""
        return self._owner.remove_destination_by_id(self.registration_id, destination_registration_id)

    def revoke(self) -> None:
        """Close it, and let subscribers drop what they have not read yet."""
        self._owner.close_publication(self, revoke=True)

    def close(self) -> None:
        """Offer no more; closing twice does nothing. Subscribers read to the end of what was offered."""
        self._owner.close_publication(self, revoke=False)

    def __enter__(self) -> PublicationBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "connected" if self.is_connected else "not connected"
        who = f"{self.channel!r}, {self.stream_id}, session_id={self.session_id}"
        return f"{type(self).__name__}({who}, {state})"

    def mark_closed(self) -> None:
        """Answer CLOSED from now on. For the client's conductor."""
        self.is_closed = True

    def give_claim_back(self, claim: BufferClaim) -> None:
        """Keep what a claim was made with for the next one. For claims."""
        self._spare_claim = claim

    def refusal_of(self, peer: int, length: int) -> int:
        """Return NO_PEER or PEER_FULL where a message of `length` bytes to a peer would not be taken now, else 0.

        Raises ValueError for a message longer than `max_message_length`, or where the channel's medium does not tell
        its peers apart.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        if length > self._log.max_message_length:
            # It would be told for ever that the peer has no room.
            return refuse_length(length, self._log.max_message_length, "")
        return self._addressable(peer).refusal(peer, length, self._position())

    def count_for(self, peer: int, boundaries: AtomicBuffer, first: int, count: int) -> int:
        """Return how many messages of a batch a peer takes now, or NO_PEER or PEER_FULL where that is none.

        Raises ValueError for a batch that there cannot be, and as `refusal_of` does.
        """
        check_range(boundaries, first, count)
        return self._addressable(peer).count_taken(
            peer, boundaries, first, count, self._position(), self._log
        )

    def _addressable(self, peer: int) -> ChannelPeers:
        channel_peers = self.channel_peers()
        if not channel_peers.are_told_apart:
            raise ValueError(f"peer={peer}: {self.channel} has no peers that a message could name")
        return channel_peers

    def channel_peers(self) -> ChannelPeers:
        """Return what messages to peers are checked with, for who sends many of them."""
        if self._peers is None:
            self._peers = self._owner.channel_peers(self.channel_status_id, self.original_registration_id)
        return self._peers

    def _offer_batch(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no appender")

    def _position(self) -> int:
        return min(self._log.producer_position(), self._log.max_possible_position)

    def _take_claim(self) -> BufferClaim:
        claim = self._spare_claim
        self._spare_claim = None
        return BufferClaim() if claim is None else claim

    def _check_result(self, result: int, length: int) -> int:
        """Return a result that is not ERROR; that one means a message that no offer can ever carry."""
        if result == wire.RESULT_ERROR:
            refuse_length(length, self._log.max_message_length, "")
        return result


def refuse_length(length: int, maximum: int, hint: str) -> int:
    """Raise ValueError for a message that is too long."""
    raise ValueError(f"message of {length} bytes: must be from 0 to {maximum}{hint}")
