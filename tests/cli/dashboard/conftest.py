"""Fixtures: a driver with streams, the dashboard that shows it, and a browser."""

from __future__ import annotations

import math
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import aeron_core
from aeron_core.cli.dashboard.access import LOOPBACK_NAMES, Access
from aeron_core.cli.dashboard.feed import LiveFeed
from aeron_core.cli.top.sources import LiveSource
from aeron_core.observation import DriverObserver
from aeron_core.settings import ClientSettings
from aeron_core.uri.addresses import HostPort

SMALL = {
    "counters_buffer_length": "1m", "term_buffer_length": "64k", "ipc_term_buffer_length": "64k",
    "timer_interval_ns": "100ms", "cubic_measure_rtt": True,
}  # fmt: skip
#: Texts that become elements, and run, if the page takes them for HTML.
HOSTILE_NAME = "<img src=x onerror=hacked=1>"
HOSTILE_CHANNEL = "aeron:ipc?alias=<b>bold</b><script>hacked=1</script>"
HOSTILE_ERROR = "went {{ hacked = 1 }} wrong </script><script>hacked=1</script>"
#: Channel from one driver to the other, with round trips that are measured.
BETWEEN = "aeron:udp?endpoint=127.0.0.1:0|cc=cubic"
#: Seconds between two readings: streams stand still in most tests.
INTERVAL_S = 0.5


def _missing(name: str, why: str) -> None:
    """Skip the test, or fail it in CI, where the program must be installed."""
    message = f"{name} is not tested: {why}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium."""
    found = shutil.which("chromium")
    if found is None:
        _missing("the dashboard in a browser", "on Debian, apt-get install chromium")
    return str(found)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[object]:
    """A headless Chromium, which reaches no other host."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        # Root, which runs the tests in CI, cannot use the sandbox. Other hosts cannot be resolved.
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        launched = started.chromium.launch(executable_path=chromium, args=arguments)
        yield launched
        launched.close()


@dataclass
class Served:
    """A driver with streams, and the address of its page."""

    url: str
    aeron_dir: Path
    publications: dict[int, aeron_core.Publication]
    subscriptions: dict[int, aeron_core.Subscription]
    endpoints: list[str]  # of the streams 1001 and 20
    #: Hostile texts that the driver shows: name of the client, channel of stream 13, error.
    client_name: str = HOSTILE_NAME
    channel: str = HOSTILE_CHANNEL
    error: str = HOSTILE_ERROR

    @property
    def snapshot(self):
        """What the counters show now."""
        return DriverObserver(self.aeron_dir).snapshot()


class Traffic:
    """Publications that a thread offers to, at a rate that changes, and subscriptions that it polls."""

    def __init__(self, publications, subscriptions) -> None:
        self._publications = publications
        self._subscriptions = subscriptions
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        begin_s = time.monotonic()
        while not self._is_over.wait(0.02):
            age_s = time.monotonic() - begin_s
            for number, publication in enumerate(self._publications):
                for _ in range(round(8 + 6 * math.sin(age_s * (1 + number / 2)))):
                    publication.offer(bytes(1000))
            for each in self._subscriptions:
                each.poll(lambda *_: None, 1000)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()


def bound(subscription: aeron_core.Subscription) -> str:
    """Return the channel of a subscription, with the port that was chosen for port 0."""
    while (channel := subscription.resolved_channel()) is None:
        os.sched_yield()
    return channel


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two drivers of this process.

    In the first one stand still 1001 over UDP, 12 and 13 over IPC; no subscriber of 12 polls. 21 over IPC, and 20 to
    the second driver, move.
    """
    pytest.importorskip("nicegui")
    from aeron_core.cli.dashboard.server import DashboardServer  # noqa: PLC0415 - optional

    directories = [tmp_path_factory.mktemp("drivers") / name for name in ("aeron-prices", "aeron-orders")]
    channels = {1001: "aeron:udp?endpoint=127.0.0.1:0", 12: "aeron:ipc", 13: HOSTILE_CHANNEL}
    with ExitStack() as stack:
        first, _ = [
            stack.enter_context(aeron_core.MediaDriver.launch({**SMALL, "aeron_dir": directory}))
            for directory in directories
        ]
        client, report, hostile, other = (
            stack.enter_context(aeron_core.connect(directory, ClientSettings(client_name=name)))
            for directory, name in (
                (directories[0], "prices"),
                (directories[0], "report"),
                (directories[0], HOSTILE_NAME),
                (directories[1], "orders"),
            )
        )
        owners = {1001: client, 12: report, 13: hostile}
        first._assembly.context.errors.record(11, HOSTILE_ERROR)
        subscriptions = {
            number: owners[number].add_subscription(channels[number], number) for number in channels
        }
        publications = {
            number: client.add_publication(bound(subscription), number)
            for number, subscription in subscriptions.items()
        }
        readers = [other.add_subscription(BETWEEN, 20), client.add_subscription("aeron:ipc", 21)]
        writers = [
            client.add_publication(bound(reader), number)
            for number, reader in zip((20, 21), readers, strict=True)
        ]
        for publication in (*publications.values(), *writers):
            publication.await_connected(timeout=30)
        for number in (1001, 13):
            publications[number].offer(bytes(1000))
        while publications[12].offer(bytes(1000)) > 0:
            pass
        stack.callback(Traffic(writers, readers).close)
        observers = [DriverObserver(directory) for directory in directories]
        # A client adds its process to the label of its heartbeat once it has found that counter.
        while not all(each.pid for observer in observers for each in observer.snapshot().clients.values()):
            os.sched_yield()
        feed = LiveFeed(LiveSource(directories), INTERVAL_S)
        access = Access(HostPort("127.0.0.1", 0), LOOPBACK_NAMES)
        server = stack.enter_context(DashboardServer(access, feed))
        endpoints = [
            each.channel.partition("endpoint=")[2].partition("|")[0]
            for each in (publications[1001], writers[0])
        ]
        yield Served(server.url, directories[0], publications, subscriptions, endpoints)
