"""Re-resolution of the names of peers that may have moved: a name is resolved again when its peer is silent.

    publication          `endpoint`, when no receiver has responded for the publication's connection timeout;
                         then at each check until one responds
    manual destination   its `endpoint`, when its receiver has not responded for five seconds; then every five seconds
    peer of a medium     its name, when the medium has lost the connection; the medium sets the interval
    with connections
    subscription or its  `control`, when nothing was received for five seconds; then every five seconds
    receive destination

Not here: groups, and destinations that are added by their own status messages.
Source: aeron_send_channel_endpoint.c (aeron_send_channel_endpoint_check_for_re_resolution),
aeron_udp_destination_tracker.c and aeron_receive_channel_endpoint.c (… of the same name).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.frozen import frozen
from aeron_core.uri.endpoint_parameters import ControlMode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from concurrent.futures import Future

    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.control_address import ControlAddress
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
    from aeron_core.driver.conductor.names.name_resolution import NameResolution
    from aeron_core.driver.conductor.publications.network_publication_registrar import (
        NetworkPublicationRegistrar,
    )
    from aeron_core.driver.conductor.registrars import Registrars
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar


@frozen()
class Search:
    """A name to resolve again; `change` applies an address and returns whether it replaced another one."""

    key: Hashable  # at most one search per key is pending
    name: str
    uri_key: str
    change: Callable[[SocketAddress], bool]


class ReResolution:
    """Searches for all kinds of silent peers. Used by the conductor only."""

    def __init__(self, context: DriverContext, resolution: NameResolution, registrars: Registrars) -> None:
        self._context = context
        self._resolution = resolution
        self._silence = (
            SilentPublications(context, registrars.network),
            SilentDestinations(registrars.network),
            LostPeers(registrars),
            SilentControls(registrars.subscriptions),
        )
        # 0 disables the feature: addresses stay as they were resolved first.
        self._interval_ns = context.settings.reresolution_check_interval_ns
        self._deadline_ns = context.clock.nano_time() + self._interval_ns
        self._pending: dict[Hashable, tuple[Search, Future[SocketAddress]]] = {}

    def do_work(self, now_ns: int) -> int:
        """Apply found addresses, and start searches if they are due.

        Returns the number of lookups that ended, plus 1 if searches were due. Raises RuntimeError if no helper thread
        can be started.
        """
        work = self._take_found() if self._pending else 0
        if self._interval_ns == 0 or now_ns < self._deadline_ns:
            return work
        self._deadline_ns = now_ns + self._interval_ns
        for silent in self._silence:
            for search in silent.searches(now_ns):
                self._start(search)
        return work + 1

    def next_time_ns(self, now_ns: int, otherwise_ns: int) -> int:
        """Return when searches are due, `now_ns` while there are lookups, `otherwise_ns` if there are no searches."""
        if self._pending:
            return now_ns
        return self._deadline_ns if self._interval_ns else otherwise_ns

    def _start(self, search: Search) -> None:
        # A lookup may take longer than the interval: do not start a second one for the same peer.
        if search.key in self._pending:
            return
        future = self._resolution.resolve_again(search.name, search.uri_key)
        if future is not None:
            self._pending[search.key] = (search, future)

    def _take_found(self) -> int:
        found = [key for key, (_, future) in self._pending.items() if future.done()]
        for key in found:
            search, future = self._pending.pop(key)
            try:
                # Applied on the conductor's thread. The old address stays in use until a lookup succeeds with
                # another one.
                if search.change(future.result()):
                    self._context.system_counters.resolution_changes.get_and_add(1)
            except Exception as error:
                self._context.errors.record_exception(
                    error,
                    f"re-resolution of {search.uri_key}={search.name} (it is retried; the last address is kept)",
                )
        return len(found)


class SilentPublications:
    """Unicast send endpoints without a responding receiver."""

    def __init__(self, context: DriverContext, publications: NetworkPublicationRegistrar) -> None:
        self._publications = publications
        self._timeout_ns = context.settings.publication_connection_timeout_ns

    def searches(self, now_ns: int) -> Iterator[Search]:
        """Yield a search for each unicast endpoint without a live receiver.

        One that never had a receiver is included only after the connection timeout.
        """
        connected = {
            lifecycle.endpoint
            for lifecycle in self._publications.lifecycles
            if lifecycle.publication.has_receivers.get_acquire()
        }
        for endpoint in connected:
            # None: a receiver has responded. When it is lost, the next check looks the name up at once, because it was
            # usually silent for the timeout already.
            endpoint.silent_since_ns = None
        for endpoint in self._publications.endpoints.values():
            if endpoint not in connected and self._is_silent(endpoint, now_ns) and _has_one_remote(endpoint):
                yield self._search(endpoint)

    def _is_silent(self, endpoint: SendEndpointEntry, now_ns: int) -> bool:
        since_ns = endpoint.silent_since_ns
        return since_ns is None or now_ns > since_ns + self._timeout_ns

    def _search(self, endpoint: SendEndpointEntry) -> Search:
        def change(address: SocketAddress) -> bool:
            # The endpoint may have been closed during the lookup.
            return _is_open(self._publications, endpoint) and endpoint.change_remote(address)

        return Search(endpoint, endpoint.channel.uri.params["endpoint"], "endpoint", change)


class SilentDestinations:
    """Manual destinations without status messages, as the sender reports them."""

    def __init__(self, publications: NetworkPublicationRegistrar) -> None:
        self._publications = publications

    def searches(self, now_ns: int) -> Iterator[Search]:
        """Yield a search for each manual destination that the sender reports as silent."""
        for endpoint in self._publications.endpoints.values():
            if endpoint.channel.is_manual:
                # The sender reports silence, because it receives the status messages of each destination.
                for registration_id in endpoint.native.take_silent_destinations():
                    # The sender may report a destination that a command has just removed.
                    if registration_id in endpoint.destinations:
                        yield self._search(endpoint, registration_id)

    def _search(self, endpoint: SendEndpointEntry, registration_id: int) -> Search:
        def change(address: SocketAddress) -> bool:
            return _is_open(self._publications, endpoint) and endpoint.change_destination(
                registration_id, address
            )

        name = endpoint.destinations[registration_id].name
        return Search((endpoint, registration_id), name, "endpoint", change)


class LostPeers:
    """Peers that a medium with connections has lost, as the medium reports them."""

    def __init__(self, registrars: Registrars) -> None:
        self._registrars = registrars

    def searches(self, now_ns: int) -> Iterator[Search]:
        """Yield a search for each peer that a medium reports as lost."""
        for endpoint in self._endpoints():
            # Other names of the endpoint are not looked up: their connections work.
            for name in endpoint.native.take_lost_names():
                yield self._search(endpoint, name)

    def _endpoints(self) -> list[SendEndpointEntry | ReceiveEndpointEntry]:
        return [
            *self._registrars.network.endpoints.values(),
            *self._registrars.subscriptions.endpoints.values(),
        ]

    def _search(self, endpoint: SendEndpointEntry | ReceiveEndpointEntry, name: str) -> Search:
        def change(address: SocketAddress) -> bool:
            # The endpoint may have been closed during the lookup.
            return endpoint in self._endpoints() and endpoint.native.change_address(name, address)

        return Search((endpoint, name), name, "endpoint", change)


class SilentControls:
    """Control addresses of subscriptions and their destinations from which nothing arrives."""

    def __init__(self, subscriptions: SubscriptionRegistrar) -> None:
        self._subscriptions = subscriptions

    def searches(self, now_ns: int) -> Iterator[Search]:
        """Yield a search for each silent control address, and record that its lookup has started."""
        for endpoint in self._subscriptions.endpoints.values():
            for control in endpoint.controls:
                if control.is_silent(now_ns):
                    # Recorded even if the lookup fails: the next one waits for the timeout again.
                    control.on_look_up(now_ns)
                    yield self._search(endpoint, control)

    def _search(self, endpoint: ReceiveEndpointEntry, control: ControlAddress) -> Search:
        def change(address: SocketAddress) -> bool:
            is_open = endpoint in self._subscriptions.endpoints.values() and control in endpoint.controls
            return is_open and control.change(address)

        return Search(control, control.name, "control", change)


def _has_one_remote(endpoint: SendEndpointEntry) -> bool:
    uri = endpoint.channel.uri
    return (
        # A group has no single peer whose silence means that it has moved.
        endpoint.remote is not None
        and not endpoint.channel.is_group
        and not endpoint.channel.is_multicast
        and "endpoint" in uri
        and ControlMode.of(uri) is ControlMode.NONE
    )


def _is_open(publications: NetworkPublicationRegistrar, endpoint: SendEndpointEntry) -> bool:
    return endpoint in publications.endpoints.values()
