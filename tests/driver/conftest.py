"""Drivers under test, on a manual clock and a simulated network."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing import DriverPair, DriverUnderTest
from aeron_core.testing.pair import MS, Simulation

SHARED_MEMORY = Path("/dev/shm")
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """Return a folder in memory, as that of a real driver: the files of one are too long for the disk."""
    with TemporaryDirectory(
        prefix="aeron-test-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    ) as path:
        yield Path(path)


@pytest.fixture
def start_pair(memory_path: Path) -> Iterator[Callable[..., DriverPair]]:
    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(DriverPair(memory_path, **arguments))


@pytest.fixture
def start_driver(memory_path: Path) -> Iterator[Callable[..., DriverUnderTest]]:
    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(DriverUnderTest(memory_path, **arguments))


@pytest.fixture
def pair(start_pair: Callable[..., DriverPair]) -> DriverPair:
    return start_pair()


@pytest.fixture
def lone(start_driver: Callable[..., DriverUnderTest]) -> DriverUnderTest:
    return start_driver()


class Names:
    """A plugin whose resolver knows where every name is now; None for nowhere."""

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
