"""Resources of a closed driver, and of a closed endpoint: all are freed before the cycle collector runs."""

import gc
import os
import signal
import socket
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from types import FrameType

import pytest

from aeron_core._native.connections import ByteConnection
from aeron_core.client.connecting import connect
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.registry import Registry
from aeron_core.spi.endpoints import ChannelEndpoint
from aeron_core.spi.hookspecs import hookimpl

SMALL = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "counters_buffer_length": "1m",
    "loss_report_buffer_length": "64k",
    "dir_delete_on_shutdown": True,
}
MODES = ("DEDICATED", "SHARED_NETWORK", "SHARED")
CHANNELS = (
    "aeron:ipc",
    "aeron:udp?endpoint=127.0.0.1:20121",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:20121",
    "aeron:lumberjack?endpoint=127.0.0.1:20121",
)
PORT = 20121
#: Of a Lumberjack writer and of a PAIR socket, each with one message.
WINDOW = b"2W\x00\x00\x00\x01" + b"2J\x00\x00\x00\x01\x00\x00\x00\x02{}"
GREETING = b"\x00SP\x00\x00\x11\x00\x00" + bytes(7) + b"\x06\x00\x00\x00\x01{}"
GOSSIP = {"name_resolver": "driver", "resolver_name": "one", "resolver_interface": "127.0.0.1:0"}

# The client runs in another process, because its mappings would be counted with those of the driver.
CLIENT = """
import sys
import weakref
from aeron_core import connect
with connect(sys.argv[1]) as client:
    kept = client.add_subscription(sys.argv[2], 1)
    kept = kept, client.add_publication(sys.argv[2].removeprefix("aeron-spy:"), 1)
    print("ready", flush=True)
    sys.stdin.read()
"""


def mappings_of(folder: Path) -> list[str]:
    """Return the lines of /proc/self/maps for files below `folder`, also deleted ones."""
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if f" {folder}/" in line]


def is_foreign_connection(fd: int) -> bool:
    """Return whether a descriptor is a TCP connection from and to other ports than that of these tests.

    Such as those of a session of Spark that other tests have used: its threads open and close some. One that has ended,
    but is not closed, has no ports.
    """
    with socket.socket(fileno=os.dup(fd)) as connection:
        if connection.type != socket.SOCK_STREAM or connection.family == socket.AF_UNIX:
            return False
        ports = {connection.getsockname()[1]}
        with suppress(OSError):
            ports.add(connection.getpeername()[1])
    return PORT not in ports


def open_descriptors() -> set[tuple[int, str]]:
    """Return number and target of each open file descriptor, but for foreign connections."""
    descriptors = set()
    for name in os.listdir("/proc/self/fd"):
        # The descriptor that listed the directory is closed by now, and another thread may close its own.
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if not (target.startswith("socket:") and is_foreign_connection(int(name))):
                descriptors.add((int(name), target))
    return descriptors


