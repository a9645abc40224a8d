"""Fixtures: foreign SP PAIR programs, and a driver of ours for them to connect to."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import sp_peers
import trustme
from sp_messages import checksum
from sp_peers import HOST, PEERS, SpPeer, channel_keys, dialed, listening

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.protocol.cnc import CNC_FILE, CncFile

STREAM = 7
#: Mask of the hop count in a reserved value; the session id of the peer is the upper half.
NAMES_PEER = 0x100
DEADLINE_S = 40
#: The conductor's timers end streams: with the default of a second, many tests would wait for them.
DRIVER_SETTINGS = {"perform_storage_checks": False, "timer_interval_ns": "100ms"}


def _missing(name: str, why: str) -> None:
    """Skip the test, or fail it in CI, where the program must be installed."""
    message = f"{name} is not tested: {why}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def sp_python() -> Path:
    """Return a Python with pynng and nng."""
    return sp_peers.make_python()


@pytest.fixture(scope="session")
def mangos() -> Path:
    """The program around mangos."""
    program = sp_peers.make_mangos()
    if program is None:
        pytest.skip("mangos is not tested: Go is not installed")
    return program


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> Iterator[Callable[..., SpPeer]]:
    """Start peers by library name, `pynng`, `nng` or `mangos`, with arguments of their programs."""
    started: list[SpPeer] = []

    def start(library: str, kind: str = "pair1", *options: str) -> SpPeer:
        command: list[object]
        if library == "mangos":
            command = [request.getfixturevalue("mangos")]
        else:
            command = [request.getfixturevalue("sp_python"), PEERS / f"{library}_peer.py"]
        made = SpPeer(*command, kind, *options)
        started.append(made)
        made.await_event("ready")
        return made

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def nngcat() -> list[str]:
    """The command of nng's nngcat, which prints whole lines."""
    return _of_debian("nngcat", "nng-utils")


@pytest.fixture
def nanocat() -> list[str]:
    """The command of libnanomsg's nanocat, which prints whole lines."""
    return _of_debian("nanocat", "nanomsg-utils")


def _of_debian(program: str, package: str) -> list[str]:
    if shutil.which(program) is None:
        _missing(program, f"on Debian, apt-get install {package}")
    return ["stdbuf", "-oL", program]


@dataclass(frozen=True)
class Message:
    """A received message with its peer and its hop count."""

    data: bytes
    session_id: int
    hops: int


