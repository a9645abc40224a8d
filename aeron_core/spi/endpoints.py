"""Where log buffers meet a wire: what a medium implements, and what the driver implements for it.

`SendStream` and `ReceiveDispatcher` are the driver's side: a medium calls them with the frames that it
received. `SendChannelEndpoint` and `ReceiveChannelEndpoint` are the medium's side: the driver calls them to
send and to poll. Their methods run on the Sender's thread (send side) or the Receiver's (receive side),
without the GIL; frames and addresses that are handed over are valid during the call only. `ChannelEndpoint`
is what the conductor sees of both.

Nothing that a peer sends and nothing that the operating system answers is raised: it is counted, and kept as
a `Fault` for the conductor to log. An exception is a fault of the program.
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
    """What went wrong at an endpoint; `source` is the peer it came from, empty where there is none."""

    reason: str
    source: str


class SendStream:
    """One stream that is being sent; implemented by the driver's network publication."""

    session_id: int
    stream_id: int
    log: LogBuffer
    #: What `SendChannelEndpoint.new_stream_state` returned for it.
    medium_state: object

    def on_status_message(self, sm: StatusMessage, source: SocketAddress, now_ns: int) -> int:
        """Take a receiver's position and window; return 0, or 1 where no receiver can have sent it."""
        return 0

    def on_nak(self, nak: Nak, source: SocketAddress, now_ns: int) -> int:
        """Take a request for a retransmission."""
        return 0

    def on_error(
        self, error: ErrorFrame, destination_registration_id: int, source: SocketAddress, now_ns: int
    ) -> int:
        """Take a receiver's refusal; -1 for who is no destination that a client has added."""
        return 0

    def on_rttm(self, rttm: Rttm, source: SocketAddress, now_ns: int) -> int:
        """Take a round-trip measurement."""
        return 0

    def on_response_setup(self, setup: ResponseSetup, source: SocketAddress, now_ns: int) -> int:
        """Take the session of the responses to this stream."""
        return 0


class ChannelEndpoint:
    """What the conductor may ask of an endpoint of any medium, from its own thread."""

    def local_addresses(self) -> list[str]:
        """Return the addresses that the endpoint is bound to, as `host:port`."""
        return []

    def take_fault(self) -> Fault | None:
        """Return a fault that was not taken yet; at most one is kept, so that a flood of them is one line."""
        return None

    def update_counters(self) -> None:
        """Bring counters up to date that no agent writes, and those of what has come or gone; about once a second."""

    def close(self) -> None:
        """Let go of sockets; no agent uses the endpoint any more."""


class SendChannelEndpoint(ChannelEndpoint):
    """The sending end of a channel; several streams share it.

    It counts bytes sent, invalid packets, and status messages, NAKs and error frames received. Short sends
    are counted by the stream, which knows whether it will try again.
    """

    def send(self, stream: SendStream, batch: SendBatch) -> int:
        """Put the entries of `batch` on the wire and return how many were taken, from the first on.

        The last one taken may be so in part, and then has its length reduced: `batch.length_of_first` of the
        answer is exact, and less than `batch.length` where anything was left.
        """
        return 0

    def poll(self, now_ns: int) -> int:
        """Hand what receivers sent to its streams; return the number of frames."""
        return 0

    def advance(self, stream: SendStream, position: int, now_ns: int) -> int:
        """Send from `stream.log` what the medium has room for, and return the position that its peer has confirmed.

        Instead of `send`, for a medium with `draws_from_log`. Everything from `position` on, which is what the last
        call returned, is still in the log.
        """
        return position

    def new_stream_state(self) -> object:
        """Return what the endpoint keeps of one stream, `medium_state`; for the conductor, before `add_stream`."""
        return None

    def has_peer(self, stream: SendStream) -> bool:
        """Return whether somebody takes what is sent; for a medium with `draws_from_log`."""
        return False

    def add_stream(self, stream: SendStream) -> int:
        """Route frames for `stream` to it from now on; its owner keeps it alive until it is removed."""
        return 0

    def remove_stream(self, stream: SendStream) -> int:
        """Forget `stream`."""
        return 0

    def add_destination(self, address: SocketAddress, registration_id: int) -> bool:
        """Send to one more place; for the conductor, of a channel with `is_manual`. Return whether that is possible.

        An address that is not set yet is that of a destination whose name is still being looked for. Whoever gives the
        order does not wait until it is carried out; so with the next three.
        """
        return False

    def remove_destination(self, address: SocketAddress) -> bool:
        """Send to one place less, if it is one; return whether that is possible."""
        return False

    def remove_destination_by_id(self, registration_id: int) -> bool:
        """Send to one place less, known by what it was added with; return whether that is possible."""
        return False

    def change_destination(self, registration_id: int, address: SocketAddress) -> bool:
        """Send to another address in place of that of one destination; return whether that is possible."""
        return False

    def take_silent_destinations(self) -> list[int]:
        """Return the registration ids of destinations from which nothing was heard for a while; for the conductor.

        Each is told again after as long a while.
        """
        return []

    def change_remote(self, address: SocketAddress) -> bool:
        """Send to another address from now on; for the conductor. Return whether the order was taken.

        It waits until the sender sends something; raises OSError where the address cannot be reached at all.
        """
        return False

    def take_lost_names(self) -> list[str]:
        """Return which peers, as `host:port`, should be looked up again; for the conductor.

        For media whose channel has no `remote`, but several peers, or connections that come and go. Each is told once,
        until the medium wants to know again.
        """
        return []

    def change_address(self, name: str, address: SocketAddress) -> bool:
        """Connect to a peer of `take_lost_names` at `address` from now on; return whether that is another one."""
        return False

    def descriptor(self) -> int:
        """Return a file descriptor that can be read when `poll` has something to do, or `wire.NO_DESCRIPTOR`.

        It stays the same and open as long as the agent has the endpoint. Without one `poll` is called in every duty
        cycle, as it is with one while the agent has few endpoints.
        """
        return wire.NO_DESCRIPTOR

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0


