"""The IPC publications of a driver."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from aeron_core._native import positions
from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.driver.conductor.lifecycle import take_ended
from aeron_core.driver.conductor.publications.ipc_publication_lifecycle import IpcPublicationLifecycle
from aeron_core.driver.conductor.publications.publication_log import publication_log_params
from aeron_core.driver.conductor.publications.publication_registrar import PublicationRegistrar
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.sender.ipc_publication import IpcPublication
from aeron_core.driver.sender.publication_params import IpcPublicationParams
from aeron_core.protocol import responses
from aeron_core.uri.parameters import PublicationParams

if TYPE_CHECKING:
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.log_storage import StoredLog
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_core.uri.parameters import FindTagged


class IpcPublicationRegistrar(PublicationRegistrar):
    """Used by the conductor only."""

    def __init__(
        self, context: DriverContext, subscriptions: SubscriptionRegistrar, find_tagged: FindTagged
    ) -> None:
        super().__init__(context, find_tagged)
        self._subscriptions = subscriptions
        self.lifecycles: list[IpcPublicationLifecycle] = []

    def add(
        self,
        client: Client,
        command: AddPublication | AddExclusivePublication,
        uri: ChannelUri,
        *,
        is_exclusive: bool,
    ) -> None:
        """Make or share a publication, tell its client, and link a new one to the subscriptions that wait for it."""
        params = PublicationParams.parse(uri, self.context.settings.publication_defaults, self._find_tagged)
        lifecycle = (
            None if is_exclusive else self.find_shared(self.lifecycles, command.stream_id, params, uri)
        )
        if lifecycle is None:
            lifecycle = self._create(command, uri, params, is_exclusive=is_exclusive)
        self.use(client, command, lifecycle)
        ready = responses.OnExclusivePublicationReady if is_exclusive else responses.OnPublicationReady
        self.context.clients.send(
            ready(
                command.correlation_id,
                lifecycle.registration_id,
                lifecycle.session_id,
                lifecycle.stream_id,
                lifecycle.counters[1].id,
                -1,
                str(lifecycle.log_path),
            )
        )

    def _create(
        self,
        command: AddPublication | AddExclusivePublication,
        uri: ChannelUri,
        params: PublicationParams,
        *,
        is_exclusive: bool,
    ) -> IpcPublicationLifecycle:
        session_id = self.session_id_for(params, self.lifecycles, command.stream_id, uri)
        stored = self.context.logs.create(
            "publications",
            command.correlation_id,
            publication_log_params(self.context, command, params, session_id, is_exclusive=is_exclusive),
        )
        lifecycle = IpcPublicationLifecycle(
            self.context,
            stored,
            params,
            registration_id=command.correlation_id,
            session_id=session_id,
            stream_id=command.stream_id,
            channel=command.channel,
            is_exclusive=is_exclusive,
        )
        owner = CounterOwner(
            command.correlation_id, session_id, command.stream_id, command.channel, command.client_id
        )
        kind = "exclusive" if is_exclusive else "concurrent"
        names = (
            (counter_types.PUBLISHER_POSITION, f"pub-pos ({kind})"),
            (counter_types.PUBLISHER_LIMIT, "pub-lmt"),
        )
        with ExitStack() as undo:
            undo.callback(lifecycle.close)
            lifecycle.allocate_counters(names, owner)
            lifecycle.publication = IpcPublication(
                IpcPublicationParams(
                    registration_id=command.correlation_id,
                    session_id=session_id,
                    stream_id=command.stream_id,
                    log=stored.log,
                    position=start_position(stored, params),
                    publisher_window_length=params.publication_window_length,
                    publisher_position=lifecycle.counters[0],
                    publisher_limit=lifecycle.counters[1],
                )
            )
            asking = self._asking(params, command.stream_id)
            waiting = self._subscriptions.of_ipc(lifecycle)
            if asking is not None and asking not in waiting:
                waiting.append(asking)
            links = reserve_links((lifecycle, each) for each in waiting)
            undo.pop_all()
        if asking is not None:
            asking.take_responses_of(session_id)
        self.lifecycles.append(lifecycle)
        # Before the sender looks after the stream: whoever waited for it sees it from its start.
        for link in links:
            link.establish()
        lifecycle.start()
        return lifecycle

    def _asking(self, params: PublicationParams, stream_id: int) -> SubscriptionEntry | None:
        """Return the subscription to which a new stream brings responses, of which that is the latest.

        Source: aeron_driver_conductor.c, aeron_driver_conductor_find_and_update_ipc_response_subscription.
        """
        for requests in self.lifecycles:
            if requests.registration_id == params.response_correlation_id:
                return self._subscriptions.of_responses(requests.params.response_correlation_id, stream_id)
        return None

    def on_timer(self, now_ns: int) -> None:
        """Go on with the life of all publications."""
        for lifecycle in take_ended(self.lifecycles, now_ns):
            lifecycle.stop()


def start_position(stored: StoredLog, params: PublicationParams) -> int:
    """Return the stream position at which a publication starts."""
    if params.start is None:
        return 0
    return positions.compute_position(
        params.start.term_id,
        params.start.term_offset,
        stored.log.position_bits_to_shift,
        params.start.initial_term_id,
    )
