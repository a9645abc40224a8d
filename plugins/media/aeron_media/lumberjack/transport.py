"""The medium `lumberjack`: acknowledged events from Beats, Logstash and other writers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from aeron_core._native.address import SocketAddress
from aeron_core._native.byte_queue import MemoryBudget
from aeron_core.errors import ChannelUriError
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.media import (
    Channel,
    MediaTransport,
    ReceiveEndpointParams,
    Resolve,
    SendEndpointParams,
    StreamOptions,
)
from aeron_core.uri import ChannelUri
from aeron_media.lumberjack.encoder_params import EncoderParams
from aeron_media.lumberjack.end_slot import EndSlot
from aeron_media.lumberjack.parameters import AckWhen, LumberjackParameters
from aeron_media.lumberjack.reader_counters import ReaderCounters
from aeron_media.lumberjack.reader_params import ReaderParams
from aeron_media.lumberjack.receive_endpoint import LumberjackReceiveEndpoint
from aeron_media.lumberjack.send_endpoint import LumberjackSendEndpoint
from aeron_media.lumberjack.writer_counters import WriterCounters
from aeron_media.lumberjack.writer_params import WriterParams
from aeron_media.streams.sockets import SystemStreams
from aeron_media.streams.tls_contexts import TlsContexts, TlsFileError
from aeron_media.streams.tls_streams import TlsStreams


@dataclass(frozen=True)
class LumberjackChannel(Channel):
    """A Lumberjack channel with its names resolved."""

    params: LumberjackParameters | None = None
    tls: TlsContexts | None = field(default=None, compare=False)

    @property
    def keys(self) -> LumberjackParameters:
        """What the URI says; every channel that this medium has resolved has it."""
        assert self.params is not None
        return self.params

    @property
    def address(self) -> SocketAddress:
        """Where to listen, or whom to send to."""
        assert self.remote is not None
        return self.remote


def _tls_contexts(
    params: LumberjackParameters, uri: ChannelUri, *, is_publication: bool
) -> TlsContexts | None:
    params.check_tls(uri, is_publication=is_publication)
    if not params.tls:
        return None
    try:
        # No certificate is for a scope.
        host = params.endpoint.host.partition("%")[0]
        return TlsContexts(params, server_side=not is_publication, server_name=host)
    except TlsFileError as error:
        raise uri.fault(error.key, error.text) from error


def _lumberjack_channel(channel: Channel) -> LumberjackChannel:
    if not isinstance(channel, LumberjackChannel):
        raise TypeError(f"{channel!r} was not resolved by this medium")
    return channel


class LumberjackTransport(MediaTransport):
    """Makes endpoints of Lumberjack channels."""

    parameters = LumberjackParameters
    draws_from_log = True
    unit = "connection"

    def resolve_channel(
        self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool
    ) -> LumberjackChannel:
        """See `MediaTransport.resolve_channel`."""
        params = LumberjackParameters.parse(uri)
        try:
            params.frame_limits()
        except ValueError as error:
            raise ChannelUriError(f"{error}, in {str(uri)!r}") from error
        tls = _tls_contexts(params, uri, is_publication=is_publication)
        address = resolve(str(params.endpoint), "endpoint")
        return LumberjackChannel(
            uri=uri,
            canonical_form=f"LUMBERJACK-{address}{params.tls_identity}",
            remote=address,
            params=params,
            tls=tls,
        )

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """See `MediaTransport.open_send_endpoint`."""
        channel = _lumberjack_channel(params.channel)
        keys = channel.keys
        tls = TlsStreams(channel.tls) if channel.tls else None
        network = tls or params.streams or SystemStreams()
        writer = WriterParams(
            counters=WriterCounters(params.new_counter),
            budget=MemoryBudget(keys.max_memory),
            ends=EndSlot(),
            remote=channel.address,
            encoder=EncoderParams(compression=keys.compression, is_wrapping=keys.wrap),
            window=keys.window,
            pipeline=keys.pipeline,
            timeout_ns=keys.timeout,
            backoff_init_ns=keys.backoff_init,
            backoff_max_ns=keys.backoff_max,
            ttl_ns=keys.ttl,
        )
        return LumberjackSendEndpoint(
            writer,
            partial(
                network.new_stream,
                sndbuf_length=params.sndbuf_length,
                rcvbuf_length=params.rcvbuf_length,
            ),
            tls,
        )

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """See `MediaTransport.open_receive_endpoint`."""
        channel = _lumberjack_channel(params.channel)
        keys = channel.keys
        tls = TlsStreams(channel.tls) if channel.tls else None
        network = tls or params.streams or SystemStreams()
        listener = network.listen(StreamOptions(channel.address, params.sndbuf_length, params.rcvbuf_length))
        try:
            reader = ReaderParams(
                counters=ReaderCounters(params.new_counter),
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
            )
            return LumberjackReceiveEndpoint(params, listener, keys, reader, tls)
        except BaseException:
            listener.close()
            raise