class ReceiveDispatcher:
    """Finds the image that a frame is for; implemented by the driver, one for each receiving endpoint."""

    def on_data(
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        """Take a datagram of DATA or PAD frames, validated but for their terms; return the bytes used.

        A negative `wire.FRAME_…` says that the frames do not fit the term of their stream: the endpoint counts
        and keeps that as of any packet that it refuses itself.
        """
        return 0

    def on_setup(
        self, endpoint: ReceiveChannelEndpoint, setup: Setup, source: SocketAddress, now_ns: int
    ) -> int:
        """Take the description of a stream."""
        return 0

    def on_rttm(
        self, endpoint: ReceiveChannelEndpoint, rttm: Rttm, source: SocketAddress, now_ns: int
    ) -> int:
        """Take a round-trip measurement."""
        return 0

    def wanted_streams(self, session_id: int, into: AtomicBuffer) -> int:
        """Put the ids of the streams of which somebody wants the session into `into`, 4 bytes each; return how many.

        No more than there is room for. For media whose senders know nothing of streams.
        """
        return 0

    def consumed_position(self, session_id: int, stream_id: int) -> int:
        """Return the position that all subscribers of an image have reached, or `wire.NO_POSITION`.

        That is so while it has no subscribers, or is not there.
        """
        return wire.NO_POSITION


class ReceiveChannelEndpoint(ChannelEndpoint):
    """The receiving end of a channel; several subscriptions and images share it.

    It counts bytes received, invalid packets and short sends; frames sent are counted by who has them sent.

    `control` is the address that a stream's sender listens on; an endpoint with one fixed control address may
    ignore it. Frames are complete but for the receiver id and the group tag, which the endpoint fills in.
    """

    receiver_id: int

    def poll(self, now_ns: int) -> int:
        """Hand what senders sent to the dispatcher; return the number of bytes received."""
        return 0

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """Send a status message; return the bytes sent."""
        return 0

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """Ask for a retransmission; return the bytes sent."""
        return 0

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """Send a round-trip measurement; return the bytes sent."""
        return 0

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """Refuse a stream; return the bytes sent."""
        return 0

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """Name the session of the responses; return the bytes sent."""
        return 0

    def last_heard_ns(self) -> int | None:
        """Return when a valid packet came in last, or the endpoint was opened; for the conductor.

        None where that is not known: nobody who has moved is looked for then.
        """
        return None

    def change_control(self, address: SocketAddress) -> bool:
        """Answer at another fixed control address from now on; for the conductor. Return whether the order was taken.

        It waits until the receiver sends something; raises OSError where the address cannot be reached at all.
        """
        return False

    def descriptor(self) -> int:
        """Return a file descriptor that can be read when `poll` has something to do, or `wire.NO_DESCRIPTOR`.

        It stays the same and open as long as the agent has the endpoint. Without one `poll` is called in every duty
        cycle, as it is with one while the agent has few endpoints.
        """
        return wire.NO_DESCRIPTOR

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0
