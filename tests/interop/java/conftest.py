"""Fixtures: one JVM, one Java driver and one driver of ours for all tests of this folder, and clients of both."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import java_peer
import pytest
from forked import start_program
from java_client import JavaClient
from java_peer import JavaPeer
from our_client import OurClient

import aeron_core

ENVIRONMENT = {
    "AERON_TERM_BUFFER_LENGTH": "1m",
    "AERON_IPC_TERM_BUFFER_LENGTH": "1m",
    "AERON_DIR_DELETE_ON_SHUTDOWN": "true",
    # The conductor's timers end streams: with the default of a second, many tests would wait for them.
    "AERON_TIMER_INTERVAL": "100ms",
}
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.05|seed=42|recv-msg-mask=0xF",
}


@pytest.fixture(scope="module")
def java() -> Iterator[JavaPeer]:
    """Start a JVM with the peer program."""
    missing = java_peer.missing_programs()
    if missing:
        message = f"the Java client and driver are not tested: {', '.join(missing)} not installed"
        if os.environ.get("CI"):
            pytest.fail(f"{message}; CI must run these tests")
        pytest.skip(message)
    peer = JavaPeer()
    yield peer
    peer.stop()


class Drivers:
    """Drivers of both kinds, each with and without loss; started at their first use."""

    def __init__(self, java: JavaPeer, root: Path) -> None:
        self._java = java
        self._root = root
        self._made: dict[str, Path] = {}
        self._stack = ExitStack()
        self._started: dict[Path, ExitStack] = {}

    def directory(self, kind: str, *, loss: bool = False, name: str = "") -> Path:
        """Return the directory of the driver of that kind, `ours` or `java`; `name` selects a further one."""
        key = f"{kind}{'-loss' if loss else ''}{name}"
        if key not in self._made:
            start = self.start_ours if kind == "ours" else self.start_java
            self._made[key] = start(
                self._root / key, **((LOSS if kind == "ours" else {"loss": "0.05"}) if loss else {})
            )
        return self._made[key]

    def start_ours(self, directory: Path, **environment: str) -> Path:
        """Start a driver of ours in a process of its own."""
        process = start_program(
            [sys.executable, "-m", "aeron_core", "driver"],
            env={**os.environ, **ENVIRONMENT, "AERON_DIR": str(directory), **environment},
            stdout=subprocess.DEVNULL,
        )
        running = self._keep(directory)
        running.callback(process.wait, 10)
        running.callback(process.terminate)
        with aeron_core.connect(directory):
            assert process.poll() is None
        return directory

    def start_java(self, directory: Path, **options: str) -> Path:
        """Start a Java driver in the JVM."""
        pairs = [f"{name.replace('_', '-')}={value}" for name, value in options.items()]
        handle = self._java.call("driver", directory, *pairs)
        self._keep(directory).callback(self._java.call, "close", handle)
        return directory

    def _keep(self, directory: Path) -> ExitStack:
        """Return the actions that stop the driver of a directory."""
        self._started[directory] = self._stack.enter_context(ExitStack())
        return self._started[directory]

    def stop(self, directory: Path) -> None:
        """Stop one driver."""
        self._started[directory].close()

    def start_gossiping(self, kind: str, name: str, address: str, bootstrap: str = "") -> Path:
        """Start a driver with a name at an address; `bootstrap` is the address of its first neighbour.

        It resolves a name again after a second of silence.
        """
        directory = self._root / f"{name}-at-{address}"
        if kind == "java":
            neighbors = {"resolver_bootstrap_neighbor": bootstrap} if bootstrap else {}
            return self.start_java(
                directory,
                publication_connection_timeout="1s",
                resolver_name=name,
                resolver_interface=address,
                **neighbors,
            )
        neighbors = {"AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": bootstrap} if bootstrap else {}
        return self.start_ours(
            directory,
            AERON_PUBLICATION_CONNECTION_TIMEOUT="1s",
            AERON_NAME_RESOLVER_SUPPLIER="driver",
            AERON_DRIVER_RESOLVER_NAME=name,
            AERON_DRIVER_RESOLVER_INTERFACE=address,
            **neighbors,
        )

    def close(self) -> None:
        """Stop all drivers."""
        self._stack.close()


@pytest.fixture(scope="module")
def shared_drivers(java: JavaPeer) -> Iterator[Drivers]:
    """Keep drivers for the whole session."""
    root = Path(tempfile.mkdtemp(prefix="aeron-java-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    drivers = Drivers(java, root)
    yield drivers
    drivers.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def further_drivers(java: JavaPeer, tmp_path: Path) -> Iterator[Drivers]:
    """Start drivers for one test."""
    drivers = Drivers(java, tmp_path)
    yield drivers
    drivers.close()


@pytest.fixture
def clients(java: JavaPeer) -> Iterator[Callable[[str, Path], JavaClient | OurClient]]:
    """Connect clients of either kind; they are closed after the test."""
    connected: list[JavaClient | OurClient] = []

    def connect(kind: str, directory: Path) -> JavaClient | OurClient:
        connected.append(OurClient(directory) if kind == "ours" else JavaClient(java, directory))
        return connected[-1]

    yield connect
    for client in reversed(connected):
        client.close()


@pytest.fixture
def at(clients, shared_drivers) -> Callable[..., JavaClient | OurClient]:
    """Connect a client to a shared driver: `at("java/ours")` is a Java client at our driver."""

    def connect(party: str, **options: object) -> JavaClient | OurClient:
        client, driver = party.split("/")
        return clients(client, shared_drivers.directory(driver, **options))

    return connect


_stream_ids = itertools.count(3000)


@pytest.fixture
def stream_id() -> int:
    """Return a stream id of this test alone: publications of an earlier test may linger at a shared driver."""
    return next(_stream_ids)


@pytest.fixture
def udp_channel(free_port: Callable[[], int]) -> str:
    """Return a UDP channel on a port that was free a moment ago."""
    return f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Return UDP ports that were free a moment ago, each once."""
    given: set[int] = set()

    def port(host: str = "127.0.0.1") -> int:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        while True:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((host, 0))
                number = int(probe.getsockname()[1])
            if number not in given:
                given.add(number)
                return number

    return port
