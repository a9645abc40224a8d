"""The registrars of one driver: its subscriptions, publications and images."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from aeron_core.driver.conductor.publications.ipc_publication_registrar import IpcPublicationRegistrar
from aeron_core.driver.conductor.publications.network_publication_lifecycle import NetworkPublications
from aeron_core.driver.conductor.publications.network_publication_registrar import NetworkPublicationRegistrar
from aeron_core.driver.conductor.publications.publication_registrar import SessionIds
from aeron_core.driver.conductor.subscriptions.image_registrar import ImageRegistrar
from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.endpoint_entry import EndpointEntry
    from aeron_core.driver.conductor.lifecycle import StreamLifecycle


class Registrars:
    """All registrars, created together. Used by the conductor only."""

    def __init__(self, context: DriverContext) -> None:
        # Created first: the registrar of subscriptions looks up tags in it, and the network registrar needs both.
        publications = NetworkPublications()
        self.subscriptions = SubscriptionRegistrar(context, publications.find_tagged)
        # One sequence for both registrars, so that automatic session ids of one driver do not repeat.
        session_ids = SessionIds.from_settings(context.settings)
        self.ipc = IpcPublicationRegistrar(context, self.subscriptions, session_ids, publications.find_tagged)
        self.network = NetworkPublicationRegistrar(context, self.subscriptions, session_ids, publications)
        self.images = ImageRegistrar(context, self.subscriptions)

    def lifecycles(self) -> Iterator[StreamLifecycle]:
        """Return an iterator of the lifecycles of all publications and images, which subscriptions are linked to."""
        return chain(self.ipc.lifecycles, self.network.lifecycles, self.images.lifecycles)

    def endpoints(self) -> list[EndpointEntry]:
        """Return all open channel endpoints."""
        return [*self.network.endpoints.values(), *self.subscriptions.endpoints.values()]
