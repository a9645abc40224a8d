"""Supervisor of a resilient client: detects a loss, connects again, re-adds everything, and reports events.

    connected -> lost         the plain client was closed by an error, or `cnc.dat` is another file
    lost      -> connected    an attempt succeeds; failed ones are repeated after growing delays
    any       -> closed       by the program, or because the policy gives up

Not here: opening a plain client (connector), the times of a loss (outage), and handlers of the program
(program_handlers).
It runs on a thread of its own, which sleeps between checks, or in `do_work` of the program; events are delivered there.
One lock guards the lists, and is never held while the plain client or a handler is called: the plain client calls back
under its own lock.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from aeron_core.agent.at_exit import CLIENT, close_at_exit
from aeron_core.client.conductor.conductor_thread import ConductorThread
from aeron_core.errors import ClientError, ClosedError, DriverTimeoutError
from aeron_core.resilient.connector import Connector
from aeron_core.resilient.events import (
    Disconnected,
    GaveUp,
    ImageRestored,
    Reconnected,
    ReconnectFailed,
    Restored,
)
from aeron_core.resilient.outage import Outage
from aeron_core.resilient.peer_watch import ResilientPeerWatch
from aeron_core.resilient.policy import ReconnectPolicy, Retry
from aeron_core.resilient.program_handlers import ProgramHandlers
from aeron_core.resilient.resource import ResilientResource
from aeron_core.resilient.restoration import Restoration
from aeron_core.resilient.subscription import ResilientSubscription

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.handlers import ClientHandlers
    from aeron_core.resilient.events import EventHandler
    from aeron_core.settings.client import ClientFields

_NS_PER_S: Final = 1_000_000_000
# Sleeps of the thread while answers of the driver are awaited, and of a call that waits. Invented: those of the client.
_ANSWER_PAUSE_S: Final = 0.001
_MIN_PAUSE_S: Final = 0.00002
_MAX_PAUSE_S: Final = 0.01

AnyResource = ResilientResource[Any]


class Supervisor:
    """The supervisor of one resilient client; a `ResilientOwner`."""

    def __init__(  # noqa: PLR0913 - the parameters of `connect`
        self,
        fields: ClientFields,
        clock: Clock,
        handlers: ClientHandlers,
        driver_invoker: Callable[[], object] | None,
        policy: ReconnectPolicy,
        on_event: EventHandler,
    ) -> None:
        self.fields: Final = fields
        self.clock: Final = clock
        self.handlers: Final = ProgramHandlers(handlers, on_event)
        self._driver_invoker = driver_invoker
        self._policy = policy
        self._lock = threading.RLock()
        self._working = threading.Lock()
        self._process_id = os.getpid()
        self._thread: ConductorThread | None = None
        self._is_closed = False
        #: Whether the client has closed itself, and its handlers did not all get `GaveUp` yet.
        self.is_giving_up = False
        self._cause: Exception | None = None
        self._retry = Retry(policy)
        self._resources: dict[int, AnyResource] = {}
        self._restorations: list[Restoration[Any]] = []
        self._watches: list[ResilientPeerWatch] = []
        # Before the first plain client is opened: its close at the exit must not look like a loss.
        close_at_exit(self.close_at_exit, CLIENT)
        self._checked_ns = clock.nano_time()
        self._outage = Outage(self._checked_ns)
        self._connector = Connector(fields, clock, self.handlers, driver_invoker, self.wake)
        self._conductor, self.last = self._connector.open(waits=True)
        self._aeron: Aeron | None = self.last
        if not fields.use_conductor_agent_invoker:
            self._thread = ConductorThread(self.do_work, self.idle_s, "aeron-resilient")
            self._thread.start()

    # What resources and registrations use: `ResilientOwner`.

    @property
    def is_closed(self) -> bool:
        """See `ResilientOwner.is_closed`."""
        return self._is_closed

    @property
    def driver_timeout_s(self) -> float:
        """See `ResilientOwner.driver_timeout_s`."""
        return self.fields.driver_timeout_ms / 1000

    @property
    def current(self) -> Aeron | None:
        """See `ResilientOwner.current`."""
        aeron = self._aeron
        return None if aeron is None or aeron.is_closed else aeron

    def check_open(self) -> None:
        """See `ResilientOwner.check_open`."""
        if self._is_closed:
            reason = "connect again" if self._cause is None else str(self._cause)
            raise ClosedError(f"the client of {self.fields.aeron_dir} is closed: {reason}") from self._cause

    def check_may_wait(self) -> None:
        """Raise ClosedError if the client is closed, ClientError in one of its handlers."""
        self.check_open()
        if self.handlers.is_running:
            raise ClientError(
                "a handler of events must not wait for the driver, because the client does not reconnect before the "
                "handler returns: use the _async methods, and offer in place of send, or wait on another thread"
            )
        self._conductor.check_may_wait()

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """See `ResilientOwner.await_until`; runs duty cycles of the plain client, and of a client without threads."""
        deadline_ns = None if timeout is None else self.clock.nano_time() + int(timeout * _NS_PER_S)
        pause_s = _MIN_PAUSE_S
        while not condition():
            self.check_may_wait()
            if self._driver_invoker is not None:
                self._driver_invoker()
            work = self._conductor.do_work()
            if self._thread is None:
                work += self.do_work()
            if deadline_ns is not None and self.clock.nano_time() >= deadline_ns:
                return condition()
            if work > 0:
                pause_s = _MIN_PAUSE_S
                continue
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _ANSWER_PAUSE_S if self.current else _MAX_PAUSE_S)
        return True

    def forget(self, resource: object) -> None:
        """See `ResilientOwner.forget`."""
        with self._lock:
            self._resources.pop(id(resource), None)

    def keep(self, resource: object) -> None:
        """See `ResilientOwner.keep`."""
        assert isinstance(resource, ResilientResource)
        # Not attached: the client was lost, and may have reconnected, while the resource was closed.
        self.add(resource, self._aeron if resource.is_attached else None)

    def wake(self) -> None:
        """See `ResilientOwner.wake`."""
        if self._thread is not None:
            self._thread.wake()

    def why(self) -> str:
        """See `ResilientOwner.why`."""
        if self.current is not None:
            return "it is being re-added"
        reason = "the client has just lost it" if self._cause is None else str(self._cause)
        return f"there is no media driver in {self.fields.aeron_dir} now ({reason}); the client reconnects"

    # What the client uses.

    def add(self, resource: AnyResource, aeron: Aeron | None) -> None:
        """Re-add `resource` from now on; it was added to the plain client `aeron`, which may be lost already."""
        with self._lock:
            self._resources[id(resource)] = resource
            if aeron is not None and aeron is self._aeron:
                return
            begin_ns = self._outage.begin_ns
            resource.begin_gap(self.clock.nano_time() if begin_ns is None else begin_ns)
            if self._aeron is not None:
                self._restorations.append(self._restoration(resource, self._aeron))
        self.wake()

    def add_watch(self, watch: ResilientPeerWatch) -> None:
        """Let a watch of peers follow its resource to each driver, from now on."""
        with self._lock:
            self._watches.append(watch)
        self.wake()

    def do_work(self) -> int:
        """Run one duty cycle and return the work count; 0 in a handler, while another thread runs one, once closed.

        Never runs in a forked child.
        """
        if self._is_closed or os.getpid() != self._process_id or not self._working.acquire(blocking=False):
            return 0
        try:
            return self._step(self.clock.nano_time())
        except Exception as error:  # of one resource, such as a full command ring: the thread must go on
            self.handlers.report(error)
            return 0
        finally:
            self._working.release()

    def idle_s(self) -> float | None:
        """Return the seconds to sleep after a cycle without work; None once closed."""
        if self._is_closed:
            return None
        due = [restoration.retry.due_ns for restoration in list(self._restorations)]
        if any(restoration.is_sent for restoration in list(self._restorations)):
            return _ANSWER_PAUSE_S
        if self._aeron is None:
            due.append(self._retry.due_ns)
        now_ns = self.clock.nano_time()
        waits = [max(due_ns - now_ns, 0) / _NS_PER_S for due_ns in due]
        return max(min([self._policy.check_interval_s, *waits]), _ANSWER_PAUSE_S)

    def close(self, *, is_driver_informed: bool = True) -> None:
        """Close the client; `is_driver_informed` as of `Aeron.close` and `Aeron.leave`. Closing twice does nothing.

        Waits until the threads have ended, unless called in a handler. In a forked child, only marks it as closed:
        the driver, and the parent, keep everything.
        """
        if os.getpid() != self._process_id:
            self._is_closed = True
            return
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            aeron, self._aeron = self._aeron, None
        is_in_handler = self.handlers.is_running or self._conductor.is_in_handler()
        if aeron is not None:
            aeron.close() if is_driver_informed else aeron.leave()
        if self._thread is not None:
            self._thread.wake() if is_in_handler else self._thread.join()
        if not was_closed:
            self.handlers.run_closes()

    def close_at_exit(self) -> None:
        """Close when the program exits; the plain client, which is registered too, is closed after this."""
        if not self._is_closed:
            self._is_closed = True
            self.wake()
            self.handlers.run_closes()

    # The duty cycle.

    def _step(self, now_ns: int) -> int:
        work = self._check_connection(now_ns)
        if self._aeron is None and not self._is_closed and now_ns >= self._retry.due_ns:
            work += self._attempt(now_ns)
        if self._aeron is not None:
            work += self._restore(now_ns)
        return work

    def _check_connection(self, now_ns: int) -> int:
        """Detect a loss; return 1 if there is one."""
        aeron = self._aeron
        if aeron is None:
            return 0
        cause: Exception | None
        if aeron.is_closed:
            cause = self._conductor.cause
        else:
            self._outage.note_heartbeat(self._conductor.driver.heartbeat_ms, now_ns)
            if now_ns - self._checked_ns < int(self._policy.check_interval_s * _NS_PER_S):
                return 0
            self._checked_ns = now_ns
            if not self._connector.was_replaced():
                return 0
            cause = DriverTimeoutError(
                f"another media driver has replaced that of {self.fields.aeron_dir}: its cnc.dat is another file"
            )
            aeron.leave()
        with self._lock:
            if self._is_closed:
                return 1
            self._aeron = None
            self._cause = cause
            self._restorations.clear()
            if self._outage.begin_ns is not None:
                # Lost again before everything was restored: the delay bounds the rate of such losses.
                self._retry.postpone(now_ns)
            begin_ns = self._outage.note_loss()
            lost, watches = list(self._resources.values()), list(self._watches)
        for resource in lost:
            resource.begin_gap(begin_ns)
        self.handlers.emit(
            Disconnected(
                cause=cause or ClosedError("the plain client was closed"),
                driver_identity=aeron.driver_identity,
                client_id=aeron.client_id,
                silent_s=self._outage.silent_s(now_ns),
            )
        )
        for watch in watches:
            watch.lose(self.handlers.run)
        return 1

    def _attempt(self, now_ns: int) -> int:
        previous = self.last
        try:
            conductor, aeron = self._connector.open(waits=False)
        except Exception as error:  # of any kind: the next attempt may succeed
            self._attempt_failed(error, now_ns)
            return 1
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._conductor, self.last, self._aeron = conductor, aeron, aeron
                self._restorations = [
                    self._restoration(resource, aeron) for resource in self._resources.values()
                ]
        if is_closed:
            aeron.close()
            return 1
        self._outage.note_connection(conductor.driver.heartbeat_ms, now_ns)
        # A resource that stays refused must not make the limits of the policy include earlier losses. The delay stays
        # until everything is restored.
        attempt, self._retry.attempts = self._retry.attempts + 1, 0
        self.handlers.emit(
            Reconnected(
                previous_driver_identity=previous.driver_identity,
                driver_identity=aeron.driver_identity,
                client_id=aeron.client_id,
                attempt=attempt,
                duration_s=self._outage.elapsed_s(now_ns),
            )
        )
        return 1

    def _attempt_failed(self, error: Exception, now_ns: int) -> None:
        delay_s = self._retry.failed(now_ns)
        self._cause = error
        attempts, elapsed_s = self._retry.attempts, self._outage.elapsed_s(now_ns)
        max_attempts, max_elapsed_s = self._policy.max_attempts, self._policy.max_elapsed_s
        is_last = max_attempts is not None and attempts >= max_attempts
        if is_last or (max_elapsed_s is not None and self._outage.since_loss_s(now_ns) >= max_elapsed_s):
            with self._lock:
                if self._is_closed:
                    return
                # Before `is_closed`: another thread that reads that first must not miss the event.
                self.is_giving_up = True
                self._is_closed = True
            self.handlers.emit(GaveUp(error=error, attempts=attempts, elapsed_s=elapsed_s))
            self.is_giving_up = False
            self.handlers.run_closes()
        elif self._retry.is_reported(now_ns):
            self.handlers.emit(
                ReconnectFailed(error=error, attempt=attempts, retry_in_s=delay_s, elapsed_s=elapsed_s)
            )

    def _restore(self, now_ns: int) -> int:
        with self._lock:
            restorations, resources = list(self._restorations), list(self._resources.values())
            watches = self._watches = [watch for watch in self._watches if not watch.is_closed]
            aeron = self._aeron
        work = sum(restoration.advance(now_ns) for restoration in restorations)
        if aeron is not None and not aeron.is_closed:
            work += sum(watch.follow(aeron) for watch in watches)
        for resource in resources:
            # Also while there is no gap: what arrives then is dropped.
            if isinstance(resource, ResilientSubscription):
                work += self._report_images(resource, now_ns)
        with self._lock:
            self._restorations = [one for one in self._restorations if not one.is_done]
            is_missing = self._outage.begin_ns is not None
            is_restored = not self._restorations and is_missing and self.current is not None
            elapsed_s = self._outage.elapsed_s(now_ns)
            if is_restored:
                self._outage.end()
                self._cause = None
                self._retry.reset()
        if is_restored and not self._is_closed:
            self.handlers.emit(Restored(duration_s=elapsed_s))
        return work + is_restored

    def _report_images(self, subscription: ResilientSubscription, now_ns: int) -> int:
        returned = subscription.take_returned()
        for before, after in returned:
            self.handlers.emit(
                ImageRestored(
                    subscription=subscription,
                    before=before,
                    after=after,
                    duration_s=subscription.gap_ns(now_ns) / _NS_PER_S,
                )
            )
        return len(returned)

    def _restoration(self, resource: AnyResource, aeron: Aeron) -> Restoration[Any]:
        return Restoration(resource, aeron, self._policy, self.handlers.emit)
