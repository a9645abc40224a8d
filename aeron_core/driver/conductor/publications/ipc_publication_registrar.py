"""Registrar of the IPC publications of a driver: adds, shares and stops them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counters import NULL_COUNTER_ID
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.publications.ipc_publication_lifecycle import IpcPublicationLifecycle
from aeron_core.driver.conductor.publications.publication_log import publication_log_params, start_position
from aeron_core.driver.conductor.publications.publication_registrar import PublicationRegistrar
from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
from aeron_core.driver.conductor.stream_storage import StreamStorage
from aeron_core.driver.conductor.streams import Streams
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.sender.ipc_publication import IpcPublication
from aeron_core.driver.sender.publication_params import IpcPublicationParams
from aeron_core.uri.parameters import NULL_CORRELATION_ID, PublicationParameters

if TYPE_CHECKING:
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_registrar import SessionIds
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_core.uri.session_ids import FindTagged


class IpcPublicationRegistrar(PublicationRegistrar):
    """Registrar of the IPC publications of a driver. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        subscriptions: SubscriptionRegistrar,
        session_ids: SessionIds,
        find_tagged: FindTagged,
    ) -> None:
        super().__init__(context, session_ids, find_tagged)
        self._subscriptions = subscriptions
        self.lifecycles: Streams[IpcPublicationLifecycle] = Streams()

    def add(
        self,
        client: Client,
        command: AddPublication | AddExclusivePublication,
        uri: ChannelUri,
        *,
        is_exclusive: bool,
    ) -> None:
        """Add or share a publication and respond to its client; a new one is linked to its subscriptions.

        Raises ChannelUriError if a parameter is wrong, CommandRefusedError if an existing stream contradicts the
        command, StorageError if there is too little space or no counter is free.
        """
        params = PublicationParameters.parse(
            uri, self.context.settings.publication_defaults, self._find_tagged
        )
        lifecycle = (
            # An exclusive publication has one writer, which appends without the atomic claims that
            # sharing needs.
            None
            if is_exclusive
            else self.find_shared(self.lifecycles.of(command.stream_id), command.stream_id, params, uri)
        )
        if lifecycle is None:
            session_id = self.session_id_for(
                params, self._unfinished(command.stream_id), command.stream_id, uri
            )
            lifecycle = self._create(PublicationRequest(command, params, session_id, is_exclusive))
        self.use(client, command, lifecycle, NULL_COUNTER_ID)

    def _unfinished(self, stream_id: int) -> list[IpcPublicationLifecycle]:
        # As in the reference, a stream that lingers blocks no session id.
        states = (operations.PUBLICATION_ACTIVE, operations.PUBLICATION_DRAINING)
        return [each for each in self.lifecycles.of(stream_id) if each.state in states]

    def _create(self, request: PublicationRequest) -> IpcPublicationLifecycle:
        params, stream_id = request.params, request.command.stream_id
        storage = StreamStorage(
            self.context, "publications", request.owner, publication_log_params(self.context, request)
        )
        with ExitStack() as undo:
            # Until `pop_all` a failure releases the log and the counters; after it nothing can fail.
            undo.callback(storage.release)
            lifecycle = IpcPublicationLifecycle(
                self.context, _new_publication(self.context, request, storage), request, storage
            )
            response_subscription = self._response_subscription(params, stream_id)
            waiting = self._subscriptions.of_ipc(lifecycle)
            if response_subscription is not None and response_subscription not in waiting:
                waiting.append(response_subscription)
            links = reserve_links((lifecycle, each) for each in waiting)
            undo.pop_all()
        if response_subscription is not None:
            # From now on the response subscription accepts this session only.
            response_subscription.accept_responses_of(request.session_id)
        # Listed before the response: a subscription that the next command adds finds the stream.
        self.lifecycles.add(lifecycle)
        # Linked before the sender gets the stream: subscriptions that waited for it join at its start.
        for link in links:
            link.establish()
        lifecycle.start()
        return lifecycle

    def _response_subscription(
        self, params: PublicationParameters, stream_id: int
    ) -> SubscriptionEntry | None:
        """Return the subscription that gets a new stream as its responses, None if there is none.

        Source: aeron_driver_conductor.c, aeron_driver_conductor_find_and_update_ipc_response_subscription.
        """
        if params.response_correlation_id == NULL_CORRELATION_ID:
            return None
        # In IPC the publication of the requests is also the image of its subscribers: both have one id.
        for requests in self.lifecycles:
            if requests.registration_id == params.response_correlation_id:
                return self._subscriptions.of_responses(requests.params.response_correlation_id, stream_id)
        return None

    def on_timer(self, now_ns: int) -> None:
        """Advance all publications and stop those that have ended."""
        for lifecycle in self.lifecycles.take_ended(now_ns):
            lifecycle.stop()


def _new_publication(
    context: DriverContext, request: PublicationRequest, storage: StreamStorage
) -> IpcPublication:
    storage.allocate(counter_types.PUBLISHER_POSITION, request.position_name)
    storage.allocate(counter_types.PUBLISHER_LIMIT, "pub-lmt")
    return IpcPublication(
        IpcPublicationParams(
            registration_id=request.registration_id,
            session_id=request.session_id,
            stream_id=request.command.stream_id,
            log=storage.log,
            # All positions start here. Publishers cannot append before the sender has raised the limit.
            position=start_position(storage.log, request.params),
            publisher_window_length=request.params.publication_window_length,
            publisher_position=storage[counter_types.PUBLISHER_POSITION],
            publisher_limit=storage[counter_types.PUBLISHER_LIMIT],
            bell=context.bell_of(request.registration_id),
        )
    )
