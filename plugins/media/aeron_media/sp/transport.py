"""The medium `sp`: messages to and from PAIR sockets, such as those of nanomsg, nng and mangos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from aeron_core._native import positions
from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import ByteConnection
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.media import (
    Channel,
    ConnectionNetwork,
    EndpointParams,
    ListenOptions,
    MediaTransport,
    ReceiveEndpointParams,
    Resolve,
    SendEndpointParams,
)
from aeron_core.uri.channel_uri import ChannelUri
from aeron_media._native import limits
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.connections.relay.relay_network import RelayNetwork
from aeron_media.connections.remote_host import RemoteHost
from aeron_media.connections.sockets import SystemConnections
from aeron_media.connections.tls.connections import TlsConnections
from aeron_media.connections.tls.contexts import TlsContexts, TlsFileError
from aeron_media.connections.unix_sockets import UnixConnections
from aeron_media.sp._native.tallies import Tallies
from aeron_media.sp.pair_params import MAX_MONOGAMOUS, PairParams
from aeron_media.sp.pair_socket import PairSocket
from aeron_media.sp.parameters import Mode, PairParameters
from aeron_media.sp.receive_endpoint import PairReceiveEndpoint
from aeron_media.sp.send_endpoint import PairSendEndpoint
from aeron_media.sp.socket_lease import SharedSocket, SocketLease
from aeron_media.sp.websocket.connections import WsConnections
from aeron_media.sp.websocket.params import WsParams

#: Slots of a connecting socket: the peer, and earlier connections whose messages are not consumed yet.
_DIALING_SLOTS = 4


@dataclass(frozen=True)
class PairChannel(Channel):
    """A PAIR channel with its names resolved."""

    params: PairParameters | None = None
    has_images: bool = False
    tls: TlsContexts | None = field(default=None, compare=False)

    @property
    def keys(self) -> PairParameters:
        """The parsed URI; set in every channel that this medium has resolved."""
        assert self.params is not None
        return self.params

    @property
    def address(self) -> SocketAddress:
        """The address to listen at or to connect to."""
        assert self.remote is not None
        return self.remote


def _tls_contexts(keys: PairParameters, uri: ChannelUri) -> TlsContexts | None:
    is_dialing = keys.mode is Mode.DIAL
    keys.check_tls(uri, connects=is_dialing)
    if not keys.tls or keys.endpoint is None:
        return None
    try:
        # Certificates do not contain IPv6 scopes.
        host = keys.endpoint.host.partition("%")[0]
        return TlsContexts(keys, server_side=not is_dialing, server_name=host)
    except TlsFileError as error:
        raise uri.fault(error.key, error.text) from error


def _form_prefix(keys: PairParameters) -> str:
    # An address can have one listener, whatever its transport; connecting sockets differ by transport and path.
    scheme = f"{keys.transport.value}-{keys.path or ''}-" if keys.mode is Mode.DIAL else ""
    return f"SP-{keys.mode.value}-{scheme}"


def _peer_of(keys: PairParameters) -> tuple[object, ...]:
    return keys.mode, keys.transport, keys.path or "", keys.endpoint, keys.tls_identity


def _pair_channel(channel: Channel) -> PairChannel:
    if not isinstance(channel, PairChannel):
        raise TypeError(
            f"{channel!r} was not resolved by this medium: must be a channel that resolve_channel of "
            "PairTransport returned"
        )
    return channel


def _slot_count(keys: PairParameters) -> int:
    if keys.mode is Mode.DIAL:
        return _DIALING_SLOTS
    return keys.max_connections if keys.poly else min(keys.max_connections, MAX_MONOGAMOUS)


def _pair_params(keys: PairParameters) -> PairParams:
    return PairParams(
        tallies=Tallies(),
        budget=MemoryBudget(keys.max_memory),
        protocol=keys.protocol.number,
        has_type=keys.transport.is_local,
        is_polyamorous=keys.poly,
        ttl=keys.ttl,
        accepts_zero_hops=keys.accept_zero_hop,
        confirms=keys.confirm,
        max_message_length=keys.max_message_length,
        peer_queue_length=keys.peer_queue,
        handshake_timeout_ns=keys.handshake_timeout,
        message_timeout_ns=keys.message_timeout,
        backoff_init_ns=keys.backoff_init,
        backoff_max_ns=keys.backoff_max,
        # All peers of a Unix socket are on this host and would count as one source.
        max_per_source=0 if keys.transport.is_local else keys.max_per_source,
    )


class PairTransport(MediaTransport):
    """Transport of PAIR channels: opens their endpoints, and the sockets that the endpoints share.

    Used by the conductor, `resolve_channel` also on a helper thread.
    """

    parameters = PairParameters
    draws_from_log = True
    has_datagrams = False
    max_streams = limits.MAX_STREAMS
    unit = "connection"

    def __init__(self) -> None:
        self._sockets: dict[str, SharedSocket] = {}

    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> PairChannel:
        """See `MediaTransport.resolve_channel`."""
        keys = PairParameters.parse(uri)
        if not is_publication:
            keys.check_images(uri)
        tls = _tls_contexts(keys, uri)
        address = keys.local_address() if keys.transport.is_local else resolve(str(keys.endpoint), "endpoint")
        form = self._form_of_moved_peer(keys) or f"{_form_prefix(keys)}{address}{keys.tls_identity}"
        return PairChannel(
            uri=uri,
            canonical_form=form,
            remote=address,
            params=keys,
            has_images=not is_publication,
            tls=tls,
        )

    def check_shared(self, channel: Channel, existing: Channel) -> None:
        """See `MediaTransport.check_shared`."""
        mine, theirs = _pair_channel(channel), _pair_channel(existing)
        if mine.canonical_form != theirs.canonical_form:
            raise mine.uri.fault(
                "tags",
                f"selects the endpoint of {str(theirs.uri)!r}, which has other keys: use the same keys or another tag",
            )
        self._sockets[mine.canonical_form].check(mine.keys, mine.uri)
        if mine.has_images:
            mine.keys.check_shared_images(mine.uri, theirs.keys)

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """See `MediaTransport.open_send_endpoint`."""
        lease = self._lease(params)
        try:
            return PairSendEndpoint(lease, params)
        except BaseException:
            lease.end()
            raise

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """See `MediaTransport.open_receive_endpoint`."""
        channel = _pair_channel(params.channel)
        lease = self._lease(params)
        try:
            _check_images(channel, lease.socket.params.max_message_length)
            return PairReceiveEndpoint(params, lease, channel.keys)
        except BaseException:
            lease.end()
            raise

    def _lease(self, params: EndpointParams) -> SocketLease:
        channel = _pair_channel(params.channel)
        name = channel.canonical_form
        shared = self._sockets.get(name)
        if shared is None:
            shared = self._sockets[name] = _open_socket(channel, params)
        else:
            shared.check(channel.keys, channel.uri)
        return SocketLease(shared, partial(self._forget, name))

    def _form_of_moved_peer(self, keys: PairParameters) -> str | None:
        """Return the form of the socket that connects to this very name already, None if there is none.

        The name may have another address by now, to which that socket connects when it has lost its peer.
        """
        if keys.mode is not Mode.DIAL or keys.transport.is_local:
            return None
        for form, shared in list(self._sockets.items()):
            # Not the forms: a path is free text, so that the form of `/a` begins like that of `/a-b`.
            if _peer_of(shared.keys) == _peer_of(keys):
                return form
        return None

    def _forget(self, name: str) -> None:
        del self._sockets[name]


def _check_images(channel: PairChannel, max_message_length: int) -> None:
    longest = positions.max_message_length(channel.keys.term_length)
    if max_message_length > longest:
        raise channel.uri.fault(
            "term-length",
            f"terms hold messages of at most {longest} bytes, but max-message is {max_message_length} "
            "bytes for the channels that share this socket already: increase term-length=",
        )


def _open_socket(channel: PairChannel, params: EndpointParams) -> SharedSocket:
    keys = channel.keys
    relayed = _relayed_connections(channel)
    network: ConnectionNetwork = relayed or params.connections or _system_connections(keys)
    new_connection: Callable[[], ByteConnection] = partial(
        network.new_connection, sndbuf_length=params.sndbuf_length, rcvbuf_length=params.rcvbuf_length
    )
    listener = None
    if keys.mode is Mode.LISTEN:
        listener = network.listen(ListenOptions(channel.address, params.sndbuf_length, params.rcvbuf_length))
        new_connection = listener.new_connection
    try:
        host = RemoteHost(str(keys.endpoint), channel.address)
        socket = PairSocket(_pair_params(keys), _slot_count(keys), new_connection, listener, host)
    except BaseException:
        if listener is not None:
            listener.close()
        raise
    return SharedSocket(keys, socket, relayed)


def _relayed_connections(channel: PairChannel) -> RelayNetwork | None:
    keys = channel.keys
    if keys.transport.is_websocket:
        params = WsParams(
            subprotocol=keys.protocol.subprotocol,
            host=str(keys.endpoint),
            path=keys.path or "/",
            max_message_length=keys.max_message_length + keys.protocol.hops_length,
            ttl=keys.ttl,
            accepts_zero_hops=keys.accept_zero_hop,
        )
        return WsConnections(
            params,
            channel.tls,
            handshake_timeout_ns=keys.handshake_timeout,
            message_timeout_ns=keys.message_timeout,
        )
    return TlsConnections(channel.tls, handshake_timeout_ns=keys.handshake_timeout) if channel.tls else None


def _system_connections(keys: PairParameters) -> ConnectionNetwork:
    return UnixConnections(keys.permissions) if keys.transport.is_local else SystemConnections()
