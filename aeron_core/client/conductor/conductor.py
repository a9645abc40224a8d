"""The client's conductor: receives responses of the driver, sends heartbeats, and checks timeouts.

Not here: handling of responses (driver_listener), commands (operations), the thread (conductor_thread).

    open -> closed    by `close` or `leave`, or by an AeronError of the duty cycle: the driver shut down, its
                      heartbeat is too old, it timed the client out, its responses were lost, ...

One lock guards everything: the cycle runs on its own thread or in the program's own loop, and in every call
that waits for the driver, so that no response waits for a thread to wake up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from aeron_core.client.conductor.callbacks import Callbacks
from aeron_core.client.conductor.driver_listener import DriverListener
from aeron_core.client.conductor.driver_proxy import DriverProxy
from aeron_core.client.conductor.liveness import Liveness
from aeron_core.client.conductor.log_buffers import LogBuffers
from aeron_core.client.conductor.peer_watch import PeerWatches
from aeron_core.client.conductor.resources import Resources
from aeron_core.client.registrations import Registration, Registrations
from aeron_core.concurrent.broadcast_receiver import LAPPED, BroadcastReceiver
from aeron_core.concurrent.counters import CountersReader
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import AeronError, ClientError, ClosedError, DriverTimeoutError

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core.client.handlers import ClientHandlers
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.protocol.cnc import CncFile
    from aeron_core.settings.client import ClientFields

T = TypeVar("T")

# Responses of the driver in one cycle: bounds the time between two checks of timeouts. An invented number.
_MESSAGE_LIMIT: Final = 64
_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
# Pauses between two polls for a response: short first, because an idle driver answers within a millisecond. Invented.
_MIN_PAUSE_S: Final = 0.00002
_MAX_PAUSE_S: Final = 0.001
# How long a holder of the lock, such as a running handler, may delay the exit of the program. An invented number.
_EXIT_PATIENCE_S: Final = 1.0


class ClientConductor:
    """The conductor of one client; any thread may call it."""

    def __init__(
        self,
        cnc: CncFile,
        settings: ClientFields,
        clock: Clock,
        handlers: ClientHandlers,
        driver_invoker: Callable[[], object] | None,
    ) -> None:
        self.lock = threading.RLock()
        self.settings: Final = settings
        self.clock: Final = clock
        self.counters: Final = CountersReader(cnc.counters_metadata, cnc.counters_values)
        self.driver: Final = DriverProxy(ManyToOneRingBuffer(cnc.to_driver), settings.aeron_dir)
        self.callbacks: Final = Callbacks(handlers, self.counters)
        self.peer_watches: Final = PeerWatches(self.callbacks)
        self.registrations: Final = Registrations()
        self.resources: Final = Resources(
            LogBuffers(settings.resource_linger_duration_ns, pre_touch=settings.pre_touch_mapped_memory)
        )
        self.is_closed = False
        self.cause: Exception | None = None
        self._cnc = cnc
        self._loop_bells: LoopBells | None = None
        self._loop_bells_lock = threading.Lock()
        self._driver_invoker = driver_invoker
        self._driver_timeout_ns = settings.driver_timeout_ms * _NS_PER_MS
        self._receiver = BroadcastReceiver(cnc.to_clients)
        self._listener = DriverListener(
            self.driver.client_id, self.registrations, self.resources, self.callbacks, self.counters, clock
        )
        self._liveness = Liveness(settings, self.driver, self.counters, clock, cnc.client_liveness_timeout_ns)

    @property
    def driver_identity(self) -> str:
        """Unique id of the driver process: its pid and start time."""
        return f"{self._cnc.pid}-{self._cnc.start_timestamp_ms}"

    def outlive_driver(self) -> None:
        """Keep the client open when the driver closes; call before a program has the client."""
        self._liveness.outlives_driver = True

    def do_work(self) -> int:
        """Run one duty cycle and return the work count; do nothing and return 0 in a handler, or once closed.

        An AeronError closes the client, any other error goes to the error handler; either counts as work.
        """
        with self.lock:
            if self.is_closed or self.callbacks.is_running:
                return 0
            try:
                return self._receive() + self._check_timeouts()
            except AeronError as error:
                self._close(error)
            except Exception as error:  # an error in one response must not end the thread
                self.callbacks.error(error)
            return 1

    def loop_bells(self) -> LoopBells | None:
        """Return the bells of the event loops that use this client; None if the driver has none."""
        # Not the lock of the conductor, under which handlers run: one that waits for the event loop must not stop it.
        with self._loop_bells_lock:
            bells = self.driver.bells
            if self._loop_bells is None and bells is not None and bells.streams is not None:
                from aeron_core.client.loop_bells import LoopBells  # noqa: PLC0415 - imports asyncio

                self._loop_bells = LoopBells(bells)
                if self.is_closed:
                    self._loop_bells.close()
            return self._loop_bells

    def idle_s(self) -> float | None:
        """Return the seconds to sleep after a cycle without work; None once closed.

        At most 0.001 while there are registrations.
        """
        if self.is_closed:
            return None
        idle_s = self.settings.idle_sleep_duration_ns / _NS_PER_S
        # A caller that does not block polls its registration, or awaits it in an event loop: answer it soon.
        return min(idle_s, _MAX_PAUSE_S) if len(self.registrations) else idle_s

    def register(self, registration_id: int, what: str, make: Callable[..., T]) -> Registration[T]:
        """Return a pending registration for a command that was sent; `make` turns the response into its result.

        Call under the lock.
        """
        deadline_ns = self.clock.nano_time() + self._driver_timeout_ns
        registration = Registration(self, registration_id, what, deadline_ns, make)
        self.registrations.add(registration)
        return registration

    def await_registration(self, registration: Registration[T], timeout: float | None) -> None:
        """Wait until `registration` is done; raise TimeoutError after `timeout` seconds, None for no limit.

        Raises ClientError if it has to wait in a handler.
        """
        if not self.await_until(lambda: registration.is_done, timeout):
            raise TimeoutError(
                f"{registration.what}: no answer within {timeout} s: wait for the registration again, or cancel it"
            )

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Run duty cycles until `condition` holds, and return True; return False after `timeout` seconds.

        None is no limit. Sleeps, without the GIL, after a duty cycle without work. Raises ClientError if it has to
        wait in a handler.
        """
        deadline_ns = None if timeout is None else self.clock.nano_time() + int(timeout * _NS_PER_S)
        pause_s = _MIN_PAUSE_S
        while not condition():
            self.check_may_wait()
            if self._driver_invoker is not None:
                self._driver_invoker()
            work = self.do_work()
            # Check the deadline after work, too: a driver that never stops sending must not extend the timeout.
            if deadline_ns is not None and self.clock.nano_time() >= deadline_ns:
                return condition()
            if work > 0:
                pause_s = _MIN_PAUSE_S
                continue
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        return True

    def check_open(self) -> None:
        """Raise ClosedError if the client is closed, from the error that closed it."""
        if self.is_closed:
            # Every cause names its remedy.
            reason = "connect again" if self.cause is None else str(self.cause)
            raise ClosedError(f"the client of {self.settings.aeron_dir} is closed: {reason}") from self.cause

    def check_may_wait(self) -> None:
        """Raise ClientError within a handler: the response cannot be processed before the handler returns."""
        if self.is_in_handler():
            raise ClientError(
                "a handler must not wait for the driver, because the client receives nothing before the handler "
                "returns: use the _async methods, offer in place of send, and is_connected in place of "
                "await_connected; call other methods that wait, such as result or reject, after the handler has "
                "returned"
            )

    def is_in_handler(self) -> bool:
        """Return whether a handler calls this, also the error handler; waits while one runs on another thread."""
        # Handlers run under the lock, so a thread that gets it while a handler runs is the thread of the handler.
        with self.lock:
            return self.callbacks.is_running

    def close(self) -> None:
        """Close all resources, and the client in the driver as well; closing twice does nothing."""
        with self.lock:
            if not self.is_closed:
                self._close(None)

    def leave(self) -> None:
        """Close all resources and the client without a command to the driver; closing twice does nothing."""
        with self.lock:
            if not self.is_closed:
                self._close(None, is_driver_informed=False)

    def close_at_exit(self) -> None:
        """Close when the program exits, unless a handler or another call holds the lock for more than 1 s."""
        if self.lock.acquire(timeout=_EXIT_PATIENCE_S):
            try:
                self.close()
            finally:
                self.lock.release()

    def _receive(self) -> int:
        for count in range(_MESSAGE_LIMIT):
            received = self._receiver.receive(self._listener.on_message)
            if received == LAPPED:
                raise ClientError(
                    "messages of the media driver were lost: the client's conductor did not run often enough: "
                    "connect again, and run the conductor more often or raise clients_buffer_length of the driver"
                )
            # A handler may have closed the client.
            if received == 0 or self.is_closed:
                return count
        return _MESSAGE_LIMIT

    def _check_timeouts(self) -> int:
        if self.is_closed:
            return 0
        now_ns = self.clock.nano_time()
        work = self._liveness.check(now_ns)
        work += self.peer_watches.check(now_ns)
        work += self._listener.retry_images(now_ns)
        if self.is_closed:  # a handler has closed it
            return work
        if self._liveness.closed_error is not None:
            self.registrations.fail_all(self._liveness.closed_error)
        if self.registrations:
            beat_ns = self._liveness.driver_beat_ns(now_ns)
            work += self.registrations.check_deadlines(beat_ns, self._driver_timeout_ns)
        return work + self.resources.log_buffers.sweep(now_ns)

    def _close(self, cause: AeronError | None, *, is_driver_informed: bool = True) -> None:
        self.is_closed = True
        self.cause = cause
        self.registrations.fail_all(
            cause or ClosedError(f"the client of {self.settings.aeron_dir} is closed: connect again")
        )
        with self._loop_bells_lock:
            if self._loop_bells is not None:
                self._loop_bells.close()
        self.resources.close_all(self.clock.nano_time(), self.callbacks.unavailable_image)
        if is_driver_informed and not isinstance(cause, DriverTimeoutError):
            try:
                self.driver.close_client()
            except AeronError as error:
                self.callbacks.error(error)
        if cause is not None:
            self.callbacks.error(cause)
        self.callbacks.closed()
