"""Drivers under test, on a manual clock and a simulated network."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing import DriverPair, DriverUnderTest, Feed, SimulatedPeer, Sink, make_messages
from aeron_core.testing.pair import MS, Simulation

S = TypeVar("S", bound=Simulation)

SHARED_MEMORY = Path("/dev/shm")
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """Return a folder in memory (/dev/shm): the files of a driver are too large for a disk."""
    with TemporaryDirectory(
        prefix="aeron-test-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    ) as path:
        yield Path(path)


def starting(kind: Callable[..., S], memory_path: Path) -> Iterator[Callable[..., S]]:
    """Yield a function that starts a simulation, in which waits for timers take few rounds."""
    with ExitStack() as stack:

        def start(**arguments: Any) -> S:
            simulation = stack.enter_context(kind(memory_path, **arguments))
            simulation.long_idle_step_ns = 10 * MS
            return simulation

        yield start


@pytest.fixture
def start_pair(memory_path: Path) -> Iterator[Callable[..., DriverPair]]:
    yield from starting(DriverPair, memory_path)


@pytest.fixture
def start_driver(memory_path: Path) -> Iterator[Callable[..., DriverUnderTest]]:
    yield from starting(DriverUnderTest, memory_path)


@pytest.fixture
def pair(start_pair: Callable[..., DriverPair]) -> DriverPair:
    return start_pair()


@pytest.fixture
def lone(start_driver: Callable[..., DriverUnderTest]) -> DriverUnderTest:
    return start_driver()


class Names:
    """A plugin with a resolver that maps every name to `address`; None means unknown."""

    def __init__(self) -> None:
        self.address: str | None = "10.0.0.2"
        self.asked: list[tuple[str, str, bool]] = []

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        return name

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        self.asked.append((host, uri_key, is_re_resolution))
        return self.address

    @hookimpl
    def aeron_name_resolvers(self) -> dict[str, object]:
        return {"names": lambda params: self}


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def simulation(memory_path: Path, names: Names) -> Iterator[Simulation]:
    with Simulation(memory_path, plugins=[names], idle_step_ns=5 * MS) as simulation:
        yield simulation


class VisitedStream:
    """A stream between the drivers of a pair, which must deliver everything despite foreign datagrams."""

    def __init__(self, pair: DriverPair) -> None:
        self.pair = pair
        subscription = pair.add_subscription(CHANNEL, 1001)
        publication = pair.add_exclusive_publication(
            f"{CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0", 1001
        )
        pair.run_until(lambda: publication.is_connected and subscription.is_connected)
        self._feed = Feed(publication, make_messages(300, seed=5, max_length=4000))
        self._sink = Sink(subscription)

    def step(self) -> None:
        self._feed.offer()
        self._sink.poll()

    def run_for(self, duration_ns: int) -> None:
        idle_step_ns, self.pair.idle_step_ns = self.pair.idle_step_ns, max(self.pair.idle_step_ns, 5 * MS)
        self.pair.run_for(duration_ns, each=self.step)
        self.pair.idle_step_ns = idle_step_ns

    def arrives_once_and_in_order(self) -> bool:
        self.pair.run_until(lambda: (self.step(), len(self._sink.all) >= 300)[1])
        self.pair.run_for(100 * MS, each=self.step)
        return self._sink.all == self._feed.messages


@pytest.fixture
def visit() -> Callable[[DriverPair], VisitedStream]:
    return VisitedStream


@pytest.fixture
def stream(pair: DriverPair) -> VisitedStream:
    return VisitedStream(pair)


@pytest.fixture
def to_receiver(pair: DriverPair) -> SimulatedPeer:
    return SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))


@pytest.fixture
def to_sender(pair: DriverPair) -> SimulatedPeer:
    return SimulatedPeer(pair.network, "10.0.0.7", 40000, (pair.SENDER, 49152))
