"""Fixtures: processes of the real Aeron (by pyaeron) and of aeron-core."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from forked import start_program
from java_peer import AERON_VERSION
from peer_programs import alone

import aeron_core

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "peers"
COMPATIBILITY_PAGE = ROOT / "docs" / "reference" / "compatibility.md"
DRIVERS = {"ours": "our driver", "theirs": "C driver", "java": "Java driver"}
WORDS = {
    "ours": "our client",
    "theirs": "C client",
    "java": "Java client",
    # A client at a driver.
    "ours/ours": "our client, our driver",
    "ours/java": "our client, Java driver",
    "java/ours": "Java client, our driver",
    "java/java": "Java client, Java driver",
    "ipc": "IPC",
    "udp": "UDP unicast",
    True: "with loss",
    False: "without loss",
}


@pytest.fixture(scope="session")
def foreign_python() -> Path:
    """Return a Python with pyaeron, in a separate environment that is kept between runs."""
    environment = ROOT / ".venv-interop"
    with alone(environment):
        return _make_foreign_python(environment)


def _make_foreign_python(environment: Path) -> Path:
    python = environment / "bin" / "python"
    requirement = _requirement()
    if _installed(python) == requirement:
        return python
    found = subprocess.run(
        [ROOT / "tools" / "find-python", "3.12"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        message = f"pyaeron, which carries the real Aeron, cannot be installed: {found.stderr}"
        if os.environ.get("CI"):
            pytest.fail(f"{message}; CI must run these tests")
        pytest.skip(message)
    base = found.stdout.strip()
    subprocess.run([base, "-m", "venv", "--clear", environment], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    return python


def _requirement() -> str:
    """Return pyaeron with the version that pyproject.toml names."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    (requirement,) = groups["interop"]
    return str(requirement)


def _installed(python: Path) -> str:
    """Return the requirement that an environment meets, empty if there is none."""
    if not python.exists():
        return ""
    program = "import pyaeron, importlib.metadata as m; print('pyaeron==' + m.version('pyaeron'))"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=False).stdout.strip()


@dataclass
class Peer:
    """A process and the lines that it has printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    _grown: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._grown:
                self.lines.append(line.rstrip())
                self._grown.notify_all()
        with self._grown:
            self._grown.notify_all()

    def await_line(self, text: str, timeout: float = 60) -> None:
        """Wait until the process has printed a line that begins with `text`."""
        with self._grown:
            arrived = self._grown.wait_for(lambda: any(line.startswith(text) for line in self.lines), timeout)
        assert arrived, f"no {text!r} from {self.process.args}: {self.lines}"

    def result(self, timeout: float = 180) -> dict[str, object]:
        """Wait for the process to end and return the JSON of its last line."""
        code = self.process.wait(timeout)
        self._reader.join(10)
        assert code == 0, f"exit {code} of {self.process.args}: {self.lines}"
        result: dict[str, object] = json.loads(self.lines[-1])
        return result

    def stop(self) -> None:
        """Terminate the process, then kill it if it does not exit."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


