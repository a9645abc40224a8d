"""Fixtures: foreign Lumberjack programs, and a driver of ours for them to connect to."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import lumberjack_peers
import pytest
from certificates import make_certificates

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.protocol.cnc import CNC_FILE, CncFile

STREAM = 7
DEADLINE_S = 40


@pytest.fixture(scope="session")
def peers_python() -> Path:
    """Return a Python with the peers from PyPI."""
    return lumberjack_peers.make_python()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Files of a certificate authority, of a server and a client with its certificates, and of another authority."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def golumber() -> Path:
    """The client and the server of go-lumber."""
    program = lumberjack_peers.make_golumber()
    if program is None:
        pytest.skip("go-lumber is not tested: Go is not installed")
    return program


@pytest.fixture(scope="session")
def node_peers() -> Path:
    """The folder of the npm packages."""
    folder = lumberjack_peers.make_node_modules()
    if folder is None:
        pytest.skip("npm packages are not tested: Node with npm is not installed")
    return folder


class Ours:
    """A driver with threads, and a client."""

    def __init__(self, directory: Path) -> None:
        self._driver = MediaDriver.launch(
            {
                "aeron_dir": directory,
                "perform_storage_checks": False,
                "term_buffer_length": "1m",
                # The conductor's timers end streams: with the default of a second, many tests would wait for them.
                "timer_interval_ns": "100ms",
            }
        )
        self.client = aeron_core.connect(directory)
        self._directory = directory

    def close(self) -> None:
        """Close client and driver; idempotent."""
        self.client.close()
        self._driver.close()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"did not happen within {DEADLINE_S} s; {self.errors()}"
            time.sleep(0.0005)

    def counted(self, name: str) -> int:
        """Return the value of a counter of the medium."""
        (value,) = [
            record.value
            for record in self.client.counters_reader
            if record.label.startswith(f"lumberjack-{name}:")
        ]
        return value

    def errors(self) -> list[str]:
        """Return the entries of the distinct error log."""
        return [record.line for record in read_errors(CncFile.open(self._directory / CNC_FILE).error_log)]


class Reader(Ours):
    """Receives events from writers."""

    def __init__(self, directory: Path, keys: str = "", port: int = 0) -> None:
        super().__init__(directory)
        self.subscription = self.client.add_subscription(
            f"aeron:lumberjack?endpoint=127.0.0.1:{port}{keys}", STREAM
        )
        self.until(self.subscription.resolved_endpoint)
        self.address = self.subscription.resolved_endpoint()
        self.port = int(self.address.rpartition(":")[2])
        self.payloads: list[str] = []
        self.by_session: defaultdict[int, list[str]] = defaultdict(list)
        self._assembler = aeron_core.FragmentAssembler(self._on_message)

    def _on_message(self, buffer: memoryview, header: aeron_core.Header) -> None:
        self.payloads.append(bytes(buffer).decode())
        self.by_session[header.session_id].append(self.payloads[-1])

    def poll(self) -> int:
        return self.subscription.poll(self._assembler, 100)

    def take(self, count: int) -> list[str]:
        """Wait for that many events."""
        self.until(lambda: (self.poll(), len(self.payloads) >= count)[-1])
        return self.payloads

    def take_all(self) -> list[str]:
        """Return the received events when all writers have disconnected."""
        self.until(lambda: (self.poll(), self.counted("connections") == 0)[-1])
        while self.poll():
            pass
        return self.payloads


class Writer(Ours):
    """Sends events to a reader."""

    def __init__(self, directory: Path, address: str, keys: str = "") -> None:
        super().__init__(directory)
        self.publication = self.client.add_exclusive_publication(
            f"aeron:lumberjack?endpoint={address}{keys}", STREAM
        )

    def offer(self, payloads: list[bytes]) -> None:
        """Offer all events."""
        for payload in payloads:
            self.until(lambda payload=payload: self.publication.offer(payload) > 0)

    def send(self, payloads: list[bytes]) -> None:
        """Offer all events and wait until they are acknowledged."""
        self.offer(payloads)
        self.until(lambda: self._acknowledged() == self.publication.position)

    def _acknowledged(self) -> int:
        (value,) = [
            record.value for record in self.client.counters_reader if record.label.startswith("snd-pos")
        ]
        return value


@pytest.fixture
def reading(aeron_dirs: Callable[[], Path]) -> Iterator[Callable[..., Reader]]:
    """Start a driver that listens for writers."""
    made: list[Reader] = []

    def make(keys: str = "", port: int = 0) -> Reader:
        made.append(Reader(aeron_dirs(), keys, port))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def writing(aeron_dirs: Callable[[], Path]) -> Iterator[Callable[..., Writer]]:
    """Start a driver that sends to a reader."""
    made: list[Writer] = []

    def make(address: str, keys: str = "") -> Writer:
        made.append(Writer(aeron_dirs(), address, keys))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def output_of() -> Callable[..., dict[str, object]]:
    """Return the final output of a peer, whether or not it exits then."""

    def read(peer) -> dict[str, object]:
        peer.await_line("{")
        (line,) = [line for line in peer.lines if line.startswith("{")]
        return json.loads(line)

    return read
