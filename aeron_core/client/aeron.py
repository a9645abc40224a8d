"""A program's connection to a media driver.

    with aeron_core.connect() as aeron:
        publication = aeron.add_publication("aeron:ipc", stream_id=1001)

Not here: what happens behind it (conductor, operations).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aeron_core._native.clock import Clock
from aeron_core.agent.at_exit import CLIENT, close_at_exit
from aeron_core.client.command_arguments import bytes_of, int64_of, text_of
from aeron_core.client.conductor.cnc_connection import connect_cnc
from aeron_core.client.conductor.conductor import ClientConductor
from aeron_core.client.conductor.conductor_thread import ConductorThread
from aeron_core.client.conductor.operations import ClientOperations
from aeron_core.client.conductor.peer_watch import PeerHandler, PeerHandlers, PeerWatch, RefusalHandler
from aeron_core.client.handlers import (
    ClientHandlers,
    CloseHandler,
    CounterHandler,
    ErrorHandler,
    ImageHandler,
)
from aeron_core.protocol import commands
from aeron_core.settings.loader import load_client_settings

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.client.counters import Counter
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.settings.client import ClientSettings


T = TypeVar("T")


def connect(  # noqa: PLR0913 - all optional, all by name but the first two
    aeron_dir: str | os.PathLike[str] | None = None,
    settings: ClientSettings | None = None,
    *,
    clock: Clock | None = None,
    handlers: ClientHandlers | None = None,
    error_handler: ErrorHandler | None = None,
    use_conductor_invoker: bool | None = None,
    driver_invoker: Callable[[], object] | None = None,
) -> Aeron:
    """Connect to the driver of `aeron_dir`, waiting for one that is only starting.

    Without `settings` they come from the environment. `error_handler` is short for handlers with `on_error`
    alone. With `use_conductor_invoker` no thread is started: call `Aeron.do_work` often. `driver_invoker` is
    called while the client waits for a driver that runs in this very thread.

    Raises DriverTimeoutError where there is no driver within the driver timeout, CncIncompatibleError where
    it is of another version.
    """
    if settings is None:
        loaded = load_client_settings()
        for text in loaded.warnings:
            warnings.warn(text, stacklevel=2)
        settings = loaded.settings
    changes: dict[str, object] = {}
    if aeron_dir is not None:
        changes["aeron_dir"] = os.fspath(aeron_dir)
    if use_conductor_invoker is not None:
        changes["use_conductor_agent_invoker"] = use_conductor_invoker
    if changes:
        settings = type(settings)(**{**settings.model_dump(), **changes})
    if error_handler is not None:
        if handlers is not None:
            raise ValueError("error_handler and handlers: give one of them, handlers has on_error")
        handlers = ClientHandlers(on_error=error_handler)
    clock = clock or Clock()
    cnc = connect_cnc(settings, clock, pause=driver_invoker)
    conductor = ClientConductor(cnc, settings, clock, handlers or ClientHandlers(), driver_invoker)
    return Aeron(conductor)


class Aeron:
    """One client of one driver; any thread may use it. Closing it closes all that it has added.

    What a program leaves open is closed when it ends.
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
        """The number by which the driver knows this client."""
        return self._conductor.driver.client_id

    @property
    def aeron_dir(self) -> Path:
        """The directory of the driver."""
        return self._conductor.settings.aeron_dir

    @property
    def settings(self) -> ClientSettings:
        """The settings of the client."""
        return self._conductor.settings

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, by the program or because the driver is gone."""
        return self._conductor.is_closed

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver and its clients."""
        return self._conductor.counters

    def do_work(self) -> int:
        """Run the client's conductor once, where no thread does; return how much there was to do."""
        return self._conductor.do_work()

    def add_publication(self, channel: str, stream_id: int) -> Publication:
        """Add a publication that threads and clients share, and wait for the driver.

        Like all that wait: raises RegistrationError where the driver refuses, DriverTimeoutError where it
        does not answer.
        """
        return self.add_publication_async(channel, stream_id).result()

    def add_publication_async(self, channel: str, stream_id: int) -> Registration[Publication]:
        """Do as `add_publication`, without waiting."""
        return self._woken(self._operations.add_publication(channel, stream_id))

    def add_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """Add a publication with a session of its own, for one thread, and wait for the driver."""
        return self.add_exclusive_publication_async(channel, stream_id).result()

    def add_exclusive_publication_async(
        self, channel: str, stream_id: int
    ) -> Registration[ExclusivePublication]:
        """Do as `add_exclusive_publication`, without waiting."""
        return self._woken(self._operations.add_exclusive_publication(channel, stream_id))

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> Subscription:
        """Add a subscription and wait for the driver; the handlers hear of images that come and go."""
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
        """Do as `add_subscription`, without waiting."""
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
        """Hear of peers that come, go or are refused, those that are there first, until the watch is closed.

        The handlers run on the thread of the client's conductor, which looks every 10 ms: on channels whose medium
        tells its peers apart, as `aeron:sp` does.
        """
        handlers = PeerHandlers(on_added=on_added, on_removed=on_removed, on_refused=on_refused)
        with self._conductor.lock:
            self._conductor.check_open()
            watch = PeerWatch(resource, handlers, self._conductor.counters)
            self._conductor.peer_watches.add(watch)
        return watch

    def add_counter(self, type_id: int, key: bytes = b"", label: str = "") -> Counter:
        """Add a counter that lives as long as this client, and wait for the driver."""
        return self.add_counter_async(type_id, key, label).result()

    def add_counter_async(self, type_id: int, key: bytes = b"", label: str = "") -> Registration[Counter]:
        """Do as `add_counter`, without waiting."""
        return self._woken(self._operations.add_counter(type_id, key, label))

    def add_static_counter(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> Counter:
        """Add a counter that outlives this client, or get the one with that type and registration id."""
        return self.add_static_counter_async(type_id, registration_id, key, label).result()

    def add_static_counter_async(
        self, type_id: int, registration_id: int, key: bytes = b"", label: str = ""
    ) -> Registration[Counter]:
        """Do as `add_static_counter`, without waiting."""
        return self._woken(self._operations.add_static_counter(type_id, registration_id, key, label))

    def next_session_id(self, stream_id: int) -> int:
        """Return a session id that no publication of the stream uses, for `session-id=` of a channel."""
        answer = self._operations.next_session_id(stream_id)
        return answer if isinstance(answer, int) else answer.result()

    def next_correlation_id(self) -> int:
        """Return a number that no other client of the driver gets."""
        return self._conductor.driver.next_correlation_id()

    def reject_image(self, image_correlation_id: int, position: int, reason: str) -> None:
        """Refuse an image, of whichever client, from a position on."""
        correlation_id = int64_of(image_correlation_id, "image_correlation_id")
        self._operations.command(
            f"reject image {correlation_id}",
            commands.RejectImage,
            correlation_id,
            int64_of(position, "position"),
            text_of(reason, "reason"),
        ).result()

    def terminate_driver(self, token: bytes = b"") -> None:
        """Ask the driver to end; it does if its validator likes the token, and answers nothing."""
        self._conductor.check_open()
        self._conductor.driver.send(commands.TerminateDriver, bytes_of(token, "token"))

    @property
    def driver_identity(self) -> str:
        """What no other driver has, nor the same one when it was started again: client ids are of one of them."""
        return self._conductor.driver_identity

    def retire_client(self, client_id: int) -> None:
        """Have the driver give up a client whose process has ended, before its liveness timeout.

        For who knows that it has ended: a client that lives loses all that it has added.
        """
        self._conductor.check_open()
        self._conductor.driver.close_client(client_id)

    def add_available_counter_handler(self, handler: CounterHandler) -> None:
        """Hear of counters that are allocated, too."""
        with self._conductor.lock:
            self._conductor.callbacks.available_counter_handlers.append(handler)

    def remove_available_counter_handler(self, handler: CounterHandler) -> None:
        """Hear of them no more; raises ValueError where it was not added."""
        with self._conductor.lock:
            self._conductor.callbacks.available_counter_handlers.remove(handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Hear of counters that are freed, too."""
        with self._conductor.lock:
            self._conductor.callbacks.unavailable_counter_handlers.append(handler)

    def remove_unavailable_counter_handler(self, handler: CounterHandler) -> None:
        """Hear of them no more; raises ValueError where it was not added."""
        with self._conductor.lock:
            self._conductor.callbacks.unavailable_counter_handlers.remove(handler)

    def add_close_handler(self, handler: CloseHandler) -> None:
        """Hear of the end of this client, too."""
        with self._conductor.lock:
            self._conductor.callbacks.close_handlers.append(handler)

    def remove_close_handler(self, handler: CloseHandler) -> None:
        """Hear of it no more; raises ValueError where it was not added."""
        with self._conductor.lock:
            self._conductor.callbacks.close_handlers.remove(handler)

    def close(self) -> None:
        """Close all that was added, and give it back to the driver; closing twice does nothing."""
        self._conductor.close()
        if self._thread is not None:
            self._thread.join()

    def leave(self) -> None:
        """End without a word to the driver, as a process does that is killed.

        Up to its client liveness timeout, ten seconds, the driver keeps what this client has added, and holds its
        streams up where they wait for it: what came meanwhile is there for whoever takes its place.
        """
        self._conductor.leave()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Aeron:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"Aeron({str(self.aeron_dir)!r}, client_id={self.client_id}, {state})"

    def _woken(self, registration: Registration[T]) -> Registration[T]:
        """Have the conductor look for the answer at once, and often."""
        if self._thread is not None:
            self._thread.wake()
        return registration