class OurPair:
    """A driver with threads, and a client with a subscription and a publication on one channel.

    `url` is the address that it listens on or dials, in nng's notation.
    """

    def __init__(self, directory: Path, url: str, mode: str, keys: str = "") -> None:
        self._driver = MediaDriver.launch({"aeron_dir": directory, **DRIVER_SETTINGS})
        self.client = aeron_core.connect(directory)
        self._directory = directory
        channel = f"aeron:sp?{channel_keys(url)}|mode={mode}{keys}"
        self.received: list[Message] = []
        self._is_closed = False
        try:
            self._add(channel, mode, url)
        except BaseException:
            self.close()  # its threads would run beside the following tests
            raise

    def _add(self, channel: str, mode: str, url: str) -> None:
        self.subscription = self.client.add_subscription(channel, STREAM)
        self.publication = self.client.add_exclusive_publication(channel, STREAM)
        self._assembler = aeron_core.FragmentAssembler(self._on_message)
        self._taken = 0
        self.url = url
        if mode == "listen" and "://127.0.0.1:0" in url:
            self.until(self.subscription.resolved_endpoint)
            port = self.subscription.resolved_endpoint().rpartition(":")[2]
            self.url = url.replace("127.0.0.1:0", f"127.0.0.1:{port}")

    def _on_message(self, buffer: memoryview, header: aeron_core.Header) -> None:
        self.received.append(Message(bytes(buffer), header.session_id, header.reserved_value & 0xFF))

    def poll(self) -> None:
        while self.subscription.poll(self._assembler, 1000):
            pass

    def until(self, condition: Callable[[], object], timeout: float = DEADLINE_S) -> None:
        """Wait for a condition and read messages in the meantime."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"did not happen within {timeout} s; {self.errors()}"
            time.sleep(0.0005)

    def take(self, count: int = 1) -> list[Message]:
        """Wait for that many new messages and return them."""
        until = self._taken + count
        self.until(lambda: (self.poll(), len(self.received) >= until)[-1])
        taken = self.received[self._taken : until]
        self._taken = until
        return taken

    def texts(self, count: int = 1) -> list[str]:
        """Wait for that many messages and return their text."""
        return [message.data.decode("latin-1") for message in self.take(count)]

    def checksum(self, count: int) -> str:
        """Wait for that many messages and return their digest."""
        return checksum(message.data for message in self.take(count))

    def send(self, data: bytes | str, peer: int | None = None) -> None:
        """Offer a message until it is accepted, and read in the meantime."""
        data = data.encode("latin-1") if isinstance(data, str) else data
        value = 0 if peer is None else NAMES_PEER | peer << 32
        self.until(lambda: (self.poll(), self.publication.offer(data, reserved_value=value) > 0)[-1])

    def sessions(self) -> list[int]:
        """Return the session ids of the connected peers in the order of their connection."""
        return [image.session_id for image in self.subscription.images]

    def await_peers(self, count: int = 1) -> list[int]:
        """Wait until that many peers are connected and return their session ids."""
        self.until(
            lambda: len(self.subscription.images) == count and (not count or self.publication.is_connected)
        )
        return self.sessions()

    def counted(self, name: str) -> int:
        """Return the value of a counter of the medium."""
        # Publication and subscription have separate counters for the same socket.
        return max(
            record.value for record in self.client.counters_reader if record.label.startswith(f"sp-{name}:")
        )

    def errors(self) -> list[str]:
        """Return the entries of the distinct error log."""
        return [record.line for record in read_errors(CncFile.open(self._directory / CNC_FILE).error_log)]

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.client.close()
            self._driver.close()


@pytest.fixture
def ours(aeron_dirs: Callable[[], Path]) -> Iterator[Callable[..., OurPair]]:
    """Create our endpoints: `ours("listen", url, keys)`."""
    made: list[OurPair] = []

    def make(mode: str, url: str, keys: str = "") -> OurPair:
        made.append(OurPair(aeron_dirs(), url, mode, keys))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A certificate with its key, its authority, and an unrelated authority."""
    directory = tmp_path_factory.mktemp("certificates")
    authority, stranger = trustme.CA(), trustme.CA()
    names = SimpleNamespace(
        server=directory / "server.pem",
        trusted=directory / "trusted.pem",
        stranger=directory / "stranger.pem",
    )
    # mbedTLS, which pynng uses, verifies names rather than addresses.
    issued = authority.issue_cert("localhost", "127.0.0.1", HOST, common_name="localhost")
    names.server.write_bytes(issued.private_key_and_cert_chain_pem.bytes())
    names.trusted.write_bytes(authority.cert_pem.bytes())
    names.stranger.write_bytes(stranger.cert_pem.bytes())
    return names


@pytest.fixture
def secured(files: SimpleNamespace) -> Callable[..., tuple[str, list[str]]]:
    """Return certificate keys for our endpoint and options for the peer, none for transports without TLS."""

    def secure(transport: str, role: str) -> tuple[str, list[str]]:
        if transport not in ("tls", "wss"):
            return "", []
        if role == "listen":
            return f"|cert={files.server}", [f"trust={files.trusted}"]
        return f"|ca={files.trusted}", [f"serve={files.server}"]

    return secure


@pytest.fixture
def connected(ours, peer, url, secured) -> Callable[..., tuple[OurPair, SpPeer]]:
    """Connect one of our endpoints, which listens or dials, with one of a library."""

    def connect(
        library: str, transport: str, role: str, keys: str = "", *, kind: str = "pair1"
    ) -> tuple[OurPair, SpPeer]:
        more, options = secured(transport, role)
        their = peer(library, kind, *options)
        if role == "listen":
            our = ours("listen", url(transport), keys + more)
            their.dial(dialed(our.url, library))
        else:
            our = ours("dial", listening(their, library, url(transport)), keys + more)
        our.await_peers()
        their.await_event("joined")
        return our, their

    return connect


@pytest.fixture
def url(tmp_path: Path) -> Callable[[str], str]:
    """Addresses to listen on, by name of the transport."""
    return {
        "tcp": "tcp://127.0.0.1:0",
        "ipc": f"ipc://{tmp_path}/pair",
        "abstract": f"abstract://{tmp_path.name}-{os.getpid()}",
        "tls": "tls+tcp://127.0.0.1:0",
        "ws": "ws://127.0.0.1:0/pair",
        "wss": "wss://127.0.0.1:0/pair",
    }.__getitem__
