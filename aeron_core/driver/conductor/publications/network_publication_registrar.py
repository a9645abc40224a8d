"""Registrar of the network publications of a driver, and of the send endpoints that they share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from aeron_core.driver.conductor.endpoints.protection import check_shared_security
from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
from aeron_core.driver.conductor.endpoints.shared_endpoints import (
    check_original,
    check_socket_lengths,
    find_endpoint,
    key_of,
)
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.publications.network_publication_lifecycle import (
    NetworkPublicationLifecycle,
    NetworkPublications,
)
from aeron_core.driver.conductor.publications.new_network_publication import new_network_publication
from aeron_core.driver.conductor.publications.publication_log import publication_log_params
from aeron_core.driver.conductor.publications.publication_registrar import PublicationRegistrar
from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
from aeron_core.driver.conductor.stream_storage import StreamStorage
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.socket_lengths import os_default_sndbuf_length
from aeron_core.errors import ErrorCode
from aeron_core.uri.parameters import PublicationParameters
from aeron_core.uri.socket_buffers import SocketBuffer, check_mtu_fits_socket

if TYPE_CHECKING:
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_registrar import SessionIds
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.spi.media import Channel, MediaTransport


class NetworkPublicationRegistrar(PublicationRegistrar):
    """Registrar of the network publications of a driver. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        subscriptions: SubscriptionRegistrar,
        session_ids: SessionIds,
        publications: NetworkPublications,
    ) -> None:
        super().__init__(context, session_ids, publications.find_tagged)
        self._subscriptions = subscriptions
        self.lifecycles = publications.lifecycles
        self.endpoints: dict[str, SendEndpointEntry] = {}

    def add(
        self,
        client: Client,
        command: AddPublication | AddExclusivePublication,
        transport: MediaTransport,
        channel: Channel,
        *,
        is_exclusive: bool,
    ) -> NetworkPublicationLifecycle | None:
        """Add or share a publication and respond to its client; return the lifecycle of a new one, else None.

        Raises ChannelUriError or CommandRefusedError if the command is wrong or contradicts an existing stream or
        endpoint; PluginError, or OSError such as StorageError, if a new one cannot be created.
        """
        uri = channel.uri
        params = PublicationParameters.parse(
            uri,
            self.context.settings.publication_defaults,
            self._find_tagged,
            compares_sockets=False,
        )
        # These checks come before the first socket or file: a command that contradicts an existing
        # channel changes nothing.
        endpoint = find_endpoint(self.endpoints, channel)
        if endpoint is None:
            check_original(channel)
        else:
            transport.check_shared(channel, endpoint.channel)
            check_shared_security(channel, endpoint.channel)
            endpoint.check_timestamps(channel, "channel-snd-ts-offset")
        self._check_sockets(transport, endpoint, channel, params)
        # Receivers identify a stream by its session id and stream id on a channel: ids of other channels
        # do not matter.
        siblings = self._siblings(endpoint, command.stream_id)
        lifecycle = None if is_exclusive else self.find_shared(siblings, command.stream_id, params, uri)
        if lifecycle is not None:
            _check_simulation(lifecycle, params)
        new = None
        if lifecycle is None:
            session_id = self.session_id_for(params, siblings, command.stream_id, uri)
            if endpoint is None:
                # Registered before the publication exists: if that cannot be created, the endpoint is closed again.
                key = key_of(self.endpoints, channel)
                endpoint = SendEndpointEntry(self.context, transport, channel, key, command.correlation_id)
                self.endpoints[key] = endpoint
            try:
                new = lifecycle = self._create(
                    PublicationRequest(command, params, session_id, is_exclusive), endpoint
                )
            except BaseException:
                self._close_if_unused(endpoint)
                raise
        self.use(client, command, lifecycle, lifecycle.endpoint.status.id)
        return new

    def _siblings(
        self, endpoint: SendEndpointEntry | None, stream_id: int
    ) -> list[NetworkPublicationLifecycle]:
        return [each for each in self.lifecycles.of(stream_id) if each.endpoint is endpoint]

    def _check_sockets(
        self,
        transport: MediaTransport,
        endpoint: SendEndpointEntry | None,
        channel: Channel,
        params: PublicationParameters,
    ) -> None:
        settings = self.context.settings
        if transport.has_datagrams:
            sndbuf = SocketBuffer(
                params.endpoint.socket_sndbuf_length,
                settings.publication_defaults.socket_sndbuf_length,
                existing=None if endpoint is None else endpoint.channel.uri,
                # A frame that exceeds the send buffer of the socket could never be sent.
                os_default_length=os_default_sndbuf_length(),
            )
            check_mtu_fits_socket(channel.uri, params.mtu, sndbuf)
        if endpoint is not None:
            check_socket_lengths(
                channel,
                endpoint.channel,
                {
                    "so-rcvbuf": settings.socket_so_rcvbuf_length,
                    "so-sndbuf": settings.socket_so_sndbuf_length,
                },
                requires_defaults=False,
            )

    def _create(
        self, request: PublicationRequest, endpoint: SendEndpointEntry
    ) -> NetworkPublicationLifecycle:
        inner = request
        if endpoint.protector is not None:
            # The parameters of the request, for others that share or copy them, keep the length of datagrams.
            framed = replace(request.params, mtu=endpoint.frame_mtu(request.params.mtu))
            inner = replace(request, params=framed)
        log_params = publication_log_params(self.context, inner, endpoint.channel)
        storage = StreamStorage(self.context, "publications", request.owner, log_params)
        with ExitStack() as undo:
            undo.callback(storage.release)
            publication = new_network_publication(
                self.context, inner, endpoint, storage, log_params.initial_term_id
            )
            lifecycle = NetworkPublicationLifecycle(self.context, publication, request, storage, endpoint)
            spies = reserve_links((lifecycle, each) for each in self._subscriptions.of_spies(lifecycle))
            undo.pop_all()
        # From here on the endpoint stays open until the sender has released this publication.
        endpoint.user_count += 1
        self.lifecycles.add(lifecycle)
        # Linked before the sender gets the stream: spies that waited for it join at its start.
        for link in spies:
            link.establish()
        lifecycle.start()
        return lifecycle

    def _close_if_unused(self, endpoint: SendEndpointEntry) -> None:
        # The second condition fails if this endpoint was closed before, even if a new one has its key now.
        if endpoint.user_count == 0 and self.endpoints.get(endpoint.key) is endpoint:
            del self.endpoints[endpoint.key]
            endpoint.close()

    def _on_stopped(self, endpoint: SendEndpointEntry) -> None:
        # Called after the release: the sender may use the sockets of the endpoint until then.
        endpoint.user_count -= 1
        self._close_if_unused(endpoint)

    def on_timer(self, now_ns: int) -> None:
        """Advance all publications, stop those that ended; log faults and update counters of endpoints."""
        for lifecycle in self.lifecycles.take_ended(now_ns):
            lifecycle.stop(partial(self._on_stopped, lifecycle.endpoint))
        for endpoint in self.endpoints.values():
            # The sender only stores a fault; the conductor logs it, and updates counters that no agent writes.
            endpoint.keep_up(now_ns)


def _check_simulation(lifecycle: NetworkPublicationLifecycle, params: PublicationParameters) -> None:
    # Checked for network publications only, as in the reference: no spy reads an IPC publication.
    if params.spies_simulate_connection != lifecycle.params.spies_simulate_connection:
        requested = "true" if params.spies_simulate_connection else "false"
        raise CommandRefusedError(
            f"existing publication has different spies simulate connection: requested={requested}: ssc must be "
            f"{str(lifecycle.params.spies_simulate_connection).lower()}, as for {lifecycle.channel}; for a stream of "
            f"its own, add an exclusive publication",
            ErrorCode.GENERIC_ERROR,
        )
