"""Simulation: drivers, clients, a clock and a network that one thread steps, reproducibly from a seed.

    with DriverPair(tmp_path, seed=3, link=SimulatedLink(loss=0.1)) as pair:
        subscription = pair.add_subscription("aeron:udp?endpoint=10.0.0.2:20121", 1001)
        publication = pair.add_publication("aeron:udp?endpoint=10.0.0.2:20121", 1001)
        pair.run_until(lambda: publication.is_connected)

No thread runs and nothing sleeps. Names are looked up synchronously, unless `start_lookup` is replaced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from aeron_core._native.clock import Clock
from aeron_core.client.aeron import Aeron
from aeron_core.client.connecting import connect
from aeron_core.client.handlers import ClientHandlers
from aeron_core.concurrent.counters import CounterRecord, CountersReader
from aeron_core.concurrent.error_log import ErrorRecord, read_errors
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.driver.random_bits import system_bits, use_random_bits
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.registry import Registry
from aeron_core.settings.models import ClientSettings
from aeron_core.testing.connections import SimulatedConnections
from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.network import SimulatedNetwork

if TYPE_CHECKING:
    from aeron_core.client.handlers import PublicationErrorHandler
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.driver.conductor.names.lookups import StartLookup

T = TypeVar("T")

US: Final = 1_000
MS: Final = 1_000_000
S: Final = 1_000_000_000

# Small files, which are fast to create.
_SETTINGS: Final[dict[str, Any]] = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "counters_buffer_length": "1m",
    "loss_report_buffer_length": "64k",
    "dir_delete_on_shutdown": True,
    "perform_storage_checks": False,
}
_LONG_RUN_NS: Final = 1 * S
_LONG_WAIT_NS: Final = 100 * MS
_LONG_REST_NS: Final = 10 * MS
_SYSTEM_IDS: Final = {name: index for index, (name, _) in enumerate(labelled(SystemCounterLabels()))}


class SimulatedDriver:
    """One driver of a simulation, with its clients."""

    def __init__(self, media_driver: MediaDriver, clock: Clock) -> None:
        self.media_driver = media_driver
        self.aeron_dir = media_driver.aeron_dir
        self.clients: list[Aeron] = []
        self.client_errors: list[Exception] = []
        self.is_stalled = False
        self.cnc = CncFile.open(self.aeron_dir / CNC_FILE)
        self.counters = CountersReader(self.cnc.counters_metadata, self.cnc.counters_values)
        self.clock = clock

    def connect(
        self, *, on_publication_error: PublicationErrorHandler | None = None, **settings: Any
    ) -> Aeron:
        """Return a new client, which is stepped with the driver until it is passed to `abandon`.

        `settings` are fields of ClientSettings.
        """
        client = connect(
            settings=ClientSettings(aeron_dir=self.aeron_dir, use_conductor_agent_invoker=True, **settings),
            clock=self.clock,
            handlers=ClientHandlers(
                on_error=self.client_errors.append, on_publication_error=on_publication_error
            ),
        )
        self.clients.append(client)
        return client

    def abandon(self, client: Aeron) -> None:
        """Stop stepping a client, as if its process had died; raise ValueError if it is not stepped."""
        self.clients.remove(client)

    def do_work(self) -> int:
        """Run one duty cycle of the driver, unless `is_stalled`, and of its clients; return the work count."""
        work = 0 if self.is_stalled else self.media_driver.do_work()
        # Not `sum`: a simulation spends much of its time in rounds without work.
        for client in self.clients:
            work += client.do_work()
        return work

    def counted(self, name: str) -> int:
        """Return the value of a system counter by its name in `SystemCounters`; raise KeyError if unknown."""
        return self.counters.value(_SYSTEM_IDS[name])

    def find_counters(self, prefix: str) -> list[CounterRecord]:
        """Return the allocated counters with a label that starts with `prefix`, ordered by id."""
        counters = self.counters
        ids = [each for each in counters.allocated_ids() if counters.label(each).startswith(prefix)]
        return [counters.record(counter_id) for counter_id in ids]

    def find_counter(self, prefix: str) -> CounterRecord:
        """Return the allocated counter with a label that starts with `prefix`; raise ValueError unless there is one."""
        (record,) = self.find_counters(prefix)
        return record

    def errors(self) -> list[ErrorRecord]:
        """Return the records of the distinct error log."""
        return list(read_errors(self.cnc.error_log))

    def log_files(self) -> list[Path]:
        """Return the paths of the log buffers in the driver's directory, sorted."""
        return sorted(self.aeron_dir.glob("*/*.logbuffer"))

    def close(self) -> None:
        """Close the clients that are stepped, then the driver."""
        for client in self.clients:
            client.close()
        self.media_driver.close()


