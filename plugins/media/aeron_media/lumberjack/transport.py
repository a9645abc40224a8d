"""The medium `lumberjack`: acknowledged events from and to Beats, Logstash and others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.media import (
    Channel,
    ConnectionNetwork,
    ListenOptions,
    MediaTransport,
    ReceiveEndpointParams,
    Resolve,
    SendEndpointParams,
)
from aeron_core.uri.channel_uri import ChannelUri
from aeron_media._native import limits
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.connections.remote_host import RemoteHost
from aeron_media.connections.sockets import SystemConnections
from aeron_media.connections.tls.connections import TlsConnections
from aeron_media.connections.tls.contexts import TlsContexts, TlsFileError
from aeron_media.fault_slot import FaultSlot
from aeron_media.lumberjack._native.inflater import LIBRARY
from aeron_media.lumberjack.codec.encoder_params import EncoderParams
from aeron_media.lumberjack.fault_texts import describe_fault
from aeron_media.lumberjack.parameters import AckWhen, LumberjackParameters
from aeron_media.lumberjack.reader.reader_counters import ReaderCounters
from aeron_media.lumberjack.reader.reader_params import ReaderParams
from aeron_media.lumberjack.reader.receive_endpoint import LumberjackReceiveEndpoint
from aeron_media.lumberjack.writer.send_endpoint import LumberjackSendEndpoint
from aeron_media.lumberjack.writer.writer_counters import WriterCounters
from aeron_media.lumberjack.writer.writer_params import WriterParams


@dataclass(frozen=True)
class LumberjackChannel(Channel):
    """A Lumberjack channel with its names resolved."""

    params: LumberjackParameters | None = None
    #: Address of each reader in order, None while its name is unresolved; empty for a subscription.
    addresses: tuple[SocketAddress | None, ...] = ()
    #: TLS contexts of each reader in order, or of the listener; empty for plain connections.
    tls: tuple[TlsContexts, ...] = field(default=(), compare=False)

    @property
    def keys(self) -> LumberjackParameters:
        """Parameters of the URI; present in every channel that this medium resolved."""
        assert self.params is not None
        return self.params

    @property
    def address(self) -> SocketAddress:
        """Address to listen on; of a subscription only."""
        assert self.remote is not None
        return self.remote


def _tls_contexts(
    params: LumberjackParameters, uri: ChannelUri, *, is_publication: bool
) -> tuple[TlsContexts, ...]:
    params.check_tls(uri, connects=is_publication)
    if not params.tls:
        return ()
    try:
        return tuple(
            # Certificates never name the scope of an IPv6 address.
            TlsContexts(params, server_side=not is_publication, server_name=each.host.partition("%")[0])
            for each in params.endpoint
        )
    except TlsFileError as error:
        raise uri.fault(error.key, error.text) from error


def _addresses(params: LumberjackParameters, resolve: Resolve) -> tuple[SocketAddress | None, ...]:
    """Return the readers' addresses, None for unresolved names; raises ChannelUriError if no name could be resolved."""
    found: list[SocketAddress | None] = []
    unknown = None
    for each in params.endpoint:
        try:
            found.append(resolve(str(each), "endpoint"))
        except ChannelUriError as error:
            unknown = error
            found.append(None)
    if unknown is not None and not any(found):
        raise unknown
    return tuple(found)


def _lumberjack_channel(channel: Channel) -> LumberjackChannel:
    if not isinstance(channel, LumberjackChannel):
        raise TypeError(
            f"{channel!r} was not resolved by this medium: must be a channel that resolve_channel of "
            "LumberjackTransport returned"
        )
    return channel


