"""Commands of a client, for itself and for its publications, subscriptions and counters.

Not here: waiting (conductor) and the blocking methods (aeron).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from aeron_core._native import wire
from aeron_core.client.command_arguments import (
    channel_of,
    int32_of,
    int64_of,
    key_of,
    label_of,
)
from aeron_core.client.counters import Counter
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.publications.publication import Publication
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counters import NULL_COUNTER_ID
from aeron_core.errors import ClosedError, NotConnectedError, ProtocolError
from aeron_core.protocol import commands
from aeron_core.uri.values import INT32_MAX, INT32_MIN

if TYPE_CHECKING:
    from aeron_core.client.conductor.conductor import ClientConductor
    from aeron_core.client.handlers import ImageHandler
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.client.owner import Connectable
    from aeron_core.client.registrations import Registration
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.protocol import responses

T = TypeVar("T")
P = ParamSpec("P")
_P = TypeVar("_P", Publication, ExclusivePublication)

# A field of AddSubscription that drivers ignore.
_NO_CORRELATION_ID: Final = -1


class ClientOperations:
    """The owner of a client's resources. Any thread may use it.

    Methods that return a registration raise ClosedError once the client is closed, ClientError if the driver's command
    ring stays full for 10 ms, ConfigurationError if the command is too long for it, and TypeError or ValueError for a
    wrong argument; the registration completes when the driver answers.
    """

    def __init__(self, conductor: ClientConductor) -> None:
        self._conductor = conductor
        self._driver = conductor.driver
        self._resources = conductor.resources

    @property
    def loop_bells(self) -> LoopBells | None:
        """See `ResourceOwner.loop_bells`."""
        return self._conductor.loop_bells()

    # Methods for `Aeron`, which returns their registrations or waits for them.

    def add_publication(self, channel: str, stream_id: int) -> Registration[Publication]:
        """Send the command that adds a publication that clients share; return its registration."""
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")
        what = f"add_publication {channel!r} {stream_id}"
        make = partial(self._make_publication, Publication, channel)
        return self._send(what, make, commands.AddPublication, stream_id, channel)

    def add_exclusive_publication(self, channel: str, stream_id: int) -> Registration[ExclusivePublication]:
        """Send the command that adds an exclusive publication; return its registration."""
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")
        what = f"add_exclusive_publication {channel!r} {stream_id}"
        make = partial(self._make_publication, ExclusivePublication, channel)
        return self._send(what, make, commands.AddExclusivePublication, stream_id, channel)

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        on_available_image: ImageHandler | None,
        on_unavailable_image: ImageHandler | None,
    ) -> Registration[Subscription]:
        """Send the command that adds a subscription; return its registration.

        A handler that is None is that of the client's `ClientHandlers`.
        """
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")

        def make(response: responses.OnSubscriptionReady) -> Subscription:
            try:
                self._check_status_id(response.channel_status_indicator_id)
            except ProtocolError:
                # Nor must a subscription that cannot be used stay open in the driver: it would stop its senders.
                self._driver.send(commands.RemoveSubscription, response.correlation_id)
                raise
            handlers = self._conductor.callbacks.handlers
            subscription = Subscription(
                self,
                channel,
                stream_id,
                response.correlation_id,
                response.channel_status_indicator_id,
                on_available_image or handlers.on_available_image,
                on_unavailable_image or handlers.on_unavailable_image,
            )
            self._resources.subscriptions[response.correlation_id] = subscription
            return subscription

        what = f"add_subscription {channel!r} {stream_id}"
        return self._send(what, make, commands.AddSubscription, _NO_CORRELATION_ID, stream_id, channel)

    def add_counter(self, type_id: int, key: bytes, label: str) -> Registration[Counter]:
        """Send the command that adds a counter with the lifetime of the client; return its registration."""
        type_id, key, label = int32_of(type_id, "type_id"), key_of(key), label_of(label)

        def make(response: responses.OnCounterReady) -> Counter:
            try:
                counter = Counter(
                    self, self._conductor.counters, response.counter_id, response.correlation_id
                )
            except Exception:
                self._driver.send(commands.RemoveCounter, response.correlation_id)
                raise
            self._resources.counters[counter.registration_id] = counter
            return counter

        what = f"add_counter {type_id} {label!r}"
        return self._send(what, make, commands.AddCounter, type_id, key, label)

    def add_static_counter(
        self, type_id: int, registration_id: int, key: bytes, label: str
    ) -> Registration[Counter]:
        """Send the command of `Aeron.add_static_counter`; return its registration."""
        type_id, key, label = int32_of(type_id, "type_id"), key_of(key), label_of(label)
        registration_id = int64_of(registration_id, "registration_id")

        def make(response: responses.OnStaticCounter) -> Counter:
            return Counter(
                self, self._conductor.counters, response.counter_id, registration_id, is_static=True
            )

        what = f"add_static_counter {type_id} {label!r}"
        return self._send(what, make, commands.AddStaticCounter, registration_id, type_id, key, label)

    def next_session_id(self, stream_id: int) -> Registration[int] | int:
        """Request a session id that no publication of the driver uses with the stream id; return the registration.

        Returns a random int32 instead, without a request, if the counter of the driver's control protocol version is
        missing or too low. Raises ClientError instead of a request in a handler.
        """
        stream_id = int32_of(stream_id, "stream_id")
        counters = self._conductor.counters
        counter_id = counter_types.SYSTEM_CONTROL_PROTOCOL_VERSION
        is_known = (
            counter_id <= counters.max_counter_id
            and counters.state(counter_id) == wire.COUNTER_STATE_ALLOCATED
            and counters.type_id(counter_id) == counter_types.SYSTEM
            and counters.value(counter_id) >= wire.CONTROL_PROTOCOL_VERSION
        )
        if not is_known:
            return random.randint(INT32_MIN, INT32_MAX)

        def make(response: responses.OnNextAvailableSessionId) -> int:
            return response.next_session_id

        self.check_may_wait()  # `Aeron.next_session_id` waits for every answer
        what = f"next_session_id {stream_id}"
        return self._send(what, make, commands.GetNextAvailableSessionId, stream_id)

    # Methods of `ResourceOwner`, for publications, subscriptions and counters.

    @property
    def counters(self) -> CountersReader:
        """The counters of the driver and its clients."""
        return self._conductor.counters

    def command(
        self,
        what: str,
        kind: Callable[Concatenate[int, int, P], commands.DriverCommand],
        *fields: P.args,
        **named: P.kwargs,
    ) -> Registration[int]:
        """See `ResourceOwner.command`."""

        def make(response: responses.OnOperationSuccess) -> int:
            return response.correlation_id

        return self._send(what, make, kind, *fields, **named)

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """See `ResourceOwner.await_until`."""
        return self._conductor.await_until(condition, timeout)

    def check_open(self) -> None:
        """Raise ClosedError if the client is closed, from the error that closed it."""
        self._conductor.check_open()

    def check_may_wait(self) -> None:
        """See `ResourceOwner.check_may_wait`."""
        # In this order: a handler of a client that closes gets ClosedError.
        self._conductor.check_open()
        self._conductor.check_may_wait()

    def await_connected(self, resource: Connectable, timeout: float | None) -> None:
        """See `ResourceOwner.await_connected`."""
        self._conductor.await_until(lambda: resource.is_connected or resource.is_closed, timeout)
        if resource.is_closed:
            self._conductor.check_open()
            raise ClosedError(f"{resource!r} is closed: add a new one")
        if not resource.is_connected:
            raise NotConnectedError(
                f"{resource!r}: not connected within {timeout} s: start its peer for the same channel and stream, or "
                "as many receivers as the flow control of a publication requires, or use a longer timeout"
            )

    def close_publication(self, registration_id: int, *, revoke: bool) -> None:
        """See `ResourceOwner.close_publication`."""
        with self._conductor.lock:
            if registration_id in self._resources.publications:
                # First the command, which may raise: the resource then stays open, and can be closed again. If it was
                # closed here only, the driver would keep it until the client ends. The same holds below.
                self._remove_publication(registration_id, revoke=revoke)
                self._resources.remove_publication(registration_id, self._now_ns())

    def close_subscription(self, registration_id: int) -> None:
        """See `ResourceOwner.close_subscription`; calls `on_unavailable_image` for each image that this closes."""
        with self._conductor.lock:
            if registration_id not in self._resources.subscriptions:
                return
            self._driver.send(commands.RemoveSubscription, registration_id)
            removed = self._resources.remove_subscription(registration_id, self._now_ns())
            # A signal handler may have closed it meanwhile.
            if removed is None:
                return
            subscription, images = removed
            for image in images:
                self._conductor.callbacks.unavailable_image(subscription, image)

    def close_counter(self, registration_id: int) -> None:
        """See `ResourceOwner.close_counter`."""
        with self._conductor.lock:
            if registration_id in self._resources.counters:
                self._driver.send(commands.RemoveCounter, registration_id)
                self._resources.remove_counter(registration_id)

    def _send(
        self,
        what: str,
        make: Callable[..., T],
        kind: Callable[Concatenate[int, int, P], commands.DriverCommand],
        *fields: P.args,
        **named: P.kwargs,
    ) -> Registration[T]:
        conductor = self._conductor
        with conductor.lock:
            conductor.check_open()
            return conductor.register(self._driver.send(kind, *fields, **named), what, make)

    def _remove_publication(self, registration_id: int, *, revoke: bool) -> None:
        flags = wire.COMMAND_REMOVE_PUBLICATION_FLAG_REVOKE if revoke else 0
        self._driver.send(commands.RemovePublication, registration_id, flags)

    def _make_publication(self, kind: type[_P], channel: str, response: responses.OnPublicationReady) -> _P:
        try:
            publication = self._map_publication(kind, channel, response)
        except Exception:
            # A publication that cannot be used here must not stay open in the driver.
            self._remove_publication(response.correlation_id, revoke=False)
            raise
        self._resources.publications[response.correlation_id] = publication
        return publication

    def _map_publication(self, kind: type[_P], channel: str, response: responses.OnPublicationReady) -> _P:
        self._check_status_id(response.channel_status_indicator_id)
        # Look up the counter first: if that failed after the log was acquired, no publication would release it.
        limit = self._conductor.counters.values.view(
            response.position_limit_counter_id * wire.COUNTER_VALUE_LENGTH, wire.COUNTER_VALUE_LENGTH
        )
        log = self._resources.log_buffers.acquire(response.registration_id, response.log_file)
        try:
            return kind(
                PublicationArguments(
                    owner=self,
                    channel=channel,
                    stream_id=response.stream_id,
                    session_id=response.session_id,
                    registration_id=response.correlation_id,
                    original_registration_id=response.registration_id,
                    channel_status_id=response.channel_status_indicator_id,
                    position_limit_id=response.position_limit_counter_id,
                    log=log,
                    bell=self._driver.sender_bell,
                    stream_bell=self._driver.stream_bell(response.registration_id),
                    limit=limit,
                )
            )
        except Exception:
            self._resources.log_buffers.release(response.registration_id, self._now_ns())
            raise

    def _check_status_id(self, counter_id: int) -> None:
        """Raise ProtocolError if an id is neither -1, as of IPC, nor that of a counter."""
        max_id = self._conductor.counters.max_counter_id
        if not NULL_COUNTER_ID <= counter_id <= max_id:
            raise ProtocolError(
                f"channel_status_indicator_id={counter_id}: must be from {NULL_COUNTER_ID} to {max_id}, the ids of "
                "the counters; restart the media driver if it occurs again"
            )

    def _now_ns(self) -> int:
        return self._conductor.clock.nano_time()
