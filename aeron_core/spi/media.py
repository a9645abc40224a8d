"""Media: factories of endpoints for channels such as `aeron:udp?...`.

A medium is registered by the name that its channel URIs use:

    class CarrierTransport(MediaTransport):
        parameters = CarrierParameters                    # a pydantic model of the URI keys that it reads
        def resolve_channel(self, uri, resolve, *, is_publication):
            address = resolve(uri.get("endpoint", ""), "endpoint")
            return Channel(uri, canonical_form=f"carrier-{address}", remote=address)
        def open_send_endpoint(self, params): return CarrierSendEndpoint(params)
        def open_receive_endpoint(self, params): return CarrierReceiveEndpoint(params)

    @hookimpl
    def aeron_media_transports():
        return {"carrier": CarrierTransport}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.connections import ByteConnection, ConnectionListener
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch
from aeron_core._native.peers import PeerCounter
from aeron_core.frozen import frozen
from aeron_core.spi.endpoints import (
    ChannelEndpoint,
    ReceiveChannelEndpoint,
    ReceiveDispatcher,
    SendChannelEndpoint,
)
from aeron_core.spi.stream_counter import detached_counter, detached_peer_counter
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.packet_loss import IncomingLosses

if TYPE_CHECKING:
    from pydantic import BaseModel

Resolve = Callable[[str, str], SocketAddress]
"""`resolve("host:port", "endpoint")` returns a numeric address or raises ChannelUriError. May block."""

OpenDatagrams = Callable[["DatagramOptions"], DatagramChannel]


@frozen()
class DatagramOptions:
    """Options of a datagram socket; lengths are bytes, 0 for the system's default.

    If `bind` is a multicast group, the socket joins it on `interface`. Packets to groups are sent on `interface`
    with a time to live of `multicast_ttl`, 0 for the system's default.
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


@frozen()
class ListenOptions:
    """Options of a listening stream socket; lengths of socket buffers are bytes, 0 for the system's default."""

    bind: SocketAddress
    sndbuf_length: int = 0
    rcvbuf_length: int = 0


class ConnectionNetwork(ABC):
    """Factory of connections and listeners: those of the operating system, or of a simulation."""

    @abstractmethod
    def listen(self, options: ListenOptions) -> ConnectionListener:
        """Return a listener at the address of `options`; raises OSError, with the address, if that fails."""

    @abstractmethod
    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> ByteConnection:
        """Return a connection that is not open yet; buffer lengths are bytes, 0 for the system's default."""


@dataclass(frozen=True)  # not @frozen: media derive from it with @dataclass
class Channel:
    """A channel URI with its names resolved.

    Channels of publications with equal `canonical_form` share an endpoint, and so do those of subscriptions.
    """

    uri: ChannelUri
    canonical_form: str
    is_multicast: bool = False
    # Whether several receivers may respond, as with multicast.
    is_group: bool = False
    # Whether a publication sends to several destinations; with `is_manual`, clients add and remove them.
    is_multi_destination: bool = False
    is_manual: bool = False
    # Whether the endpoint requests a SETUP before it has received data, because the URI has the address of its sender.
    elicits_setup: bool = False
    local: SocketAddress | None = None
    remote: SocketAddress | None = None


@frozen()
class LossRates:
    """Deliberate loss for tests: the share of lost datagrams, 0.0 to 1.0, and a seed to repeat it (0 or -1: random)."""

    rate: float = 0.0
    seed: int = 0


@frozen()
class EndpointParams:
    """Parameters common to both kinds of endpoints.

    `counters` has system counters by the names of `aeron_core.driver.agents.system_counters`. Without `open_datagrams`
    the medium opens real sockets. Lengths of socket buffers are bytes, 0 for the system's default; `channel_status_id`
    is the counter that holds the state of the channel.
    """

    channel: Channel
    channel_status_id: int
    open_datagrams: OpenDatagrams | None
    counters: Mapping[str, AtomicCounter]
    sndbuf_length: int
    rcvbuf_length: int
    uses_gso: bool
    uses_gro: bool
    #: First and last port to choose from if a channel has port 0; (0, 0) leaves the choice to the system.
    wildcard_ports: tuple[int, int] = (0, 0)
    #: Wraps each opened datagram channel to log its datagrams; None if logging is disabled.
    watch_datagrams: Callable[[DatagramChannel], DatagramChannel] | None = None
    #: Wraps each opened datagram channel to seal and open its datagrams, before `watch_datagrams`; None if the channel
    #: is not secured. The second argument is the `reply_address` of `DatagramProtector.protect`.
    protect: Callable[[DatagramChannel, SocketAddress | None], DatagramChannel] | None = None
    #: Multicast time to live if the channel does not set it, 0 for the system's default.
    multicast_ttl: int = 0
    data_loss: LossRates = LossRates()
    control_loss: LossRates = LossRates()
    incoming_losses: IncomingLosses = field(default_factory=IncomingLosses)
    #: Its `epoch_ns` is the source of the timestamps that this process writes into frames.
    clock: Clock = field(default_factory=Clock)
    #: Creates the connections of a medium that uses them; None for the system's sockets.
    connections: ConnectionNetwork | None = None
    #: Returns a new counter of the endpoint, whose label begins with the given name; freed with the endpoint.
    new_counter: Callable[[str], AtomicCounter] = field(default=lambda name: detached_counter(0, name))
    #: The same for a counter that describes a peer; `new_refusal_counter` for one that counts refusals for a reason.
    new_peer_counter: Callable[[str], PeerCounter] = detached_peer_counter
    new_refusal_counter: Callable[[str], AtomicCounter] = field(
        default=lambda name: detached_counter(0, name)
    )
    #: Frees a counter of `new_counter` before the endpoint closes.
    free_counter: Callable[[AtomicCounter], None] = field(default=lambda _: None)