Start = Callable[..., Peer]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes; they are terminated after the test."""
    peers: list[Peer] = []

    def start_one(*command: object, **environment: str) -> Peer:
        process = start_program(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A killed process may have printed an incomplete UTF-8 character.
            errors="replace",
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            cwd=PEERS,
        )
        peer = Peer(process)
        peers.append(peer)
        return peer

    yield start_one
    for peer in reversed(peers):
        peer.stop()
        # Shown if the test fails.
        print(*peer.process.args, *peer.lines[-20:], sep="\n  ")


@pytest.fixture
def our_driver(start: Start, aeron_dirs: Callable[[], Path]) -> Callable[..., Path]:
    """Start `aeron-core driver` and return its directory."""

    def start_driver(directory: Path | None = None, **environment: str) -> Path:
        directory = directory or aeron_dirs()
        peer = start(
            sys.executable, "-m", "aeron_core", "driver",
            AERON_DIR=str(directory), AERON_DIR_DELETE_ON_SHUTDOWN="true", **(DRIVER_ENVIRONMENT | environment),
        )  # fmt: skip
        start_driver.peers.append(peer)
        _await_driver(directory, peer)
        return directory

    start_driver.peers = []
    return start_driver


@pytest.fixture
def foreign_driver(start: Start, aeron_dirs: Callable[[], Path], foreign_python: Path) -> Callable[..., Path]:
    """Start the real C driver and return its directory."""

    def start_driver(directory: Path | None = None, **environment: str) -> Path:
        directory = directory or aeron_dirs()
        peer = start(
            foreign_python, PEERS / "foreign.py", "driver", directory, **(DRIVER_ENVIRONMENT | environment)
        )
        start_driver.peers.append(peer)
        peer.await_line("ready")
        return directory

    start_driver.peers = []
    return start_driver


DRIVER_ENVIRONMENT = {
    # Short terms: twelve logs of several drivers must fit into any /dev/shm.
    "AERON_TERM_BUFFER_LENGTH": "1m",
    "AERON_IPC_TERM_BUFFER_LENGTH": "1m",
    # The conductor's timers end streams: with the default of a second, many tests would wait for them.
    "AERON_TIMER_INTERVAL": "100ms",
}


def _await_driver(directory: Path, peer: Peer) -> None:
    with aeron_core.connect(directory):
        assert peer.process.poll() is None, peer.lines


@pytest.fixture
def aeron_dirs() -> Iterator[Callable[[], Path]]:
    """Create paths of driver directories, which are deleted after the test."""
    root = Path(
        tempfile.mkdtemp(prefix="aeron-interop-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    made = 0

    def make() -> Path:
        nonlocal made
        made += 1
        return root / str(made)

    yield make
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def udp_channels() -> list[str]:
    """Return two UDP channels on ports that were free a moment ago."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        channels = []
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
            channels.append(f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}")
        return channels


@pytest.fixture
def udp_channel() -> str:
    """Return a UDP channel on a port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"


def row_of(item: pytest.Item) -> tuple[str, str] | None:
    """Return mode and direction of a test from `@pytest.mark.compatible`, None without that marker."""
    marker = item.get_closest_marker("compatible")
    if marker is None:
        return None
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    words = {
        name: WORDS.get(value, value) if isinstance(value, bool | str) else value
        for name, value in params.items()
    }
    drivers = {
        f"{name}_driver": DRIVERS[value]
        for name, value in params.items()
        if isinstance(value, str) and value in DRIVERS
    }
    drivers |= {
        f"{name}_driver": " and ".join(DRIVERS[kind] for kind in value)
        for name, value in params.items()
        if isinstance(value, list)
    }
    mode, direction = (text.format(**words, **drivers) for text in marker.args)
    return mode, direction


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Attach the row of the compatibility table to each report."""
    for item in items:
        row = row_of(item)
        if row is not None:
            item.user_properties.append(("compatible", row))


_results: dict[tuple[str, str], list[str]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the results per row."""
    row = dict(report.user_properties).get("compatible")
    if isinstance(row, tuple) and (report.when == "call" or report.outcome != "passed"):
        _results.setdefault(row, []).append(report.outcome)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the compatibility page if requested."""
    if session.config.getoption("--write-compatibility"):
        COMPATIBILITY_PAGE.write_text(_compatibility_page(), encoding="utf-8")


def _compatibility_page() -> str:
    lines = [
        "<!-- Written by `pytest tests/interop --write-compatibility`: do not edit. -->",
        "# Compatibility\n",
        "Tested with the C client and the C driver of pyaeron, with the Java client and the Java driver of "
        f"Aeron {AERON_VERSION}, with writers and readers of Lumberjack, and with peers of SP PAIR, each in a "
        "separate process. All tests of a row passed unless the row states otherwise.\n",
        "No Go client is tested: the Go module proxy has none that is maintained "
        "(it refuses `github.com/lirm/aeron-go` and `github.com/talostrading/aeron-go`).\n",
        "Where our driver differs from the C driver on purpose: "
        "[differences from aeronmd](differences-from-aeronmd.md).\n",
        "| mode | direction | result | tests |",
        "|---|---|---|---|",
    ]
    for (mode, direction), outcomes in sorted(_results.items()):
        result = "works" if set(outcomes) == {"passed"} else "fails" if "failed" in outcomes else "not tried"
        lines.append(f"| {mode} | {direction} | {result} | {len(outcomes)} |")
    return "\n".join(lines) + "\n"
