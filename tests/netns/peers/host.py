"""One machine of a network: a process with a media driver and a client.

    host.py send DIR CHANNEL COUNT AWAITED  until standard input ends; waits for that many required receivers
    host.py receive DIR CHANNEL COUNT RATE  until the last message or SIGTERM; RATE messages a second, 0 for no limit
    host.py ask DIR CHANNELS COUNT          sends a request, and ends as `receive` with the responses to it
    host.py answer DIR CHANNELS COUNT       responds to a request with COUNT messages, until standard input ends
    host.py names DIR - COUNT               until standard input ends; prints `names` when so many are in the cache

Prints lines of JSON. The sender prints its number of destinations and required receivers and whether it is connected,
whenever one of them changes, and `sent` at the end. The receiver prints `ready`, `began` after a tenth of the
messages, and its result at the end. Destinations of a sender follow its channel, separated by spaces. CHANNELS are
that of requests and that of responses, separated by a space. Settings of the driver may come from the environment.
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
from collections.abc import Callable

import aeron_core
from aeron_core.errors import ErrorCode, RegistrationError

STREAM, RESPONSES = 1001, 1002
LENGTH = 1000  # message length: a number, and bytes derived from it
PATIENCE_S = 20  # time until a name is known
CACHE_ENTRIES, FLOW_CONTROL_RECEIVERS, DESTINATIONS = 16, 17, 18  # types of counters
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
    while not has_input_ended():
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
    channel, *destinations = channel.split()
    subscription = aeron.add_subscription(channel, STREAM)
    for destination in destinations:
        subscription.add_destination(destination)
    print_json(ready=True)
    poll(subscription, count, rate)


def poll(subscription: aeron_core.Subscription, count: int, rate: int) -> None:
    numbers: list[int] = []
    digest = hashlib.sha256()
    is_over = False

    def stop(*_: object) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGTERM, stop)
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


def has_input_ended() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def ask(aeron: aeron_core.Aeron, channels: str, count: int) -> None:
    requests, responses = channels.split()
    subscription = aeron.add_subscription(responses, RESPONSES)
    correlation_id = subscription.registration_id
    publication = aeron.add_publication(f"{requests}|response-correlation-id={correlation_id}", STREAM)
    publication.await_connected(timeout=PATIENCE_S)
    print_json(ready=True)
    poll(subscription, count, 0)


def answer(aeron: aeron_core.Aeron, channels: str, count: int) -> None:
    requests, responses = channels.split()
    subscription = aeron.add_subscription(requests, STREAM)
    print_json(ready=True)
    while not subscription.images:
        time.sleep(0.01)
    correlation_id = subscription.images[0].correlation_id
    publication = aeron.add_publication(f"{responses}|response-correlation-id={correlation_id}", RESPONSES)
    digest = hashlib.sha256()
    for number in range(count):
        message = make_message(number)
        while publication.offer(message) <= 0:
            time.sleep(0.0005)
            if has_input_ended():
                return
        digest.update(message)
    print_json(sent=count, sha256=digest.hexdigest())
    while not has_input_ended():
        time.sleep(0.01)


def names(aeron: aeron_core.Aeron, _channel: str, count: int) -> None:
    def value() -> int:
        records = aeron.counters_reader
        return next(record.value for record in records if record.type_id == CACHE_ENTRIES)

    while value() < count and not has_input_ended():
        time.sleep(0.05)
    print_json(names=value())
    while not has_input_ended():
        time.sleep(0.05)


def main(command: str, directory: str, channel: str, *numbers: str) -> None:
    actions: dict[str, Callable[..., None]] = {
        "send": send,
        "receive": receive,
        "ask": ask,
        "answer": answer,
        "names": names,
    }
    settings = {**SETTINGS, "aeron_dir": directory, "dir_delete_on_shutdown": True}
    with aeron_core.MediaDriver.launch(settings), aeron_core.connect(directory) as aeron:
        actions[command](aeron, channel, *map(int, numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
