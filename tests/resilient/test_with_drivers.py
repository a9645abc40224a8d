"""A resilient client with threads, and real driver processes that are killed, stopped and restarted."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import aeron_core
from aeron_core import resilient

pytestmark = pytest.mark.system

#: Short timeouts of drivers, with a shorter timer interval.
QUICK = {
    "AERON_IMAGE_LIVENESS_TIMEOUT": "1s",
    "AERON_PUBLICATION_CONNECTION_TIMEOUT": "1s",
    "AERON_UNTETHERED_WINDOW_LIMIT_TIMEOUT": "1s",
    "AERON_UNTETHERED_RESTING_TIMEOUT": "1s",
    "AERON_TIMER_INTERVAL": "100ms",
    "AERON_DIR_DELETE_ON_START": "true",
    "AERON_TERM_BUFFER_LENGTH": "64k",
    "AERON_IPC_TERM_BUFFER_LENGTH": "64k",
}
# Not shorter: a loaded machine delays the heartbeat of a driver that runs by seconds.
SETTINGS = aeron_core.ClientSettings(driver_timeout_ms=5000)
#: Seconds, far beyond any timeout above, so that only a hang fails.
PATIENCE_S = 30


@pytest.fixture
def start_driver(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a driver process and waits until it is alive."""
    processes = []

    def start(**environment: str) -> subprocess.Popen[str]:
        directory = tmp_path / "driver"
        process = subprocess.Popen(
            [sys.executable, "-m", "aeron_core", "driver"],
            env=os.environ | QUICK | {"AERON_DIR": str(directory)} | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        processes.append(process)
        # With the default timeout: a loaded machine takes seconds to start a process.
        with aeron_core.connect(directory):
            assert process.poll() is None
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def await_true(condition: Callable[[], object], what: str) -> None:
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < PATIENCE_S, f"timeout while waiting for {what}"
        time.sleep(0.002)


class Log:
    """The events of a client."""

    def __init__(self) -> None:
        self.events: list[resilient.Event] = []

    def __call__(self, event: resilient.Event) -> None:
        self.events.append(event)

    def of_type(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def await_event(self, kind: type, count: int = 1) -> Any:
        await_true(lambda: len(self.of_type(kind)) >= count, f"{count} of {kind.__name__}: {self.events}")
        return self.of_type(kind)[count - 1]


def exchange(publication: Any, subscription: Any, messages: list[bytes]) -> list[bytes]:
    """Send messages, and poll until as many have arrived."""
    received: list[bytes] = []

    def arrived() -> bool:
        subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10)
        return len(received) >= len(messages)

    for message in messages:
        publication.send(message, timeout=PATIENCE_S)
    await_true(arrived, "the messages")
    return received


@pytest.fixture
def udp_channel() -> str:
    """Return a UDP channel on a port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_messages_flow_again_after_a_driver_was_killed_and_restarted(
    start_driver, tmp_path, medium, udp_channel
):
    channel = "aeron:ipc" if medium == "ipc" else udp_channel
    driver, log = start_driver(), Log()
    with resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print) as aeron:
        publication = aeron.add_exclusive_publication(channel, 7)
        subscription = aeron.add_subscription(channel, 7)
        counter = aeron.add_counter(1001, label="telemetry")
        first = [b"before %d" % number for number in range(5)]
        assert exchange(publication, subscription, first) == first
        position, counter.value = publication.position, 41
        assert subscription.images[0].position == position
        old_session_id = publication.session_id

        driver.kill()
        driver.wait()
        counter.increment()
        start_driver()
        restored = log.await_event(resilient.Restored)
        second = [b"after %d" % number for number in range(3)]
        assert exchange(publication, subscription, second) == second

        [of_publication] = log.of_type(resilient.PublicationRestored)
        assert of_publication.before.position == position == 5 * 64
        assert of_publication.before.session_id == old_session_id
        assert of_publication.after.position == 0
        assert of_publication.after.session_id == publication.session_id
        [of_subscription] = log.of_type(resilient.SubscriptionRestored)
        [image] = of_subscription.before
        assert (image.session_id, image.position) == (old_session_id, position)
        of_image = log.await_event(resilient.ImageRestored)
        assert (of_image.after.session_id, of_image.after.position) == (publication.session_id, 0)
        assert publication.position == subscription.images[0].position == 3 * 64
        assert counter.value == aeron.counters_reader.value(counter.id) == 42
        assert 0 < restored.duration_s < PATIENCE_S


def test_positions_of_the_events_are_those_of_the_messages_while_threads_send_and_poll(
    start_driver, tmp_path, udp_channel
):
    """Each message takes 64 bytes of the stream, so a position is a number of messages."""
    driver, log = start_driver(), Log()
    received: dict[int, list[int]] = {}
    stop = threading.Event()

    def on_message(buffer: memoryview, header: aeron_core.Header) -> None:
        received.setdefault(header.session_id, []).append(int.from_bytes(buffer, "little"))

    def send_all() -> None:
        for number in itertools.count():
            while publication.offer(number.to_bytes(8, "little")) < 0:
                if stop.is_set():
                    return
                time.sleep(0.0005)

    def poll_all() -> None:
        while not stop.is_set():
            if subscription.poll(on_message, 50) == 0:
                time.sleep(0.0005)

    with resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print) as aeron:
        publication = aeron.add_exclusive_publication(udp_channel, 7)
        subscription = aeron.add_subscription(udp_channel, 7)
        threads = [threading.Thread(target=send_all), threading.Thread(target=poll_all)]
        for thread in threads:
            thread.start()
        try:
            await_true(lambda: len(received.get(publication.session_id, ())) > 1000, "messages")
            driver.kill()
            driver.wait()
            start_driver()
            log.await_event(resilient.Restored)
            session_id = publication.session_id
            await_true(lambda: len(received.get(session_id, ())) > 1000, "messages after the restart")
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    [of_publication] = log.of_type(resilient.PublicationRestored)
    [image] = log.of_type(resilient.SubscriptionRestored)[0].before
    offered, polled = of_publication.before.position // 64, image.position // 64
    assert 1000 < polled <= offered
    assert received[image.session_id] == list(range(polled))
    numbers = received[session_id]
    assert numbers == list(range(offered, offered + len(numbers)))


def test_a_publication_with_a_session_id_keeps_it(start_driver, tmp_path, udp_channel):
    driver, log = start_driver(), Log()
    with resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print) as aeron:
        publication = aeron.add_publication(f"{udp_channel}|session-id=4711", 7)
        subscription = aeron.add_subscription(udp_channel, 7)
        exchange(publication, subscription, [b"x"] * 4)

        driver.terminate()
        driver.wait()
        log.await_event(resilient.ReconnectFailed)
        assert publication.offer(b"x") is aeron_core.NOT_CONNECTED
        start_driver()
        exchange(publication, subscription, [b"y"])

        event = log.await_event(resilient.ImageRestored)
        assert event.before.session_id == event.after.session_id == 4711
        assert (event.before.position, event.after.position) == (4 * 64, 0)
        # Another initial term id: the stream is another one.
        assert event.gap_length is None


def test_a_driver_that_was_stopped_times_the_client_out_and_gets_everything_again(start_driver, tmp_path):
    driver, log = start_driver(), Log()
    with resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print) as aeron:
        publication = aeron.add_publication("aeron:ipc", 7)
        subscription = aeron.add_subscription("aeron:ipc", 7)
        exchange(publication, subscription, [b"x"])

        driver.send_signal(signal.SIGSTOP)
        lost = log.await_event(resilient.Disconnected)
        driver.send_signal(signal.SIGCONT)
        log.await_event(resilient.Restored)

        assert isinstance(lost.cause, aeron_core.DriverTimeoutError)
        assert log.of_type(resilient.Reconnected)[0].driver_identity == lost.driver_identity
        assert exchange(publication, subscription, [b"y"]) == [b"y"]


def test_a_driver_that_dies_while_everything_is_re_added(start_driver, tmp_path):
    driver, log = start_driver(), Log()
    with resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print) as aeron:
        publications = [aeron.add_exclusive_publication("aeron:ipc", stream) for stream in range(20)]
        subscription = aeron.add_subscription("aeron:ipc", 7)
        exchange(publications[7], subscription, [b"x"] * 3)
        driver.kill()
        driver.wait()
        # The client connects, sends its commands, and the driver is killed before or while it answers.
        second = start_driver()
        aeron.add_event_handler(
            lambda event: second.kill() if isinstance(event, resilient.Reconnected) else None
        )
        log.await_event(resilient.Reconnected)
        second.wait()
        aeron.remove_event_handler(aeron._supervisor.handlers.events[-1])

        start_driver()
        log.await_event(resilient.Restored)

        assert len(log.of_type(resilient.Disconnected)) == 2
        of_stream = [
            event
            for event in log.of_type(resilient.PublicationRestored)
            if event.publication is publications[7]
        ]
        assert of_stream[0].before.position == 3 * 64
        assert exchange(publications[7], subscription, [b"y"]) == [b"y"]


def test_a_client_is_closed_while_it_reconnects(start_driver, tmp_path):
    driver, log = start_driver(), Log()
    aeron = resilient.connect(tmp_path / "driver", SETTINGS, on_event=log, error_handler=print)
    publication = aeron.add_publication("aeron:ipc", 7)
    driver.terminate()
    log.await_event(resilient.ReconnectFailed)

    started = time.monotonic()
    aeron.close()

    assert time.monotonic() - started < 5
    assert publication.offer(b"x") is aeron_core.CLOSED


SUBSCRIBER = """
import json, sys, threading, time
from aeron_core import resilient

is_back = threading.Event()

def show(line):
    # In one call: events and messages come from two threads, and print writes the end of a line separately.
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()

def on_event(event):
    show(f"event {type(event).__name__}")
    if isinstance(event, resilient.ImageRestored):
        show(json.dumps([event.before.position, event.after.position, event.gap_length]))
        is_back.set()

messages = []

with resilient.connect(sys.argv[1], on_event=on_event, error_handler=lambda error: None) as aeron:
    subscription = aeron.add_subscription("aeron:ipc", 7)
    count = 0
    while True:
        # Until it is stopped: the log of the lost image could still be read afterwards.
        if count == 3:
            is_back.wait()
        count += subscription.poll(lambda buffer, header: messages.append(bytes(buffer)), 1)
        # After the poll, which stores the position when its handler has returned.
        while messages:
            show(f"message {messages.pop().decode()}")
        time.sleep(0.001)
"""


def test_the_gap_of_a_client_that_was_stopped_is_known_to_the_byte(start_driver, tmp_path):
    # A short timeout only here: on a loaded machine, a client that runs would exceed it.
    start_driver(AERON_CLIENT_LIVENESS_TIMEOUT="3s", AERON_PUBLICATION_UNBLOCK_TIMEOUT="4s")
    directory = tmp_path / "driver"
    with aeron_core.connect(directory) as aeron:
        publication = aeron.add_exclusive_publication("aeron:ipc", 7)
        process = subprocess.Popen(
            [sys.executable, "-c", SUBSCRIBER, str(directory)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            for number in range(3):
                publication.send(b"%d" % number, timeout=PATIENCE_S)
            assert [next(process.stdout) for _ in range(3)] == [f"message {n}\n" for n in range(3)]
            process.send_signal(signal.SIGSTOP)
            # The driver drops the client, and the publication another subscriber keeps connected.
            await_true(lambda: not publication.is_connected, "the driver to time the client out")
            with aeron.add_subscription("aeron:ipc", 7) as other:
                # The driver lets a subscription join at the position of the slowest one: this one reads all.
                assert exchange(publication, other, [b"missed"] * 4) == [b"missed"] * 4
                process.send_signal(signal.SIGCONT)
                lines = [next(process.stdout) for _ in range(6)]
                publication.send(b"later", timeout=PATIENCE_S)
                lines.append(next(process.stdout))
        finally:
            process.kill()
            process.wait()

    before, after = 3 * 64, 7 * 64
    assert lines[0] == "event Disconnected\n"
    assert sorted(line for line in lines[1:-1] if line.startswith("event")) == [
        "event ImageRestored\n",
        "event Reconnected\n",
        "event Restored\n",
        "event SubscriptionRestored\n",
    ]
    assert [json.loads(line) for line in lines[1:-1] if not line.startswith("event")] == [
        [before, after, after - before]
    ]
    assert lines[-1] == "message later\n"
