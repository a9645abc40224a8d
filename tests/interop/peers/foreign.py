"""The real Aeron C client and C driver, by the PyPI package pyaeron.

    foreign.py driver DIR                               until SIGTERM
    foreign.py send DIR CHANNEL STREAM COUNT [exclusive]
    foreign.py receive DIR CHANNEL STREAM COUNT
    foreign.py ask DIR REQUESTS RESPONSES COUNT         sends messages and receives the responses
    foreign.py answer DIR REQUESTS RESPONSES COUNT IMAGE
                                                        echoes the messages of an image
    foreign.py watch DIR CHANNEL STREAM                 until killed
    foreign.py stall DIR CHANNEL STREAM                 until killed; reads nothing

Prints `ready` when it has started, then one JSON object at the end. `watch` and `stall` print `available`,
`received` and `unavailable` instead: image available, first message, image unavailable.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections import deque

import pyaeron
from messages import Checksum, message, print_line

DEADLINE_S = 120


def run_driver(directory: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    driver = pyaeron.MediaDriver(
        dir=directory, threading="shared_network", dir_delete_on_start=False, dir_delete_on_shutdown=True
    )
    print_line("ready")
    stop.wait()
    driver.close()


def send(
    directory: str, channel: str, stream_id: int, count: int, kind: str = "concurrent"
) -> dict[str, object]:
    with pyaeron.Aeron(dir=directory) as aeron:
        add = aeron.add_exclusive_publication if kind == "exclusive" else aeron.add_publication
        publication = add(channel, stream_id)
        print_line("ready")
        publication.await_connected(60)
        deadline = time.monotonic() + DEADLINE_S
        idle = pyaeron.IdleStrategy.backoff()
        for index in range(count):
            data = message(index)
            while not publication.offer(data):
                if time.monotonic() > deadline:
                    return {"sent": index, "error": "deadline"}
                idle.idle(0)
        # Closing lets the driver send the remaining data.
        publication.close()
    return {"sent": count}


def receive(directory: str, channel: str, stream_id: int, count: int) -> dict[str, object]:
    checksum = Checksum()
    received = 0

    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        nonlocal received
        checksum.add(buffer.tobytes())
        received += 1

    with pyaeron.Aeron(dir=directory) as aeron:
        subscription = aeron.add_subscription(channel, stream_id)
        print_line("ready")
        deadline = time.monotonic() + DEADLINE_S
        idle = pyaeron.IdleStrategy.backoff()
        while received < count and time.monotonic() < deadline:
            idle.idle(subscription.poll(on_message, 50))
    return {"received": received, "checksum": checksum.hexdigest()}


def ask(directory: str, requests: str, responses: str, count: int) -> dict[str, object]:
    checksum = Checksum()
    received = sent = 0

    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        nonlocal received
        checksum.add(buffer.tobytes())
        received += 1

    with pyaeron.Aeron(dir=directory) as aeron:
        # pyaeron does not expose registration ids; without other clients it is the next correlation id.
        registration_id = aeron.next_correlation_id() + 1
        subscription = aeron.add_subscription(responses, 1002)
        separator = "|" if "?" in requests else "?"
        channel = f"{requests}{separator}response-correlation-id={registration_id}"
        publication = aeron.add_exclusive_publication(channel, 1001)
        print_line("ready")
        subscription.await_connected(60)
        publication.await_connected(60)
        deadline = time.monotonic() + DEADLINE_S
        while received < count and time.monotonic() < deadline:
            if sent < count and publication.offer(message(sent)):
                sent += 1
            subscription.poll(on_message, 50)
    return {"sent": sent, "received": received, "checksum": checksum.hexdigest()}


def answer(directory: str, requests: str, responses: str, count: int, image_id: str) -> dict[str, object]:
    pending: deque[bytes] = deque()
    answered = 0

    # One function for all polls: pyaeron keeps incomplete messages per function.
    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        pending.append(buffer.tobytes())

    with pyaeron.Aeron(dir=directory) as aeron:
        subscription = aeron.add_subscription(requests, 1001)
        channel = f"{responses}|response-correlation-id={image_id}"
        publication = aeron.add_exclusive_publication(channel, 1002)
        print_line("ready")
        publication.await_connected(60)
        deadline = time.monotonic() + DEADLINE_S
        while answered < count and time.monotonic() < deadline:
            subscription.poll(on_message, 50)
            while pending and publication.offer(pending[0]):
                pending.popleft()
                answered += 1
        publication.close()
    return {"answered": answered}


def watch(directory: str, channel: str, stream_id: int, *, reads: bool) -> None:
    received = False

    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        nonlocal received
        if not received:
            print_line("received")
        received = True

    with pyaeron.Aeron(dir=directory) as aeron:
        subscription = aeron.add_subscription(
            channel,
            stream_id,
            available_image=lambda *_: print_line("available"),
            unavailable_image=lambda *_: print_line("unavailable"),
        )
        print_line("ready")
        while True:
            if not reads or not subscription.poll(on_message, 50):
                time.sleep(0.001)


if __name__ == "__main__":
    command, directory, *rest = sys.argv[1:]
    if command == "driver":
        run_driver(directory)
    elif command in ("watch", "stall"):
        watch(directory, rest[0], int(rest[1]), reads=command == "watch")
    elif command in ("ask", "answer"):
        action = ask if command == "ask" else answer
        print_line(json.dumps(action(directory, rest[0], rest[1], int(rest[2]), *rest[3:])))
    else:
        action = send if command == "send" else receive
        print_line(json.dumps(action(directory, rest[0], int(rest[1]), int(rest[2]), *rest[3:])))
