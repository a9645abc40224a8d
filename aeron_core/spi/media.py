"""What a medium is: a factory of endpoints for channels that name it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.connections import ByteConnection, ConnectionListener
from aeron_core._native.counter import Counter
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch
from aeron_core._native.peers import PeerCounter
from aeron_core.spi.endpoints import (
    ChannelEndpoint,
    ReceiveChannelEndpoint,
    ReceiveDispatcher,
    SendChannelEndpoint,
)
from aeron_core.spi.stream_counter import detached_counter, detached_peer_counter
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.packet_loss import IncomingLosses

Resolve = Callable[[str, str], SocketAddress]
"""`resolve("host:port", "endpoint")` gives a numeric address or raises ChannelUriError. May block."""

OpenDatagrams = Callable[["DatagramOptions"], DatagramChannel]


@dataclass(frozen=True)
class DatagramOptions:
    """How to open a datagram socket; lengths are bytes, 0 leaves the system's default.

    Where `bind` is the address of a group, the socket joins it on `interface`. What is sent to groups leaves
    by `interface`, and passes `multicast_ttl` routers, 0 for the system's default.
    """

    bind: SocketAddress
    connect: SocketAddress | None = None
    sndbuf_length: int = 0
    rcvbuf_length: int = 0
    wants_gso: bool = False
    wants_gro: bool = False
    interface: SocketAddress | None = None
    interface_index: int = 0
    multicast_ttl: int = 0
    wants_media_timestamps: bool = False


@dataclass(frozen=True)
class ListenOptions:
    """How to listen for connections; lengths of socket buffers are bytes, 0 leaves the system's default."""

    bind: SocketAddress
    sndbuf_length: int = 0
    rcvbuf_length: int = 0


class ConnectionNetwork(ABC):
    """Where connections are made: the operating system's sockets, or a simulation."""

    @abstractmethod
    def listen(self, options: ListenOptions) -> ConnectionListener:
        """Take connections at an address; raises OSError that names it."""

    @abstractmethod
    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> ByteConnection:
        """Return a stream that can be connected."""


@dataclass(frozen=True)
class Channel:
    """A channel URI with its names resolved; what endpoints are shared by.

    Two channels with equal `canonical_form` share one endpoint.
    """

    uri: ChannelUri
    canonical_form: str
    is_multicast: bool = False
    # Group semantics: several receivers may answer, as with multicast.
    is_group: bool = False
    # A publication sends to several destinations: `is_manual` says whether clients name them.
    is_multi_destination: bool = False
    is_manual: bool = False
    # A subscription knows where its senders listen, and asks them for a SETUP before any data has come.
    elicits_setup: bool = False
    local: SocketAddress | None = None
    remote: SocketAddress | None = None


@dataclass(frozen=True)
class LossRates:
    """Deliberate loss for tests: a share from 0 to 1, and the seed that repeats it, 0 or -1 for any."""

    rate: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class EndpointParams:
    """What both kinds of endpoints are made from.

    `counters` holds system counters by the names of `aeron_core.driver.agents.system_counters`. Without
    `open_datagrams` the medium opens real sockets.
    """

    channel: Channel
    channel_status_id: int
    open_datagrams: OpenDatagrams | None
    counters: Mapping[str, Counter]
    sndbuf_length: int
    rcvbuf_length: int
    uses_gso: bool
    uses_gro: bool
    #: First and last port to choose from for a channel that asks for port 0; 0 and 0 leave it to the system.
    wildcard_ports: tuple[int, int] = (0, 0)
    #: Stands a channel for each that is opened, which has its datagrams logged; None where nobody wants that.
    watch_datagrams: Callable[[DatagramChannel], DatagramChannel] | None = None
    #: Hops of multicast where the channel does not say, 0 for the system's default.
    multicast_ttl: int = 0
    data_loss: LossRates = LossRates()
    control_loss: LossRates = LossRates()
    incoming_losses: IncomingLosses = field(default_factory=IncomingLosses)
    #: Whose `epoch_ns` frames are stamped with.
    clock: Clock = field(default_factory=Clock)
    #: Where a medium with connections makes them; None for the system's sockets.
    connections: ConnectionNetwork | None = None
    #: Returns a new counter of the endpoint, by a name that its label begins with; it goes with the endpoint.
    new_counter: Callable[[str], Counter] = field(default=lambda name: detached_counter(0, name))
    #: The same for one that tells clients of a peer, and for one that counts peers turned away for a reason, its name.
    new_peer_counter: Callable[[str], PeerCounter] = detached_peer_counter
    new_refusal_counter: Callable[[str], Counter] = field(default=lambda name: detached_counter(0, name))
    #: Frees one of the first kind before the endpoint goes.
    free_counter: Callable[[Counter], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class SendEndpointParams(EndpointParams):
    """What a sending endpoint is made from.

    `connects` says whether to connect unicast sockets, `receive_slots` how many packets one poll takes.
    `destination_count` is where the endpoint of a channel with several destinations says how many there are.
    """

    connects: bool = True
    receive_slots: int = 2
    destination_count: Counter | None = None


@dataclass(frozen=True)
class ReceiveEndpointParams(EndpointParams):
    """What a receiving endpoint is made from; `batch` is the Receiver's memory, shared by its endpoints."""

    dispatcher: ReceiveDispatcher | None = None
    batch: ReceiveBatch | None = None
    receiver_id: int = 0
    group_tag: int | None = None


class MediaTransport(ABC):
    """One medium. All methods run on the conductor's thread, `resolve_channel` on its helper thread."""

    #: The keys of a channel URI that this medium reads, with their types; keys of the stream itself are not
    # here.
    parameters: type[BaseModel]

    #: Whether publishers and subscribers share the log buffer itself, so that there are no endpoints.
    is_shared_memory = False

    #: Whether sending ends take what they send from the log by themselves, and say what their peer has confirmed
    #: (`SendChannelEndpoint.advance`), instead of being given datagrams.
    draws_from_log = False

    #: Most stream ids that subscriptions of one endpoint may have together, 0 for any number: a medium that knows no
    #: streams gives each of them all that comes.
    max_streams = 0

    #: Whether the buffers of sockets hold whole frames: `mtu` and `rcv-wnd` must not be longer than they are.
    has_datagrams = True

    #: What peers send, as the error log calls it.
    unit = "datagram"

    @property
    def supports_gso(self) -> bool:
        """Whether one entry of a batch may hold several datagrams at no extra cost."""
        return False

    @property
    def supports_gro(self) -> bool:
        """Whether the kernel joins received datagrams."""
        return False

    @abstractmethod
    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> Channel:
        """Check `uri` and resolve its names; raises ChannelUriError."""

    def check_shared(  # noqa: B027 - most have nothing to add
        self, channel: Channel, existing: Channel
    ) -> None:
        """Raise ChannelUriError where `channel` must not share the endpoint that was opened for `existing`.

        Called where it would, before anything is made for it. What the driver compares for all media is not to be
        compared again: the lengths of socket buffers, and offsets of timestamps.
        """

    @abstractmethod
    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """Open the sending end; raises OSError."""

    @abstractmethod
    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """Open the receiving end; raises OSError."""

    def local_addresses(self, endpoint: ChannelEndpoint) -> list[str]:
        """Return the bound addresses of an endpoint as text."""
        return endpoint.local_addresses()

    def close_endpoint(self, endpoint: ChannelEndpoint) -> None:
        """Close an endpoint that no agent uses any more."""
        endpoint.close()
