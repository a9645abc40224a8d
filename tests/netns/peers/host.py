"""One machine of a network: a process with a media driver and a client.

    host.py send DIR CHANNEL COUNT AWAITED  until standard input ends; waits for that many required receivers
    host.py receive DIR CHANNEL COUNT RATE  until the last message or SIGTERM; RATE messages a second, 0 for no limit

Prints lines of JSON. The sender prints its number of destinations and required receivers and whether it is connected,
whenever one of them changes, and `sent` at the end. The receiver prints `ready`, `began` after a tenth of the
messages, and its result at the end. Destinations of a sender follow its channel, separated by spaces. Settings of the
driver may come from the environment.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import select
import signal
import sys
import time

import aeron_core
from aeron_core.errors import ErrorCode, RegistrationError

STREAM = 1001
LENGTH = 1000  # message length: a number, and bytes derived from it
PATIENCE_S = 20  # time until a name is known
FLOW_CONTROL_RECEIVERS, DESTINATIONS = 17, 18  # types of counters
SETTINGS = {
    "threading_mode": "SHARED",
    "term_buffer_length": "64k",
    "rcv_initial_window_length": "32k",
    "timer_interval_ns": "100ms",
    "counters_buffer_length": "1m",
    "perform_storage_checks": False,
    "shared_idle_strategy": "sleep-ns",
    "shared_idle_strategy_init_args": "500us",
}


def print_json(**what: object) -> None:
    print(json.dumps(what), flush=True)


def make_message(number: int) -> bytes:
    return number.to_bytes(8, "little") + random.Random(number).randbytes(LENGTH - 8)


def state_of(aeron: aeron_core.Aeron, publication: aeron_core.Publication) -> dict[str, object]:
    values = {record.type_id: record.value for record in aeron.counters_reader}
    return {
        "receivers": values.get(FLOW_CONTROL_RECEIVERS, -1),
        "destinations": values.get(DESTINATIONS, -1),
        "connected": publication.is_connected,
    }


def add_publication(aeron: aeron_core.Aeron, channel: str) -> aeron_core.Publication:
    """Wait until the name in the channel is known and return a publication with its destinations."""
    channel, *destinations = channel.split()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            publication = aeron.add_publication(channel, STREAM)
            for destination in destinations:
                publication.add_destination(destination)
            return publication
        except RegistrationError as error:
            if error.code is not ErrorCode.UNKNOWN_HOST or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def send(aeron: aeron_core.Aeron, channel: str, count: int, awaited: int) -> None:
    publication = add_publication(aeron, channel)
    sent, output, may_start = 0, None, awaited == 0
    message, digest = make_message(0), hashlib.sha256()
    due = 0.0
    while not select.select([sys.stdin], [], [], 0)[0]:
        if time.monotonic() > due:
            due = time.monotonic() + 0.02
            state = state_of(aeron, publication)
            if state != output:
                output = state
                print_json(**state)
            may_start = may_start or state["receivers"] == awaited
        if may_start and sent < count and publication.offer(message) > 0:
            digest.update(message)
            sent += 1
            message = make_message(sent)
            if sent == count:
                print_json(sent=sent, sha256=digest.hexdigest())
        else:
            time.sleep(0.0005)


def receive(aeron: aeron_core.Aeron, channel: str, count: int, rate: int) -> None:
    numbers: list[int] = []
    digest = hashlib.sha256()
    is_over = False

    def stop(*_: object) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGTERM, stop)
    channel, *destinations = channel.split()
    subscription = aeron.add_subscription(channel, STREAM)
    for destination in destinations:
        subscription.add_destination(destination)
    print_json(ready=True)
    start = time.monotonic()

    def on_message(buffer: memoryview, header: aeron_core.Header) -> None:
        nonlocal start
        if not numbers:
            start = time.monotonic()
        numbers.append(int.from_bytes(buffer[:8], "little"))
        digest.update(buffer)
        if len(numbers) == count // 10:
            print_json(began=True)

    while not is_over and (not numbers or numbers[-1] < count - 1):
        if not subscription.poll(on_message, 1 if rate else 50) or rate:
            time.sleep(1 / rate if rate else 0.0005)
    print_json(
        first=numbers[0] if numbers else -1,
        last=numbers[-1] if numbers else -1,
        is_in_order=all(after == before + 1 for before, after in itertools.pairwise(numbers)),
        seconds=time.monotonic() - start,
        sha256=digest.hexdigest(),
    )


def main(command: str, directory: str, channel: str, *numbers: str) -> None:
    action = send if command == "send" else receive
    settings = {**SETTINGS, "aeron_dir": directory, "dir_delete_on_shutdown": True}
    with aeron_core.MediaDriver.launch(settings), aeron_core.connect(directory) as aeron:
        action(aeron, channel, *map(int, numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
