"""Channel endpoints: the interface between the driver's streams and the medium that carries their frames.

`SendStream` and `ReceiveDispatcher` are implemented by the driver: a medium calls them with the frames that it
received. `SendChannelEndpoint` and `ReceiveChannelEndpoint` are implemented by the medium: the driver calls them to
send and to poll. Their methods run on the thread of their sender (send side) or the receiver thread (receive side),
without the GIL; frames and addresses passed as arguments are valid during the call only. `ChannelEndpoint` has the
methods that the conductor calls on both.

Methods of the agents do not raise errors of peers and of the operating system: they count them, and keep a `Fault` for
the conductor to log. An exception is then a bug.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aeron_core._native import wire

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.datagrams import SendBatch
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.nak import Nak
    from aeron_core.protocol.frames.response_setup import ResponseSetup
    from aeron_core.protocol.frames.rttm import Rttm
    from aeron_core.protocol.frames.setup import Setup
    from aeron_core.protocol.frames.status_message import StatusMessage


class Fault(NamedTuple):
    """An error of an endpoint; `source` is the address of the peer that caused it, empty if no peer did.

    `reason` must be free of values that a peer chose: each distinct reason is an entry of the error log, which is never
    removed. Such values belong in `detail`, which the event log gets, in printable characters.
    """

    reason: str
    source: str
    detail: str = ""


class SendStream:
    """A stream being sent; implemented by the driver's network publication. Methods run on the thread of its sender."""

    session_id: int
    stream_id: int
    log: LogBuffer
    #: The result of `SendChannelEndpoint.new_stream_state` for this stream.
    medium_state: object

    def on_status_message(self, sm: StatusMessage, source: SocketAddress, now_ns: int) -> int:
        """Handle a receiver's position and window, or its request for a SETUP; return 1 if rejected, else 0."""
        return 0

    def on_nak(self, nak: Nak, source: SocketAddress, now_ns: int) -> int:
        """Handle a request for retransmission, which may be invalid; return 0."""
        return 0

    def on_error(
        self, error: ErrorFrame, destination_registration_id: int, source: SocketAddress, now_ns: int
    ) -> int:
        """Handle a receiver's rejection; the registration id is -1 unless a client added the destination. Return 0."""
        return 0

    def on_rttm(self, rttm: Rttm, source: SocketAddress, now_ns: int) -> int:
        """Handle a round-trip measurement, or the reply to one; return the bytes of the answer, 0 if none was sent."""
        return 0

    def on_response_setup(self, setup: ResponseSetup, source: SocketAddress, now_ns: int) -> int:
        """Handle the session id of the responses to this stream; return 0."""
        return 0


class ChannelEndpoint:
    """The methods of all endpoints that the conductor calls, on its own thread."""

    def local_addresses(self) -> list[str]:
        """Return the bound addresses as `host:port`; an empty list if the medium has no sockets."""
        return []

    def take_fault(self) -> Fault | None:
        """Return and clear the pending fault; None if there is none.

        At most one is kept, so that many faults become one log entry.
        """
        return None

    def update_counters(self) -> None:
        """Update counters that no agent writes, and those of peers that connected or left.

        Called at the interval of the conductor's timer, 1 s by default.
        """

    def take_lost_names(self) -> list[str]:
        """Return the peers, as `host:port` of the URI, to resolve again; on the conductor.

        For media with several peers of a channel, or with connections that come and go, instead of one `remote`. A peer
        is returned once each time the medium needs its address.
        """
        return []

    def change_address(self, name: str, address: SocketAddress) -> bool:
        """Use `address` for the next connection to a peer of `take_lost_names`; return whether it was accepted.

        Called on the conductor. Not accepted are the address in use, and any while the last one is not applied yet.
        """
        return False

    def close(self) -> None:
        """Close the sockets. Called when no agent uses the endpoint.

        Its agent has released it or has stopped, then perhaps without `remove_stream`, or never got it: opening failed.
        """