class LumberjackTransport(MediaTransport):
    """The medium `lumberjack`: resolves its channels and opens their endpoints."""

    parameters = LumberjackParameters
    draws_from_log = True
    has_datagrams = False
    max_streams = limits.MAX_STREAMS
    unit = "connection"
    libraries = MappingProxyType({"compression": LIBRARY})

    def resolve_channel(
        self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool
    ) -> LumberjackChannel:
        """See `MediaTransport.resolve_channel`."""
        params = LumberjackParameters.parse(uri)
        try:
            params.frame_limits()
        except ValueError as error:
            # The message must have the key of the URI, max-event for max_event_length, and its value as written there.
            text, _, allowed = str(error).partition(": ")
            key = text.partition("=")[0].removesuffix("_length").replace("_", "-")
            raise uri.fault(key, allowed) from error
        if not is_publication and len(params.endpoint) > 1:
            raise uri.fault(
                "endpoint",
                "a subscription listens on one address: name one; only a publication can have several",
            )
        if not is_publication:
            params.check_image_keys(uri)
        tls = _tls_contexts(params, uri, is_publication=is_publication)
        if is_publication:
            return self._resolve_readers(uri, params, tls, resolve)
        address = resolve(str(params.endpoint[0]), "endpoint")
        return LumberjackChannel(
            uri=uri,
            canonical_form=f"LUMBERJACK-{address}{params.tls_identity}",
            remote=address,
            params=params,
            tls=tls,
        )

    def check_shared(self, channel: Channel, existing: Channel) -> None:
        """See `MediaTransport.check_shared`.

        Publications must have the same readers, sending and TLS parameters; subscriptions the same address, receive and
        TLS parameters.
        """
        mine, theirs = _lumberjack_channel(channel), _lumberjack_channel(existing)
        if mine.canonical_form != theirs.canonical_form:
            raise mine.uri.fault(
                "tags",
                f"selects the endpoint of {str(theirs.uri)!r}, which has other keys: use the same keys or another tag",
            )
        if mine.remote is not None:
            mine.keys.check_shared(mine.uri, theirs.keys)

    def _resolve_readers(
        self, uri: ChannelUri, params: LumberjackParameters, tls: tuple[TlsContexts, ...], resolve: Resolve
    ) -> LumberjackChannel:
        addresses = _addresses(params, resolve)
        readers = ",".join(
            str(name if address is None else address)
            for name, address in zip(params.endpoint, addresses, strict=True)
        )
        # Without `remote`: the endpoint itself requests the resolution of its names again.
        return LumberjackChannel(
            uri=uri,
            canonical_form=f"LUMBERJACK-{readers}{params.tls_identity}{params.writer_identity}",
            params=params,
            addresses=addresses,
            tls=tls,
        )

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """See `MediaTransport.open_send_endpoint`."""
        channel = _lumberjack_channel(params.channel)
        keys = channel.keys
        tls = [TlsConnections(each) for each in channel.tls]
        hosts = [
            RemoteHost(str(name), address)
            for name, address in zip(keys.endpoint, channel.addresses, strict=True)
        ]
        networks: list[ConnectionNetwork] = [*tls] or [params.connections or SystemConnections()] * len(hosts)
        writer = WriterParams(
            counters=WriterCounters(
                params.new_counter,
                params.free_counter,
                max_connections=keys.connection_counters,
                has_tls=bool(tls),
            ),
            budget=MemoryBudget(keys.max_memory),
            ends=FaultSlot(describe_fault),
            encoder=EncoderParams(compression=keys.compression, is_wrapping=keys.wrap),
            window=keys.window,
            pipeline=keys.pipeline,
            balances=keys.balance,
            timeout_ns=keys.timeout,
            progress_timeout_ns=keys.progress_timeout,
            backoff_init_ns=keys.backoff_init,
            backoff_max_ns=keys.backoff_max,
            ttl_ns=keys.ttl,
        )
        lengths = {"sndbuf_length": params.sndbuf_length, "rcvbuf_length": params.rcvbuf_length}
        return LumberjackSendEndpoint(
            writer, hosts, [partial(network.new_connection, **lengths) for network in networks], tls
        )

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """See `MediaTransport.open_receive_endpoint`."""
        channel = _lumberjack_channel(params.channel)
        keys = channel.keys
        tls = TlsConnections(channel.tls[0]) if channel.tls else None
        network = tls or params.connections or SystemConnections()
        listener = network.listen(ListenOptions(channel.address, params.sndbuf_length, params.rcvbuf_length))
        try:
            reader = ReaderParams(
                counters=ReaderCounters(
                    params.new_counter,
                    params.free_counter,
                    max_connections=keys.connection_counters,
                    has_tls=tls is not None,
                ),
                budget=MemoryBudget(keys.max_memory),
                limits=keys.frame_limits(),
                max_window=keys.max_window,
                is_acked_when_received=keys.ack is AckWhen.RECEIVED,
                ack_partial=keys.ack_partial,
                keep_alive_ns=keys.keep_alive,
                keeps_v1_alive=keys.keep_alive_v1,
                window_timeout_ns=keys.window_timeout,
                idle_timeout_ns=keys.idle_timeout,
                write_timeout_ns=keys.write_timeout,
                max_per_source=keys.max_per_source,
                eviction_timeout_ns=keys.eviction_timeout,
            )
            return LumberjackReceiveEndpoint(params, listener, keys, reader, tls)
        except BaseException:
            listener.close()
            raise
