import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked import start_program

from aeron_core.cli.main import run
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CncFile

DEADLINE_S = 60
SMALL = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "counters_buffer_length": "1m",
    "error_buffer_length": "4m",
}
#: For a driver in a process of its own.
SMALL_FILES = {"AERON_COUNTERS_BUFFER_LENGTH": "1m", "AERON_TERM_BUFFER_LENGTH": "64k"}


@contextmanager
def slow_heartbeats(directory: Path) -> Iterator[None]:
    """Let the stopped driver of a directory look alive for three of each five seconds: store its heartbeats."""
    ring, is_over = ManyToOneRingBuffer(CncFile.open(directory / "cnc.dat").to_driver), threading.Event()

    def beat() -> None:
        start_s = time.monotonic()
        while not is_over.wait(0.01):
            if (time.monotonic() - start_s) % 5 > 2:
                ring.consumer_heartbeat_ms = time.time_ns() // 1_000_000

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def aeron(capfd, monkeypatch, tmp_path):
    """Run a command line in this process, without access to the user's directories."""
    monkeypatch.setenv("AERON_DIR", str(tmp_path / "no-driver"))

    def call(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def dead_directory(tmp_path) -> Path:
    """The directory of a dead driver, with one error and one loss."""
    directory = tmp_path / "dead"
    with MediaDriver({"aeron_dir": directory, **SMALL}, invoker=True) as driver:
        driver.do_work()
        context = driver._assembly.context
        context.errors.record(11, "something went wrong")
        losses = context.loss_report.prepare(
            session_id=7, stream_id=1001, channel="aeron:udp", source="1.2.3.4:5"
        )
        losses.record(64, 1_000)
    return directory


class Process:
    """A command in a process of its own."""

    def __init__(
        self,
        *arguments: object,
        stdin: object = subprocess.DEVNULL,
        is_forked: bool = False,
        **environment: str,
    ) -> None:
        """Start a command: a new Python, or as a fork of one with all modules, if a test is not about the start."""
        command = [sys.executable, "-m", "aeron_core", *map(str, arguments)]
        options = {
            "stdin": stdin,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": {**os.environ, **environment},
        }
        self.popen: subprocess.Popen[str] = (
            start_program(command, **options)
            if is_forked
            else subprocess.Popen(command, text=True, **options)
        )

    def ended(self, text: str | None = None, timeout: float = 60) -> Outcome:
        out, err = self.popen.communicate(text, timeout=timeout)
        return Outcome(self.popen.returncode, out, err)


@pytest.fixture
def start() -> Iterator[type[Process]]:
    """Start commands; kill those that still run after the test."""
    started: list[Process] = []

    def call(*arguments: object, **options: object) -> Process:
        started.append(Process(*arguments, **options))
        return started[-1]

    yield call
    for process in started:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.communicate()


@pytest.fixture
def slow_driver(running_driver) -> Callable[[Process], None]:
    """Stop the driver until a command with AERON_DRIVER_TIMEOUT=1000 has lost it, and has got no answer from it."""
    process, directory = running_driver

    def stop_for(command: Process) -> None:
        process.popen.send_signal(signal.SIGSTOP)
        # The command loses the driver, connects to it again, and so on, until an answer is missing.
        with slow_heartbeats(directory):
            stderr = iter(command.popen.stderr.readline, "")
            assert any("no answer from the media driver within 1000 ms" in line for line in stderr)
        process.popen.send_signal(signal.SIGCONT)

    return stop_for


@pytest.fixture
def running_driver(start, tmp_path, request):
    """A driver in a process of its own, ready for clients: the process and its directory.

    A fork, unless the test has the mark `parametrize("running_driver", ["new"], indirect=True)`.
    """
    directory = tmp_path / "driver"
    defines = [
        f"-Daeron.dir={directory}",
        "-Daeron.threading.mode=SHARED",
        "-Daeron.term.buffer.length=256k",
        "-Daeron.ipc.term.buffer.length=256k",
        "-Daeron.counters.buffer.length=1m",
        "-Daeron.dir.delete.on.shutdown=true",
        # The conductor's timers end streams: with the default of a second, many tests would wait for them.
        "-Daeron.timer.interval=100ms",
        "-Daeron.driver.termination.validator=allow",
    ]
    process = start("driver", *defines, is_forked=getattr(request, "param", "fork") == "fork")
    await_driver(process, directory)
    return process, directory


def await_driver(process: Process, directory: Path) -> None:
    """Wait until the driver of that process accepts clients; it prints nothing then."""

    def is_ready() -> bool:
        assert process.popen.poll() is None, process.popen.communicate()
        try:
            return CncFile.open(directory / "cnc.dat", read_only=True).pid == process.popen.pid
        except AeronError:
            return False

    deadline_s = time.monotonic() + DEADLINE_S
    while not is_ready():
        assert time.monotonic() < deadline_s
        time.sleep(0.001)


@pytest.fixture(name="await_driver")
def await_driver_fixture() -> Callable[[Process, Path], None]:
    """Return `await_driver`."""
    return await_driver


@pytest.fixture
def launch(start, await_driver, tmp_path, monkeypatch):
    """Start the driver as a script for aeronmd does; wait until it accepts clients."""

    def call(*arguments, directory=tmp_path / "driver", **environment):
        for name, value in {"AERON_DIR": directory, **SMALL_FILES, **environment}.items():
            monkeypatch.setenv(name, str(value))
        process = start("driver", *arguments)
        await_driver(process, directory)
        return process, directory

    return call
