"""Our client in a separate process; the same commands as `foreign.py`, without `driver`, `watch` and `stall`.

ours.py hold DIR CHANNEL STREAM COUNT               sends, prints `sent`, and stays until killed
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque

from messages import Checksum, message, print_line

import aeron_core

DEADLINE_S = 120


def send(
    directory: str, channel: str, stream_id: int, count: int, kind: str = "concurrent"
) -> dict[str, object]:
    with aeron_core.connect(directory) as aeron:
        add = aeron.add_exclusive_publication if kind == "exclusive" else aeron.add_publication
        publication = add(channel, stream_id)
        print_line("ready")
        publication.await_connected(timeout=60)
        deadline = time.monotonic() + DEADLINE_S
        for index in range(count):
            data = message(index)
            while publication.offer(data) < 0:
                if time.monotonic() > deadline:
                    return {"sent": index, "error": "deadline"}
                time.sleep(0.00005)
        publication.close()
    return {"sent": count}


def hold(directory: str, channel: str, stream_id: int, count: int) -> None:
    with aeron_core.connect(directory) as aeron:
        publication = aeron.add_publication(channel, stream_id)
        publication.await_connected(timeout=60)
        for index in range(count):
            while publication.offer(message(index)) < 0:
                time.sleep(0.00005)
        print_line("sent")
        threading.Event().wait()


def receive(directory: str, channel: str, stream_id: int, count: int) -> dict[str, object]:
    checksum = Checksum()
    received = 0
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(channel, stream_id)
        print_line("ready")
        deadline = time.monotonic() + DEADLINE_S
        while received < count and time.monotonic() < deadline:
            batch = subscription.poll_batch()
            for data in batch:
                checksum.add(bytes(data))
                received += 1
            if not len(batch):
                time.sleep(0.00005)
    return {"received": received, "checksum": checksum.hexdigest()}


def ask(directory: str, requests: str, responses: str, count: int) -> dict[str, object]:
    checksum = Checksum()
    received = sent = 0

    def on_message(buffer: memoryview, header: aeron_core.Header) -> None:
        nonlocal received
        checksum.add(bytes(buffer))
        received += 1

    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(responses, 1002)
        separator = "|" if "?" in requests else "?"
        channel = f"{requests}{separator}response-correlation-id={subscription.registration_id}"
        publication = aeron.add_exclusive_publication(channel, 1001)
        print_line("ready")
        subscription.await_connected(60)
        publication.await_connected(60)
        assembler = aeron_core.FragmentAssembler(on_message)
        deadline = time.monotonic() + DEADLINE_S
        while received < count and time.monotonic() < deadline:
            if sent < count and publication.offer(message(sent)) > 0:
                sent += 1
            subscription.poll(assembler, 50)
    return {"sent": sent, "received": received, "checksum": checksum.hexdigest()}


def answer(directory: str, requests: str, responses: str, count: int, image_id: str) -> dict[str, object]:
    pending: deque[bytes] = deque()
    answered = 0
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(requests, 1001)
        channel = f"{responses}|response-correlation-id={image_id}"
        publication = aeron.add_exclusive_publication(channel, 1002)
        print_line("ready")
        publication.await_connected(60)
        assembler = aeron_core.FragmentAssembler(lambda buffer, _: pending.append(bytes(buffer)))
        deadline = time.monotonic() + DEADLINE_S
        while answered < count and time.monotonic() < deadline:
            subscription.poll(assembler, 50)
            while pending and publication.offer(pending[0]) > 0:
                pending.popleft()
                answered += 1
        publication.close()
    return {"answered": answered}


if __name__ == "__main__":
    command, directory, *rest = sys.argv[1:]
    if command in ("ask", "answer"):
        action = ask if command == "ask" else answer
        print_line(json.dumps(action(directory, rest[0], rest[1], int(rest[2]), *rest[3:])))
    elif command == "hold":
        hold(directory, rest[0], int(rest[1]), int(rest[2]))
    else:
        action = send if command == "send" else receive
        print_line(json.dumps(action(directory, rest[0], int(rest[1]), int(rest[2]), *rest[3:])))