@frozen()
class SendEndpointParams(EndpointParams):
    """Parameters of a send endpoint.

    `connects`: whether to connect unicast sockets. `batch`: receive memory that all endpoints of the sender share.
    `destination_count`: the counter in which an endpoint with several destinations stores how many it has.
    """

    connects: bool = True
    batch: ReceiveBatch | None = None
    destination_count: AtomicCounter | None = None


@frozen()
class ReceiveEndpointParams(EndpointParams):
    """Parameters of a receive endpoint.

    `batch`: receive memory that all endpoints of the receiver share. `subscription`: the URI that the timestamps come
    from if `channel` is a destination of a subscription; None if the endpoint is the subscription's own.
    """

    dispatcher: ReceiveDispatcher | None = None
    batch: ReceiveBatch | None = None
    receiver_id: int = 0
    group_tag: int | None = None
    subscription: ChannelUri | None = None

    @property
    def timestamps_uri(self) -> ChannelUri:
        """The URI that has the keys of receive timestamps."""
        return self.channel.uri if self.subscription is None else self.subscription


class MediaTransport(ABC):
    """One medium. All methods run on the conductor's thread; `resolve_channel` also runs on helper threads."""

    #: Whether publishers and subscribers share the log buffer itself: then there are no endpoints.
    is_shared_memory = False

    #: Whether send endpoints read the log themselves and return the position that their peer has confirmed
    #: (`SendChannelEndpoint.advance`), instead of being passed datagrams.
    draws_from_log = False

    #: Whether `SendChannelEndpoint.send` sends the datagrams of all streams of an endpoint to the same place, except
    #: those of responses: then one batch may have heartbeats of several streams, of which it gets any.
    shares_batches = False

    #: Maximum number of stream ids of all subscriptions of one endpoint, 0 for no limit. A medium without stream ids
    #: delivers all messages to each of these streams.
    max_streams = 0

    #: Whether the medium passes its sockets to `protect` of its parameters; if not, `security=` is refused.
    protects_datagrams = False

    #: Whether socket buffers hold whole frames: `mtu` and `rcv-wnd` must then not exceed them.
    has_datagrams = True

    #: The name of the unit that peers send, as used in messages of the error log.
    unit = "datagram"

    #: Libraries that compiled modules of the medium are linked with, by their use; for `aeron-core doctor`.
    libraries: Mapping[str, str] = MappingProxyType({})

    @property
    @abstractmethod
    def parameters(self) -> type[BaseModel]:
        """A model of the URI keys that this medium reads, without the keys of streams; for tools.

        A class attribute can override it too; mypy accepts that, pyright does not.
        """

    @property
    def uri_keys(self) -> frozenset[str]:
        """The URI keys of `parameters`; a key that neither they nor `aeron_core.uri.keys` contain is reported."""
        return frozenset(field.alias or name for name, field in self.parameters.model_fields.items())

    @abstractmethod
    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> Channel:
        """Check `uri`, resolve its names with `resolve`, and return the channel.

        Called on the conductor's thread first; if `resolve` raises there because a name has to be looked up,
        called again on a helper thread, where `resolve` may block. Raises ChannelUriError for a URI that this
        medium rejects; exceptions of `resolve` must be passed on.
        """

    def check_shared(  # noqa: B027 - most have nothing to add
        self, channel: Channel, existing: Channel
    ) -> None:
        """Raise ChannelUriError if `channel` must not share the endpoint opened for `existing`.

        Called before anything is created for `channel`. The driver already compares what is common to all media:
        lengths of socket buffers and timestamp offsets.
        """

    @abstractmethod
    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """Return a new send endpoint; raises OSError if a socket cannot be opened."""

    @abstractmethod
    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """Return a new receive endpoint; raises OSError if a socket cannot be opened."""

    def local_addresses(self, endpoint: ChannelEndpoint) -> list[str]:
        """Return the bound addresses of an endpoint as text, usually `host:port`."""
        return endpoint.local_addresses()

    def close_endpoint(self, endpoint: ChannelEndpoint) -> None:
        """Close an endpoint that no agent uses any more."""
        endpoint.close()