class Simulation:
    """Any number of drivers on one network, with a manual clock.

    A round runs each driver and its clients once, then advances the clock: by `busy_step_ns` after a round with work,
    by `idle_step_ns` after a round without. Each driver has `plugins` in addition to the installed ones.
    """

    def __init__(  # noqa: PLR0913 - all but the first have a preset
        self,
        directory: Path,
        *,
        seed: int = 1,
        link: SimulatedLink | None = None,
        busy_step_ns: int = 10 * US,
        idle_step_ns: int = 1 * MS,
        plugins: Sequence[object] = (),
    ) -> None:
        # pytest shows this output of a failed test: the values that reproduce it.
        print(f"seed={seed} link={link}")
        # Drivers choose session ids, term ids and receiver ids at random.
        use_random_bits(random.Random(seed).getrandbits)
        self.clock = Clock.manual(now_ns=S)
        self.network = SimulatedNetwork(self.clock, seed, link=link)
        self.connections = SimulatedConnections()
        self.drivers: list[SimulatedDriver] = []
        self.busy_step_ns = busy_step_ns
        self.idle_step_ns = idle_step_ns
        self.long_idle_step_ns = 0
        self.start_lookup: StartLookup = lambda lookup: lookup()
        self._other_clocks: list[Clock] = []
        self._plugins = plugins
        self._directory = directory

    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
        return self.clock.nano_time()

    def add_driver(self, *addresses: str, clock: Clock | None = None, **settings: Any) -> SimulatedDriver:
        """Start and return a driver on a host with these addresses, 127.0.0.1 and ::1 by default.

        `clock`: a manual clock of this host alone, which is advanced with that of the simulation. `settings` are fields
        of DriverSettings; lengths of buffers are short by default.
        """
        if clock is not None:
            self._other_clocks.append(clock)
        open_datagrams = self.network.host(*addresses).open if addresses else self.network.open
        aeron_dir = str(self._directory / f"driver-{len(self.drivers)}")
        arguments = {"aeron_dir": aeron_dir, **_SETTINGS, **settings}
        registry = Registry.load(self._plugins)
        # The driver would do this with `start_lookup`, which tests replace to hold back lookups.
        for medium in ("ipc", "udp"):
            registry.import_entry("aeron_media_transports", medium)
        driver = SimulatedDriver(
            MediaDriver(
                arguments,
                invoker=True,
                clock=clock or self.clock,
                registry=registry,
                open_datagrams=open_datagrams,
                connections=self.connections,
                start_lookup=lambda lookup: self.start_lookup(lookup),  # noqa: PLW0108 - reads the attribute at each call
            ),
            clock or self.clock,
        )
        self.drivers.append(driver)
        return driver

    def step(self) -> int:
        """Run one round; return the work count."""
        work = 0
        for driver in self.drivers:
            work += driver.do_work()
        step_ns = self.busy_step_ns if work else self.idle_step_ns
        self.clock.advance(step_ns)
        for clock in self._other_clocks:
            clock.advance(step_ns)
        return work

    def run_for(self, duration_ns: int, each: Callable[[], object] | None = None) -> None:
        """Run rounds until `duration_ns` of simulated time has passed; call `each` after every round.

        A run of 1 s or more without `each` advances the clock by at least `long_idle_step_ns` after a round without
        work: set it for tests that wait for the timers of drivers and clients.
        """
        end_ns, idle_step_ns = self.now_ns + duration_ns, self.idle_step_ns
        if each is None and duration_ns >= _LONG_RUN_NS:
            self.idle_step_ns = max(idle_step_ns, self.long_idle_step_ns)
        try:
            while self.now_ns < end_ns:
                self.step()
                if each is not None:
                    each()
        finally:
            if each is None:
                # With `each`, a caller may have set another step meanwhile.
                self.idle_step_ns = idle_step_ns

    def run_until(self, condition: Callable[[], object], *, within_ns: int = 10 * S) -> int:
        """Run rounds until `condition` is true; return the simulated time taken, in nanoseconds.

        After 100 ms, the last 10 ms of them without work, a round without work advances the clock by at least
        `long_idle_step_ns`, as in `run_for`. Raises AssertionError if it is not true within `within_ns`.
        """
        start_ns, idle_step_ns = self.now_ns, self.idle_step_ns
        idle_since_ns = start_ns
        try:
            while not condition():
                now_ns = self.now_ns
                assert now_ns - start_ns < within_ns, (
                    f"did not happen within {within_ns / S} simulated seconds"
                )
                if now_ns - start_ns >= _LONG_WAIT_NS and now_ns - idle_since_ns >= _LONG_REST_NS:
                    self.idle_step_ns = max(idle_step_ns, self.long_idle_step_ns)
                if self.step():
                    self.idle_step_ns, idle_since_ns = idle_step_ns, self.now_ns
        finally:
            self.idle_step_ns = idle_step_ns
        return self.now_ns - start_ns

    def result(self, registration: Registration[T]) -> T:
        """Run rounds until a command is answered; return its result, or raise its error.

        Raises AssertionError if there is no answer within 10 simulated seconds.
        """
        self.run_until(lambda: registration.is_done)
        value = registration.poll()
        assert value is not None
        return value

    def close(self) -> None:
        """Close all drivers."""
        for driver in self.drivers:
            driver.close()
        use_random_bits(system_bits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class DriverUnderTest(Simulation):
    """Simulation of one driver with one client. Methods that add run rounds and raise as `result`."""

    def __init__(
        self,
        directory: Path,
        *,
        seed: int = 1,
        link: SimulatedLink | None = None,
        plugins: Sequence[object] = (),
        **settings: Any,
    ) -> None:
        super().__init__(directory, seed=seed, link=link, plugins=plugins)
        self.driver = self.add_driver(**settings)
        self.client = self.driver.connect()

    def add_publication(self, channel: str, stream_id: int) -> Publication:
        """Add a publication of the client."""
        return self.result(self.client.add_publication_async(channel, stream_id))

    def add_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """Add an exclusive publication of the client."""
        return self.result(self.client.add_exclusive_publication_async(channel, stream_id))

    def add_subscription(self, channel: str, stream_id: int, **handlers: Any) -> Subscription:
        """Add a subscription of the client."""
        return self.result(self.client.add_subscription_async(channel, stream_id, **handlers))


class DriverPair(Simulation):
    """Simulation of a driver with a publishing client on 10.0.0.1, and one with a subscribing client on 10.0.0.2.

    Methods that add run rounds and raise as `result`.
    """

    SENDER: Final = "10.0.0.1"
    RECEIVER: Final = "10.0.0.2"

    def __init__(
        self,
        directory: Path,
        *,
        seed: int = 1,
        link: SimulatedLink | None = None,
        plugins: Sequence[object] = (),
        **settings: Any,
    ) -> None:
        super().__init__(directory, seed=seed, link=link, plugins=plugins)
        self.sender = self.add_driver(self.SENDER, **settings)
        self.receiver = self.add_driver(self.RECEIVER, **settings)
        self.publisher = self.sender.connect()
        self.subscriber = self.receiver.connect()

    def add_publication(self, channel: str, stream_id: int) -> Publication:
        """Add a publication at the sending driver."""
        return self.result(self.publisher.add_publication_async(channel, stream_id))

    def add_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """Add an exclusive publication at the sending driver."""
        return self.result(self.publisher.add_exclusive_publication_async(channel, stream_id))

    def add_subscription(self, channel: str, stream_id: int, **handlers: Any) -> Subscription:
        """Add a subscription at the receiving driver."""
        return self.result(self.subscriber.add_subscription_async(channel, stream_id, **handlers))

    def sent(self) -> list[bytes]:
        """Return the datagrams that the sending driver has sent."""
        return self.network.sent(source=self.SENDER)

    def answered(self) -> list[bytes]:
        """Return the datagrams that the receiving driver has sent."""
        return self.network.sent(source=self.RECEIVER)
