"""A client that survives a restart of its driver and its own timeout; mirrors `Aeron`.

    with aeron_core.resilient.connect(on_event=print) as aeron:
        publication = aeron.add_publication("aeron:ipc", stream_id=1001)

Not here: detecting a loss and reconnecting (supervisor), re-adding (restoration).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aeron_core.client.command_arguments import channel_of, int32_of, int64_of, key_of, label_of
from aeron_core.errors import DriverTimeoutError
from aeron_core.resilient.counter import ResilientCounter
from aeron_core.resilient.peer_watch import ResilientPeerWatch, WatchedResource
from aeron_core.resilient.publications import ResilientExclusivePublication, ResilientPublication
from aeron_core.resilient.registration import ResilientRegistration
from aeron_core.resilient.subscription import ResilientSubscription, add_to

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.client.aeron import Aeron
    from aeron_core.client.conductor.peer_watch import PeerHandler, RefusalHandler
    from aeron_core.client.counters import Counter
    from aeron_core.client.handlers import CloseHandler, CounterHandler, ImageHandler
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.resilient.events import EventHandler
    from aeron_core.resilient.supervisor import Supervisor
    from aeron_core.settings.models import ClientSettings

T = TypeVar("T")


class ResilientAeron:
    """One client of whichever driver runs in a directory; any thread may use it.

    Commands wait for the driver while it is gone, within the driver timeout, and then raise DriverTimeoutError; for the
    rest they raise the errors of the same methods of `Aeron`. A client that is still open when the program exits is
    closed then.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    @property
    def client_id(self) -> int:
        """The id of this client in the driver, or in the last one; another one after each loss."""
        return self._supervisor.last.client_id

    @property
    def aeron_dir(self) -> Path:
        """The directory of the driver."""
        return self._supervisor.fields.aeron_dir

    @property
    def settings(self) -> ClientSettings:
        """The settings that the client runs with: those given to or loaded by `connect`, with its arguments applied."""
        return self._supervisor.last.settings

    @property
    def is_closed(self) -> bool:
        """Whether the program closed the client, or the client gave up; False while the driver is gone."""
        return self._supervisor.is_closed

    @property
    def is_connected(self) -> bool:
        """Whether the client is connected to a driver now, as far as it knows."""
        return not self.is_closed and self._supervisor.current is not None

    @property
    def counters_reader(self) -> CountersReader:
        """A reader of all counters of the driver, or of the last one: ask for it again after `Reconnected`."""
        return self._supervisor.last.counters_reader

    @property
    def driver_identity(self) -> str:
        """Id of the driver process, or of the last one, from its pid and start time."""
        return self._supervisor.last.driver_identity

    def do_work(self) -> int:
        """Run one duty cycle and return the work count; needed if the client has no threads.

        Reconnects, re-adds and calls the handlers of events. Does nothing and returns 0 once closed, or in a handler.
        """
        if self.is_closed:
            return 0
        return self._supervisor.last.do_work() + self._supervisor.do_work()

    def await_driver(self, timeout: float | None = None) -> None:
        """Wait until the client is connected to a driver; raise DriverTimeoutError after `timeout` seconds.

        None is no limit. Raises ClosedError if the client is closed, ClientError if it has to wait in a handler.
        """
        self._connected(timeout)

    def add_publication(self, channel: str, stream_id: int) -> ResilientPublication:
        """Add a publication that threads and clients share, and wait for the driver, as `Aeron.add_publication`."""
        self._supervisor.check_may_wait()
        return self.add_publication_async(channel, stream_id).result()

    def add_publication_async(
        self, channel: str, stream_id: int
    ) -> ResilientRegistration[ResilientPublication]:
        """Send the command of `add_publication` and return its registration without waiting for the driver."""
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")

        def make(plain: Publication) -> ResilientPublication:
            return ResilientPublication(self._supervisor, plain)

        def submit(
            aeron: Aeron,
        ) -> tuple[Registration[Publication], Callable[[Publication], ResilientPublication]]:
            return aeron.add_publication_async(channel, stream_id), make

        what = f"add_publication {channel!r} {stream_id}"
        return ResilientRegistration(self._supervisor, what, submit, self._supervisor.add)

    def add_exclusive_publication(self, channel: str, stream_id: int) -> ResilientExclusivePublication:
        """Add a publication with its own session, for one thread at a time; waits as `add_publication`."""
        self._supervisor.check_may_wait()
        return self.add_exclusive_publication_async(channel, stream_id).result()

    def add_exclusive_publication_async(
        self, channel: str, stream_id: int
    ) -> ResilientRegistration[ResilientExclusivePublication]:
        """Send the command of `add_exclusive_publication` and return its registration without waiting."""
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")

        def make(plain: ExclusivePublication) -> ResilientExclusivePublication:
            return ResilientExclusivePublication(self._supervisor, plain)

        def submit(
            aeron: Aeron,
        ) -> tuple[
            Registration[ExclusivePublication],
            Callable[[ExclusivePublication], ResilientExclusivePublication],
        ]:
            return aeron.add_exclusive_publication_async(channel, stream_id), make

        what = f"add_exclusive_publication {channel!r} {stream_id}"
        return ResilientRegistration(self._supervisor, what, submit, self._supervisor.add)

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> ResilientSubscription:
        """Add a subscription; waits as `add_publication`.

        A loss of the driver makes all images unavailable; those of the re-added subscription are available again.
        """
        self._supervisor.check_may_wait()
        return self.add_subscription_async(
            channel,
            stream_id,
            on_available_image=on_available_image,
            on_unavailable_image=on_unavailable_image,
        ).result()

    def add_subscription_async(
        self,
        channel: str,
        stream_id: int,
        *,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> ResilientRegistration[ResilientSubscription]:
        """Send the command of `add_subscription` and return its registration without waiting."""
        channel, stream_id = channel_of(channel), int32_of(stream_id, "stream_id")
        defaults = self._supervisor.handlers.client
        handlers = (
            on_available_image or defaults.on_available_image,
            on_unavailable_image or defaults.on_unavailable_image,
        )

        def submit(
            aeron: Aeron,
        ) -> tuple[Registration[Subscription], Callable[[Subscription], ResilientSubscription]]:
            return add_to(self._supervisor, aeron, channel, stream_id, handlers)

        what = f"add_subscription {channel!r} {stream_id}"
        return ResilientRegistration(self._supervisor, what, submit, self._supervisor.add)

    def watch_peers(
        self,
        resource: WatchedResource,
        *,
        on_added: PeerHandler | None = None,
        on_removed: PeerHandler | None = None,
        on_refused: RefusalHandler | None = None,
    ) -> ResilientPeerWatch:
        """Return a watch of peers as `Aeron.watch_peers`, which follows `resource` to each later driver.

        A loss of the driver removes all peers: `on_removed` is then called after `Disconnected`, on the same thread.
        Raises ClosedError if the client is closed, and TypeError if `resource` is not one of a resilient client.
        """
        self._supervisor.check_open()
        watch = ResilientPeerWatch(resource, on_added, on_removed, on_refused)
        self._supervisor.add_watch(watch)
        return watch

    def add_counter(self, type_id: int, key: bytes = b"", label: str = "") -> ResilientCounter:
        """Add a counter that continues with its value after a loss; waits as `add_publication`."""
        self._supervisor.check_may_wait()
        return self.add_counter_async(type_id, key, label).result()

    def add_counter_async(
        self, type_id: int, key: bytes = b"", label: str = ""
    ) -> ResilientRegistration[ResilientCounter]:
        """Send the command of `add_counter` and return its registration without waiting."""

        def send(aeron: Aeron) -> Registration[Counter]:
            return aeron.add_counter_async(type_id, key, label)

        return self._add_counter(f"add_counter {type_id} {label!r}", send, type_id, key, label)

    def add_static_counter(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> ResilientCounter:
        """Add a static counter, which outlives this client but not its driver; waits as `add_publication`."""
        self._supervisor.check_may_wait()
        return self.add_static_counter_async(type_id, registration_id, key, label).result()

    def add_static_counter_async(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> ResilientRegistration[ResilientCounter]:
        """Send the command of `add_static_counter` and return its registration without waiting."""
        registration_id = int64_of(registration_id, "registration_id")

        def send(aeron: Aeron) -> Registration[Counter]:
            return aeron.add_static_counter_async(type_id, registration_id, key, label)

        return self._add_counter(f"add_static_counter {type_id} {label!r}", send, type_id, key, label)

    def next_session_id(self, stream_id: int) -> int:
        """Return a session id that no publication of the driver uses with the stream id, for `session-id=`."""
        return self._retried(lambda aeron: aeron.next_session_id(stream_id))

    def next_correlation_id(self) -> int:
        """Return an int64 that no other call of any client of this driver, or of the last one, returns."""
        return self._supervisor.last.next_correlation_id()

    def reject_image(self, image_correlation_id: int, position: int, reason: str) -> None:
        """Reject an image of any client, as `Aeron.reject_image`; the id is that of the current driver."""
        self._retried(lambda aeron: aeron.reject_image(image_correlation_id, position, reason))

    def terminate_driver(self, token: bytes = b"") -> None:
        """Request a shutdown of the driver, as `Aeron.terminate_driver`; then the client waits for another one."""
        self._connected(0).terminate_driver(token)

    def retire_client(self, client_id: int) -> None:
        """Request that the driver closes another client, as `Aeron.retire_client`."""
        self._connected(0).retire_client(client_id)

    def add_event_handler(self, handler: EventHandler) -> None:
        """Add a handler of events, on the same thread as `on_event`."""
        self._supervisor.handlers.events.append(handler)

    def remove_event_handler(self, handler: EventHandler) -> None:
        """Remove the handler; raises ValueError if it was not added."""
        self._supervisor.handlers.events.remove(handler)

    def add_available_counter_handler(self, handler: CounterHandler) -> None:
        """Add a handler as `Aeron.add_available_counter_handler`, to this driver and to each later one."""
        self._supervisor.handlers.available_counters.append(handler)
        self._supervisor.last.add_available_counter_handler(handler)

    def remove_available_counter_handler(self, handler: CounterHandler) -> None:
        """Remove the handler; raises ValueError if it was not added."""
        self._supervisor.handlers.available_counters.remove(handler)
        self._supervisor.last.remove_available_counter_handler(handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Add a handler as `Aeron.add_unavailable_counter_handler`, to this driver and to each later one."""
        self._supervisor.handlers.unavailable_counters.append(handler)
        self._supervisor.last.add_unavailable_counter_handler(handler)

    def remove_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Remove the handler; raises ValueError if it was not added."""
        self._supervisor.handlers.unavailable_counters.remove(handler)
        self._supervisor.last.remove_unavailable_counter_handler(handler)

    def add_close_handler(self, handler: CloseHandler) -> None:
        """Add a handler that is called once, when this client closes or gives up; not when the driver is lost."""
        self._supervisor.handlers.closes.append(handler)

    def remove_close_handler(self, handler: CloseHandler) -> None:
        """Remove the handler; raises ValueError if it was not added, or once the client is closed."""
        self._supervisor.handlers.closes.remove(handler)

    def close(self) -> None:
        """Close everything that was added, also while reconnecting, and stop the threads.

        Waits until they have ended, unless called in a handler. Closing twice does nothing.
        """
        self._supervisor.close()

    def leave(self) -> None:
        """Close without informing the driver, as `Aeron.leave`."""
        self._supervisor.close(is_driver_informed=False)

    def __enter__(self) -> ResilientAeron:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "connected" if self.is_connected else "reconnecting"
        return f"ResilientAeron({str(self.aeron_dir)!r}, client_id={self.client_id}, {state})"

    def _add_counter(
        self,
        what: str,
        send: Callable[[Aeron], Registration[Counter]],
        type_id: int,
        key: bytes,
        label: str,
    ) -> ResilientRegistration[ResilientCounter]:
        type_id, key, label = int32_of(type_id, "type_id"), key_of(key), label_of(label)

        def submit(aeron: Aeron) -> tuple[Registration[Counter], Callable[[Counter], ResilientCounter]]:
            def make(plain: Counter) -> ResilientCounter:
                reader = aeron.counters_reader
                return ResilientCounter(
                    self._supervisor, plain, reader, type_id=type_id, key=key, label=label
                )

            return send(aeron), make

        return ResilientRegistration(self._supervisor, what, submit, self._supervisor.add)

    def _connected(self, timeout: float | None) -> Aeron:
        """Return the plain client; wait for it `timeout` seconds, None for no limit, then raise DriverTimeoutError."""
        supervisor = self._supervisor
        supervisor.check_open()
        while (aeron := supervisor.current) is None:
            if timeout == 0 or not supervisor.await_until(
                lambda: supervisor.is_closed or supervisor.current is not None, timeout
            ):
                raise DriverTimeoutError(f"no driver within {timeout} s: {supervisor.why()}")
            supervisor.check_open()
        return aeron

    def _retried(self, call: Callable[[Aeron], T]) -> T:
        """Return the result of `call`; repeat it if the driver is lost meanwhile."""
        self._supervisor.check_may_wait()
        while True:
            aeron = self._connected(self._supervisor.driver_timeout_s)
            try:
                return call(aeron)
            except DriverTimeoutError:
                if not aeron.is_closed:
                    raise
