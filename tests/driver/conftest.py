"""Drivers under test, on a manual clock and a simulated network."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from aeron_core.testing import DriverPair, DriverUnderTest

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


@pytest.fixture
def start_pair(tmp_path: Path) -> Iterator[Callable[..., DriverPair]]:
    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(DriverPair(tmp_path, **arguments))


@pytest.fixture
def start_driver(tmp_path: Path) -> Iterator[Callable[..., DriverUnderTest]]:
    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(DriverUnderTest(tmp_path, **arguments))


@pytest.fixture
def pair(start_pair: Callable[..., DriverPair]) -> DriverPair:
    return start_pair()


@pytest.fixture
def lone(start_driver: Callable[..., DriverUnderTest]) -> DriverUnderTest:
    return start_driver()
