"""Commands that add and remove the resources of clients: publications, subscriptions and counters."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.concurrent.counter_types import DRIVER_OWNER_ID
from aeron_core.driver.conductor.commands.rejections import Rejections
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.publications.response_channels import ResponseChannels
from aeron_core.driver.conductor.publications.send_destinations import SendDestinations
from aeron_core.driver.conductor.subscriptions.receive_destinations import ReceiveDestinations
from aeron_core.errors import ErrorCode
from aeron_core.protocol import responses
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.names.name_resolution import NameResolution, Unfinished
    from aeron_core.driver.conductor.registrars import Registrars
    from aeron_core.protocol import commands
    from aeron_core.spi.media import Channel, MediaTransport


class ClientResources:
    """Handlers of commands on resources, and their timers. Used by the conductor only."""

    def __init__(self, context: DriverContext, resolution: NameResolution, registrars: Registrars) -> None:
        self.context = context
        self._resolution = resolution
        self._registrars = registrars
        self.destinations = SendDestinations(context, resolution, registrars.network)
        self.response_channels = ResponseChannels(context, registrars)
        self.rejections = Rejections(context, registrars)
        self.receive_destinations = ReceiveDestinations(context, resolution, registrars)
        self._static_counters: dict[tuple[int, int], int] = {}

    def on_timer(self, now_ns: int) -> None:
        """Advance publications, images, rejections and subscriptions; announce responses, retry failed deletions."""
        self._registrars.ipc.on_timer(now_ns)
        self._registrars.network.on_timer(now_ns)
        self._registrars.images.on_timer(now_ns)
        self.rejections.on_timer(now_ns)
        self.response_channels.announce_all()
        self._registrars.subscriptions.on_timer(now_ns)
        self.context.logs.retry_deletions()

    def add_publication(
        self, client: Client, command: commands.AddPublication | commands.AddExclusivePublication
    ) -> Unfinished | None:
        """Add or share a publication; return the unfinished command of a network channel, None for shared memory.

        The call or the continuation raises CommandRefusedError or ChannelUriError if the channel or its parameters are
        refused; PluginError, or OSError such as StorageError, if the publication cannot be created.
        """
        is_exclusive = command.TYPE_ID == wire.COMMAND_ADD_EXCLUSIVE_PUBLICATION
        uri = ChannelUri.parse(command.channel)
        if uri.is_spy:
            raise CommandRefusedError(
                f"invalid URI scheme or transport: {command.channel}: a publication cannot be a spy: must start with "
                f"aeron:",
                ErrorCode.INVALID_CHANNEL,
            )
        transport = self._medium_of(uri)
        if transport.is_shared_memory:
            # Shared memory has no names to resolve: the response follows at once.
            self._registrars.ipc.add(client, command, uri, is_exclusive=is_exclusive)
            return None

        def resolved(channel: Channel) -> None:
            # Checked before anything is created, so that a refused command leaves nothing behind.
            image = self.response_channels.check(channel)
            self._registrars.network.add(client, command, transport, channel, is_exclusive=is_exclusive)
            if image is not None:
                self.response_channels.announce(image)

        return self._resolution.resolve(transport, uri, is_publication=True), resolved

    def remove_publication(self, client: Client | None, command: commands.RemovePublication) -> None:
        """Release a client's publication, and confirm. Raises CommandRefusedError if the client does not have it."""
        # Only the owner may remove a resource. A client that timed out owns nothing any more, so its late
        # command is refused too.
        lifecycle = None if client is None else client.publications.pop(command.registration_id, None)
        if lifecycle is None:
            raise CommandRefusedError(
                f"unknown publication client_id={command.client_id} registration_id={command.registration_id}: must "
                f"be the registration id of a publication that this client added and did not remove; a client that "
                f"timed out must connect again",
                ErrorCode.UNKNOWN_PUBLICATION,
            )
        # The response does not wait for the end of the stream, which may still have to drain and to linger.
        lifecycle.release(revoke=command.revoke)
        self.context.clients.on_success(command.correlation_id)

    def add_subscription(self, client: Client, command: commands.AddSubscription) -> Unfinished | None:
        """Add a subscription; return the unfinished command of a network channel or spy, None for shared memory.

        The call or the continuation raises CommandRefusedError or ChannelUriError if the channel or its parameters are
        refused; PluginError, or OSError such as StorageError, if the subscription cannot be created.
        """
        uri = ChannelUri.parse(command.channel)
        if uri.is_spy:
            return self._add_spy(client, command, uri)
        transport = self._medium_of(uri)
        if transport.is_shared_memory:
            self._registrars.subscriptions.add_shared_memory(
                client, command, uri, self._registrars.ipc.lifecycles
            )
            return None
        future = self._resolution.resolve(transport, uri, is_publication=False)
        return future, partial(self._add_network_subscription, client, command, transport)

    def _add_spy(self, client: Client, command: commands.AddSubscription, uri: ChannelUri) -> Unfinished:
        # Checked before the lookup: a channel that cannot be spied on need not be resolvable.
        self._registrars.subscriptions.params_of(uri)

        def resolved(channel: Channel) -> None:
            self._registrars.subscriptions.add_spy(
                client, command, channel, self._registrars.network.lifecycles
            )

        transport = self._medium_of(uri)
        return self._resolution.resolve(transport, uri, is_publication=True), resolved

    def _medium_of(self, uri: ChannelUri) -> MediaTransport:
        """Return the medium of a channel that is added, and report keys that it does not have."""
        transport = self.context.media_of(uri)
        self.context.unknown_keys.report(uri, transport)
        return transport

    def _add_network_subscription(
        self, client: Client, command: commands.AddSubscription, transport: MediaTransport, channel: Channel
    ) -> None:
        self._registrars.subscriptions.add_network(
            client, command, transport, channel, self._registrars.images.lifecycles
        )

    def remove_subscription(self, client: Client | None, command: commands.RemoveSubscription) -> None:
        """Remove a subscription, and confirm. Raises CommandRefusedError if the client has no such subscription."""
        # The client closes its images itself when it removes the subscription: it gets no unavailable
        # images.
        subscription = None if client is None else client.subscriptions.pop(command.registration_id, None)
        if subscription is None:
            raise CommandRefusedError(
                f"unknown subscription client_id={command.client_id} registration_id={command.registration_id}: must "
                f"be the registration id of a subscription that this client added and did not remove; a client that "
                f"timed out must connect again",
                ErrorCode.UNKNOWN_SUBSCRIPTION,
            )
        self._registrars.subscriptions.remove(subscription, self._registrars.lifecycles())
        self.context.clients.on_success(command.correlation_id)

    def add_counter(self, client: Client, command: commands.AddCounter) -> None:
        """Allocate a counter that the client owns, and send its id. Raises StorageError if no counter is free."""
        counter_id = self.context.counters.allocate(
            command.counter_type_id,
            command.label,
            command.key,
            registration_id=command.correlation_id,
            owner_id=client.client_id,
        )
        # The client owns the counter: it is freed with the client at the latest.
        client.counters[command.correlation_id] = counter_id
        self.context.clients.send(responses.OnCounterReady(command.correlation_id, counter_id))

    def add_static_counter(self, command: commands.AddStaticCounter) -> None:
        """Send the id of a static counter, which outlives its client; add it if its type and registration id are new.

        Raises CommandRefusedError if a counter that is not static has this type and registration id, StorageError if no
        counter is free.
        """
        key = (command.counter_type_id, command.registration_id)
        counter_id = self._static_counters.get(key)
        if counter_id is None:
            # A counter that a client owns is freed with that client, but a static one must stay allocated.
            existing_id = self.context.counters.find(*key)
            if existing_id >= 0:
                raise CommandRefusedError(
                    f"cannot add static counter, because a non-static counter exists (counterId={existing_id}) "
                    f"for typeId={key[0]} and registrationId={key[1]}: use another registration id",
                    is_invalid_argument=False,
                )
            counter_id = self.context.counters.allocate(
                command.counter_type_id,
                command.label,
                command.key,
                registration_id=command.registration_id,
                # No client owns it, so the end of a client does not free it.
                owner_id=DRIVER_OWNER_ID,
            )
            self._static_counters[key] = counter_id
        self.context.clients.send(responses.OnStaticCounter(command.correlation_id, counter_id))

    def remove_counter(self, client: Client | None, command: commands.RemoveCounter) -> None:
        """Free a counter, and confirm. Raises CommandRefusedError if the client has no such counter."""
        counter_id = None if client is None else client.counters.pop(command.registration_id, None)
        if counter_id is None:
            raise CommandRefusedError(
                f"unknown counter client_id={command.client_id} registration_id={command.registration_id}: must "
                f"be the registration id of a counter that this client added and did not remove; a client that "
                f"timed out must connect again",
                ErrorCode.UNKNOWN_COUNTER,
            )
        self.context.clients.on_success(command.correlation_id)
        # The order is that of the reference: first the response, then the event for all clients.
        self._free_counter(command.registration_id, counter_id)

    def _free_counter(self, registration_id: int, counter_id: int) -> None:
        self.context.clients.send(responses.OnUnavailableCounter(registration_id, counter_id))
        # Freed after the event: every client gets it before any event about a new counter with this id.
        self.context.counters.free(counter_id)

    def next_session_id(self, command: commands.GetNextAvailableSessionId) -> None:
        """Send a session id that no publication of this driver with the stream id uses, on any channel."""
        # The command names no channel, so the session id must be unused on every channel.
        lifecycles = list(chain(self._registrars.ipc.lifecycles, self._registrars.network.lifecycles))
        session_id = self._registrars.network.next_session_id(lifecycles, command.stream_id)
        self.context.clients.send(responses.OnNextAvailableSessionId(command.correlation_id, session_id))

    def release(self, client: Client) -> None:
        """Release the publications of a client, and remove its counters and subscriptions."""
        for lifecycle in client.publications.values():
            # The end of a client is no revocation: what it published is still delivered.
            lifecycle.release(revoke=False)
        for registration_id, counter_id in client.counters.items():
            self._free_counter(registration_id, counter_id)
        for subscription in list(client.subscriptions.values()):
            self._registrars.subscriptions.remove(subscription, self._registrars.lifecycles())
        client.publications.clear()
        client.counters.clear()
        client.subscriptions.clear()
