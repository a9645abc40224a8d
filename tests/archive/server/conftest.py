"""Fixtures: archives at the driver of a test, and a client of that driver."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from served_archives import Served

import aeron_core


@pytest.fixture
def serve(driver, tmp_path) -> Iterator[Callable[..., Served]]:
    """Start archives at the driver of the test."""
    started: list[Served] = []

    def start(folder: str = "archive", **options) -> Served:
        started.append(Served(driver, tmp_path / folder, **options))
        return started[-1]

    yield start
    for each in reversed(started):
        each.stop()


@pytest.fixture
def aeron(driver) -> Iterator[aeron_core.Aeron]:
    """Connect a client of its own."""
    with aeron_core.connect(driver.aeron_dir) as client:
        yield client


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Return UDP ports that were free a moment ago, each once."""
    given: set[int] = set()

    def port() -> int:
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", 0))
                number = int(probe.getsockname()[1])
            if number not in given:
                given.add(number)
                return number

    return port