class SendChannelEndpoint(ChannelEndpoint):
    """The sending side of a channel; several streams share it.

    The endpoint counts bytes sent, invalid packets, and received status messages, NAKs and error frames. Short
    sends are counted by the stream, which may retry them.
    """

    def send(self, stream: SendStream, batch: SendBatch) -> int:
        """Send the entries of `batch` in order; return how many were sent.

        The last of these may have been sent in part; its length in the batch is then reduced.
        `batch.length_of_first(result)` is the exact number of bytes sent, less than `batch.length` if some were not.
        """
        return 0

    def poll(self, now_ns: int) -> int:
        """Pass frames from receivers to their streams; return the number of frames."""
        return 0

    def advance(self, stream: SendStream, position: int, now_ns: int) -> int:
        """Send from `stream.log` as much as the medium accepts; return the position that its peer has confirmed.

        Called instead of `send` for a medium with `draws_from_log`. `position` is the result of the last call; the
        log still has everything from there on.
        """
        return position

    def new_stream_state(self) -> object:
        """Return the endpoint's own state for one stream, which the stream keeps as `medium_state`.

        Called on the conductor, before `add_stream`.
        """
        return None

    def has_peer(self, stream: SendStream) -> bool:
        """Return whether a peer receives the stream; called only for a medium with `draws_from_log`."""
        return False

    def add_stream(self, stream: SendStream) -> int:
        """Route frames to `stream` from now on; the driver keeps it alive until it is removed. Return 0."""
        return 0

    def remove_stream(self, stream: SendStream) -> int:
        """Stop routing frames to `stream`; return 0."""
        return 0

    def add_destination(self, address: SocketAddress, registration_id: int) -> bool:
        """Queue the addition of a destination of a channel with `is_manual`; return whether it was queued.

        The address is not set if the name of the destination is still being resolved. Called on the conductor; the
        sender applies the change later. It is not queued if the medium does not let clients add destinations, or if too
        many earlier changes are pending. The same applies to the next three methods.
        """
        return False

    def remove_destination(self, address: SocketAddress) -> bool:
        """Queue the removal of the destination with this address, if it exists; return whether it was queued."""
        return False

    def remove_destination_by_id(self, registration_id: int) -> bool:
        """Queue the removal of the destination that was added with `registration_id`; return whether it was queued."""
        return False

    def change_destination(self, registration_id: int, address: SocketAddress) -> bool:
        """Queue a new address of the destination that was added with `registration_id`; return whether it was queued.

        Raises OSError for an address of another family.
        """
        return False

    def take_silent_destinations(self) -> list[int]:
        """Return the registration ids of destinations that were silent for five seconds (UDP); on the conductor.

        The id of a destination that stays silent is returned again after each further five seconds.
        """
        return []

    def change_remote(self, address: SocketAddress) -> bool:
        """Change the address that data is sent to; on the conductor. Return whether the change was accepted.

        It is applied when the sender next sends something. Raises OSError if the address is unreachable or
        of another family.
        """
        return False

    def descriptor(self) -> int:
        """Return a file descriptor that is readable when `poll` has work to do, or `wire.NO_DESCRIPTOR`.

        It must stay the same and open while the agent has the endpoint. Without a descriptor, and while the agent
        has few endpoints, `poll` is called in every duty cycle.
        """
        return wire.NO_DESCRIPTOR

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0


class ReceiveDispatcher:
    """Dispatcher of frames to their images; implemented by the driver, one per receive endpoint.

    Its methods run on the receiver thread.
    """

    def on_data(
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        """Handle a datagram of DATA or PAD frames, validated except for their terms; return the bytes used.

        The datagram is `length` bytes at `offset` of `buffer`, valid during the call only. The result is 0 if it is
        dropped, for example because the stream has no image. A negative `wire.FRAME_…` means that the frames do not
        fit the term of their stream: the endpoint counts that and keeps a fault, as for packets that it rejects itself.
        """
        return 0

    def on_setup(
        self, endpoint: ReceiveChannelEndpoint, setup: Setup, source: SocketAddress, now_ns: int
    ) -> int:
        """Handle the description of a stream; return 0."""
        return 0

    def on_rttm(
        self, endpoint: ReceiveChannelEndpoint, rttm: Rttm, source: SocketAddress, now_ns: int
    ) -> int:
        """Handle a round-trip measurement, or the reply to one; return the number of answers sent."""
        return 0

    def wanted_streams(self, session_id: int, into: AtomicBuffer) -> int:
        """Store the ids of streams with a subscriber for the session in `into`, an int32 each; return how many.

        Stops when `into` is full. For media without stream ids on the wire.
        """
        return 0

    def consumed_position(self, session_id: int, stream_id: int) -> int:
        """Return the position that all subscribers of an image have reached.

        Returns `wire.NO_POSITION` if there is no such image, or it has no subscribers.
        """
        return wire.NO_POSITION


class ReceiveChannelEndpoint(ChannelEndpoint):
    """The receiving side of a channel; several subscriptions and images share it.

    The endpoint counts bytes received, invalid packets and short sends; frames sent are counted by their senders.

    `control` is the address that a stream's sender listens on; an endpoint with one fixed control address may
    ignore it. Frames are complete except for the receiver id and the group tag, which the endpoint fills in.
    """

    receiver_id: int

    def poll(self, now_ns: int) -> int:
        """Pass frames from senders to the dispatcher; return the number of bytes received."""
        return 0

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """Send a status message; return the bytes sent."""
        return 0

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """Send a request for retransmission; return the bytes sent."""
        return 0

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """Send a round-trip measurement; return the bytes sent."""
        return 0

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """Send a rejection of a stream; return the bytes sent."""
        return 0

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """Send the session id of the responses; return the bytes sent."""
        return 0

    def last_received_ns(self) -> int | None:
        """Return when the last valid packet was received, or the endpoint opened, in nanoseconds; on the conductor.

        None if unknown: the name of its control address is then not resolved again.
        """
        return None

    def change_control(self, address: SocketAddress) -> bool:
        """Change the fixed control address; on the conductor. Return whether the change was accepted.

        It is applied when the receiver next sends something. Raises OSError if the address is unreachable or
        of another family.
        """
        return False

    def descriptor(self) -> int:
        """Return a file descriptor that is readable when `poll` has work to do, or `wire.NO_DESCRIPTOR`.

        It must stay the same and open while the agent has the endpoint. Without a descriptor, and while the agent
        has few endpoints, `poll` is called in every duty cycle.
        """
        return wire.NO_DESCRIPTOR

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0