@pytest.fixture
def no_collector(few_objects: None) -> Iterator[None]:
    """Switch the cycle collector off, so that only reference counts free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("mode", MODES)
def test_a_closed_driver_holds_no_mapping_and_no_descriptor(memory_path, mode):
    before = open_descriptors()
    driver = MediaDriver.launch({"aeron_dir": memory_path / "driver", "threading_mode": mode, **SMALL})
    assert mappings_of(memory_path)
    assert open_descriptors() > before

    driver.close()

    assert mappings_of(memory_path) == []
    assert open_descriptors() == before


@pytest.mark.system
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("closed_first", ["client", "driver"])
def test_a_driver_that_carried_streams_holds_nothing_once_closed(memory_path, channel, closed_first):
    before = open_descriptors()
    driver = MediaDriver.launch({"aeron_dir": memory_path / "driver", **SMALL})
    command = [sys.executable, "-c", CLIENT, driver.aeron_dir, channel]
    with Popen(command, stdin=PIPE, stdout=PIPE) as client:
        assert client.stdout.readline() == b"ready\n"
        if closed_first == "client":
            client.communicate()
        driver.close()

    assert mappings_of(memory_path) == []
    assert open_descriptors() == before


@pytest.mark.usefixtures("no_collector")
def test_a_driver_with_gossip_holds_nothing_once_closed(memory_path):
    before = open_descriptors()
    driver = MediaDriver.launch({"aeron_dir": memory_path / "driver", **SMALL, **GOSSIP})

    driver.close()

    assert mappings_of(memory_path) == []
    assert open_descriptors() == before


@pytest.mark.usefixtures("no_collector")
def test_a_driver_that_was_stepped_holds_nothing_once_closed(memory_path):
    before = open_descriptors()
    driver = MediaDriver({"aeron_dir": memory_path / "driver", **SMALL}, invoker=True)
    driver.do_work()

    driver.close()

    assert mappings_of(memory_path) == []
    assert open_descriptors() == before
    assert driver.do_work() == 0


class Interrupted:
    """Calls `interrupt` before line `number` of `close`, as a signal handler of the same thread may do."""

    def __init__(self, number: int, interrupt: Callable[[], None]) -> None:
        self._number = number
        self._interrupt = interrupt
        self.line_count = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> "Interrupted | None":
        if frame.f_code is not MediaDriver.close.__code__:
            return None
        if event == "line":
            self.line_count += 1
            if self.line_count == self._number:
                # Tracing is off while this runs.
                self._interrupt()
        return self


def fail_in_a_deadlock(*_: object) -> None:
    pytest.fail("close waits for the thread that it interrupted")


@pytest.fixture
def closed() -> Iterator[list[MediaDriver]]:
    """Return the drivers for which the hook `aeron_driver_closed` was called; a deadlock fails the test."""
    previous = signal.signal(signal.SIGALRM, fail_in_a_deadlock)
    signal.alarm(20)
    yield []
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def test_close_may_be_called_by_a_signal_handler_at_any_line_of_close(memory_path, closed):
    class Plugin:
        @hookimpl
        def aeron_driver_closed(self, driver: MediaDriver) -> None:
            closed.append(driver)

    tracing, number, line_count = sys.gettrace(), 1, 1
    while number <= line_count:
        registry = Registry.load([Plugin()])
        driver = MediaDriver({"aeron_dir": memory_path / "driver", **SMALL}, invoker=True, registry=registry)
        interrupted = Interrupted(number, driver.close)
        sys.settrace(interrupted)
        driver.close()
        sys.settrace(tracing)
        assert closed == [driver]
        assert driver.is_closed
        closed.clear()
        number, line_count = number + 1, interrupted.line_count
    assert line_count > 10


def endpoints_and_connections() -> int:
    """Return how many exist; with its connections, an endpoint frees the memory for what they receive."""
    return sum(isinstance(each, (ChannelEndpoint, ByteConnection)) for each in gc.get_objects())


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("closed_first", ["peer", "subscription"])
@pytest.mark.parametrize(
    ("channel", "data"),
    [
        (f"aeron:lumberjack?endpoint=127.0.0.1:{PORT}", WINDOW),
        (f"aeron:sp?endpoint=127.0.0.1:{PORT}|mode=listen", GREETING),
    ],
    ids=["lumberjack", "sp"],
)
def test_an_endpoint_of_a_running_driver_is_freed_with_its_last_subscription(
    memory_path, channel, data, closed_first
):
    intervals = {"image_liveness_timeout_ns": "100ms", "timer_interval_ns": "10ms"}
    with (
        MediaDriver({"aeron_dir": memory_path / "driver", **SMALL, **intervals}, invoker=True) as driver,
        connect(driver.aeron_dir, use_conductor_invoker=True, driver_invoker=driver.do_work) as client,
    ):

        def run_until(condition: Callable[[], object]) -> None:
            deadline = time.monotonic() + 20
            while not condition():
                assert time.monotonic() < deadline
                driver.do_work()
                client.do_work()

        objects, descriptors = endpoints_and_connections(), open_descriptors()
        subscription = client.add_subscription(channel, 1)
        with socket.create_connection(("127.0.0.1", PORT)) as peer:
            peer.sendall(data)
            run_until(lambda: subscription.poll(lambda *_: None, 1))
            assert endpoints_and_connections() > objects
            if closed_first == "peer":
                peer.close()
                run_until(lambda: not subscription.images)
            subscription.close()
            run_until(lambda: endpoints_and_connections() == objects)

        assert open_descriptors() == descriptors


@pytest.mark.usefixtures("no_collector")
def test_memory_that_a_program_still_looks_into_stays_mapped_after_close(memory_path):
    driver = MediaDriver({"aeron_dir": memory_path / "driver", **SMALL}, invoker=True)
    view = memoryview(driver._assembly.cnc.error_log)
    written = bytes(view)

    driver.close()

    assert mappings_of(memory_path)
    assert bytes(view) == written
    view.release()
    assert mappings_of(memory_path) == []


@pytest.mark.usefixtures("no_collector")
def test_a_driver_that_closes_before_an_agent_answered_is_freed(lone):
    lone.client.add_subscription_async("aeron:ipc", 1)
    lone.client.add_publication_async("aeron:ipc", 1)
    for _ in range(3):
        lone.driver.media_driver._assembly.conductor.do_work()
    assert not lone.driver.media_driver._assembly.context.senders.first.proxy.is_idle
    context = weakref.ref(lone.driver.media_driver._assembly.context)

    lone.driver.media_driver.close()

    assert context() is None
