"""A folder in memory for the driver that replaces a party of a capture."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from replaying import Replay

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture
def memory_path() -> Iterator[Path]:
    with TemporaryDirectory(
        prefix="aeron-replay-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    ) as path:
        yield Path(path)


@pytest.fixture
def start_replay(memory_path):
    """Return a function that starts our driver as a party of a capture; it is closed after the test."""
    replays = []

    def start(capture, party, **arguments):
        replays.append(Replay(memory_path, capture, party, **arguments))
        return replays[-1]

    yield start
    for replay in replays:
        replay.simulation.close()
