"""A program's connection to a media driver, and the entry point of the client.

    with aeron_core.connect() as aeron:
        publication = aeron.add_publication("aeron:ipc", stream_id=1001)

Not here: the implementation behind it (conductor, operations).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from aeron_core.agent.at_exit import CLIENT, close_at_exit
from aeron_core.client.command_arguments import bytes_of, int64_of, text_of
from aeron_core.client.conductor.conductor import ClientConductor
from aeron_core.client.conductor.conductor_thread import ConductorThread
from aeron_core.client.conductor.operations import ClientOperations
from aeron_core.client.conductor.peer_watch import PeerHandler, PeerHandlers, PeerWatch, RefusalHandler
from aeron_core.client.handlers import (
    CloseHandler,
    CounterHandler,
    ImageHandler,
)
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.client.counters import Counter
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.settings.models import ClientSettings


T = TypeVar("T")


class Aeron:
    """One client of one driver; any thread may use it.

    Commands raise ClosedError once it is closed, ClientError if the driver's command ring stays full for 10 ms,
    ConfigurationError if they are too long for the ring, and TypeError or ValueError for a wrong argument. Closing it
    closes everything that it added, except static counters in the driver. A client that is still open when the program
    exits is closed then.
    """

    def __init__(self, conductor: ClientConductor) -> None:
        self._conductor = conductor
        self._operations = ClientOperations(conductor)
        self._thread: ConductorThread | None = None
        if not conductor.settings.use_conductor_agent_invoker:
            self._thread = ConductorThread(conductor.do_work, conductor.idle_s)
            self._thread.start()
        close_at_exit(conductor.close_at_exit, CLIENT)

    @property
    def client_id(self) -> int:
        """The id of this client in the driver."""
        return self._conductor.driver.client_id

    @property
    def aeron_dir(self) -> Path:
        """The directory of the driver."""
        return self._conductor.settings.aeron_dir

    @property
    def settings(self) -> ClientSettings:
        """The settings that the client runs with: those given to or loaded by `connect`, with its arguments applied."""
        from aeron_core.settings.models import ClientSettings  # noqa: PLC0415 - imports pydantic: clients start without

        return ClientSettings.of(self._conductor.settings)

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed: by the program, or by an error such as a timeout of the driver."""
        return self._conductor.is_closed

    @property
    def counters_reader(self) -> CountersReader:
        """A reader of all counters of the driver and its clients."""
        return self._conductor.counters

    def do_work(self) -> int:
        """Run one duty cycle of the client's conductor and return the work count; needed if it has no thread.

        Does nothing and returns 0 if the client is closed, or in a handler.
        """
        return self._conductor.do_work()

    def add_publication(self, channel: str, stream_id: int) -> Publication:
        """Add a publication that threads and clients share, and wait for the driver.

        Like every method that waits for the driver, raises the errors of `Registration.result`, such as
        RegistrationError if the driver refuses, and ClientError if it has to wait in a handler. In a handler, and for a
        wrong argument, which raises TypeError or ValueError, nothing is sent.
        """
        self._operations.check_may_wait()
        return self.add_publication_async(channel, stream_id).result()

    def add_publication_async(self, channel: str, stream_id: int) -> Registration[Publication]:
        """Send the command of `add_publication` and return its registration without waiting for the driver."""
        return self._woken(self._operations.add_publication(channel, stream_id))

    def add_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """Add a publication with its own session, for one thread at a time; waits and raises as `add_publication`."""
        self._operations.check_may_wait()
        return self.add_exclusive_publication_async(channel, stream_id).result()

    def add_exclusive_publication_async(
        self, channel: str, stream_id: int
    ) -> Registration[ExclusivePublication]:
        """Send the command of `add_exclusive_publication` and return its registration without waiting."""
        return self._woken(self._operations.add_exclusive_publication(channel, stream_id))

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> Subscription:
        """Add a subscription; waits and raises as `add_publication`.

        The handlers are called for each image added or removed; None: those of the client's `ClientHandlers`.
        """
        self._operations.check_may_wait()
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
    ) -> Registration[Subscription]:
        """Send the command of `add_subscription` and return its registration without waiting."""
        return self._woken(
            self._operations.add_subscription(channel, stream_id, on_available_image, on_unavailable_image)
        )

    def watch_peers(
        self,
        resource: Publication | ExclusivePublication | Subscription,
        *,
        on_added: PeerHandler | None = None,
        on_removed: PeerHandler | None = None,
        on_refused: RefusalHandler | None = None,
    ) -> PeerWatch:
        """Return a watch that calls handlers for peers that connect, disconnect or are refused.

        It ends when it, `resource` or the client is closed. `on_added` is first called for the peers that are
        connected already. The handlers run in duty cycles of the client's conductor, which checks at most every 10 ms.
        The peers of a subscription are its images; peers of a publication, and refusals, are reported for media that
        distinguish peers, such as `aeron:sp`. Raises ClosedError if the client is closed.
        """
        handlers = PeerHandlers(on_added=on_added, on_removed=on_removed, on_refused=on_refused)
        with self._conductor.lock:
            self._conductor.check_open()
            watch = PeerWatch(resource, handlers, self._conductor.counters)
            self._conductor.peer_watches.add(watch)
        return watch

    def add_counter(self, type_id: int, key: bytes = b"", label: str = "") -> Counter:
        """Add a counter that is freed with this client at the latest; waits and raises as `add_publication`.

        `type_id` is an int32. Raises ValueError for a key of more than 112 bytes, or a label of more than 380
        bytes of UTF-8.
        """
        self._operations.check_may_wait()
        return self.add_counter_async(type_id, key, label).result()

    def add_counter_async(self, type_id: int, key: bytes = b"", label: str = "") -> Registration[Counter]:
        """Send the command of `add_counter` and return its registration without waiting."""
        return self._woken(self._operations.add_counter(type_id, key, label))

    def add_static_counter(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> Counter:
        """Add a static counter, which outlives this client, or return the existing one.

        It is identified by `type_id`, an int32, and `registration_id`, an int64. Waits and raises as `add_counter`;
        raises RegistrationError if a counter that is not static has both ids.
        """
        self._operations.check_may_wait()
        return self.add_static_counter_async(type_id, registration_id, key, label).result()

    def add_static_counter_async(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> Registration[Counter]:
        """Send the command of `add_static_counter` and return its registration without waiting."""
        return self._woken(self._operations.add_static_counter(type_id, registration_id, key, label))

    def next_session_id(self, stream_id: int) -> int:
        """Return a session id that no publication of the driver uses with the stream id, for `session-id=`.

        The id, an int32, is not reserved: another client may use it first. Waits for the driver and raises as
        `add_publication`. If the driver is too old for this request, the id is random instead.
        """
        answer = self._operations.next_session_id(stream_id)
        return answer if isinstance(answer, int) else answer.result()

    def next_correlation_id(self) -> int:
        """Return an int64 that no other call of any client of this driver returns."""
        return self._conductor.driver.next_correlation_id()

    def reject_image(self, image_correlation_id: int, position: int, reason: str) -> None:
        """Reject an image of any client, as `Image.reject` does; waits and raises as `add_publication`.

        `image_correlation_id` is the id of the image in the driver, `position` a stream position, which
        aeron-core's driver does not use.
        """
        self._operations.check_may_wait()
        correlation_id = int64_of(image_correlation_id, "image_correlation_id")
        self._operations.command(
            f"reject image {correlation_id}",
            commands.RejectImage,
            correlation_id,
            int64_of(position, "position"),
            text_of(reason, "reason"),
        ).result()

    def terminate_driver(self, token: bytes = b"") -> None:
        """Request a shutdown, which the driver does if its termination validator accepts the token; do not wait."""
        self._conductor.check_open()
        self._conductor.driver.send(commands.TerminateDriver, bytes_of(token, "token"))

    @property
    def driver_identity(self) -> str:
        """Id of the driver process, from its pid and start time; two driver processes may use the same client ids."""
        return self._conductor.driver_identity

    def retire_client(self, client_id: int) -> None:
        """Request that the driver closes another client before its liveness timeout; do not wait.

        Call only after the client's process has ended: a client that is alive loses everything that it added.
        """
        self._conductor.check_open()
        self._conductor.driver.close_client(client_id)

    def add_available_counter_handler(self, handler: CounterHandler) -> None:
        """Add a handler that is called when any client of the driver adds a counter, unless it is static.

        It is also called for the heartbeat counter that the driver adds for each client.
        """
        with self._conductor.lock:
            self._conductor.callbacks.available_counter_handlers.append(handler)

    def remove_available_counter_handler(self, handler: CounterHandler) -> None:
        """Remove the handler; raises ValueError if it was not added."""
        with self._conductor.lock:
            self._conductor.callbacks.available_counter_handlers.remove(handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Add a handler that is called when a counter of any client of the driver is freed.

        It is also called for the heartbeat counter of each client.
        """
        with self._conductor.lock:
            self._conductor.callbacks.unavailable_counter_handlers.append(handler)

    def remove_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Remove the handler; raises ValueError if it was not added."""
        with self._conductor.lock:
            self._conductor.callbacks.unavailable_counter_handlers.remove(handler)

    def add_close_handler(self, handler: CloseHandler) -> None:
        """Add a handler that is called once, when this client closes for any reason; never if it is closed already."""
        with self._conductor.lock:
            self._conductor.callbacks.close_handlers.append(handler)

    def remove_close_handler(self, handler: CloseHandler) -> None:
        """Remove the handler; raises ValueError if it was not added, or once the client is closed."""
        with self._conductor.lock:
            self._conductor.callbacks.close_handlers.remove(handler)

    def close(self) -> None:
        """Close everything that was added and remove it from the driver, except static counters.

        Waits until the conductor's thread has ended, unless called on it or in a handler. Closing twice does nothing.
        """
        self._conductor.close()
        self._end_thread()

    def leave(self) -> None:
        """Close without informing the driver, as if the process was killed.

        Until its client liveness timeout (10 s by default) the driver keeps everything that this client added, and
        its subscriptions still limit the senders. Closing twice does nothing.
        """
        self._conductor.leave()
        self._end_thread()

    def __enter__(self) -> Aeron:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"Aeron({str(self.aeron_dir)!r}, client_id={self.client_id}, {state})"

    def _end_thread(self) -> None:
        if self._thread is None:
            return
        # A handler runs under the lock, which the thread needs once more to end: to wait for it would be a deadlock.
        if self._conductor.is_in_handler():
            self._thread.wake()
        else:
            self._thread.join()

    def _woken(self, registration: Registration[T]) -> Registration[T]:
        """Wake the conductor's thread, so that it polls for the answer at once; return `registration`."""
        if self._thread is not None:
            self._thread.wake()
        return registration
