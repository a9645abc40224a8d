"""A client of a driver: publishes or receives numbered messages until SIGTERM, and outlives its drivers.

    node.py ROLE DIR CHANNEL STREAM LOG RATE SEED

Roles: publish, publish-json, subscribe, visit. A publisher stops to offer at SIGUSR1 and keeps its publication. A
visitor connects, adds a few resources of the channel and closes them, or leaves without closing, again and again.
Errors of the driver are printed, and the client connects again. Any other error ends the process.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import aeron_core
from aeron_core.errors import AeronError
from laboratory.records import ACKED, DAMAGED, RECEIVED, SENT, LogFile, make_message, read_message

SENDER_POSITION = 2  # type of a counter
ROUND_S = 0.02
PAUSE_S = 0.25  # between attempts to connect
LONGEST = 9_000  # bytes, several fragments


class Signals:
    """What the signals to this process have asked for."""

    def __init__(self) -> None:
        self.is_over = False
        self.may_offer = True
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGUSR1, self._rest)

    def _end(self, *_: object) -> None:
        self.is_over = True

    def _rest(self, *_: object) -> None:
        self.may_offer = False


def report(text: object) -> None:
    print(f"{time.monotonic():.3f} {text}", flush=True)


def new_number() -> int:
    """Return a number that no other publication or image of any process has."""
    return time.monotonic_ns() << 8 | os.getpid() & 0xFF


class Publisher:
    """Publishes at a rate and logs the messages that were accepted, and the sender position."""

    def __init__(
        self, signals: Signals, log: LogFile, rate: int, chance: random.Random, *, is_json: bool
    ) -> None:
        self._signals, self._log, self._rate, self._chance, self._is_json = (
            signals,
            log,
            rate,
            chance,
            is_json,
        )

    def run(self, aeron: aeron_core.Aeron, channel: str, stream_id: int) -> None:
        add = aeron.add_exclusive_publication if self._chance.random() < 0.5 else aeron.add_publication
        with add(channel, stream_id) as publication:
            source, number, acked, due_s = new_number(), 0, -1, time.monotonic()
            report(f"publication {source} session {publication.session_id}")
            message = self._message(source, number)
            while not self._signals.is_over and not publication.is_closed:
                while self._signals.may_offer and due_s <= time.monotonic():
                    position = publication.offer(message)
                    if position <= 0:
                        due_s = time.monotonic()
                        break
                    self._log.add(SENT, publication.session_id, source, number, position)
                    number += 1
                    message = self._message(source, number)
                    due_s += 1 / self._rate
                position = sender_position(aeron, publication)
                if position > acked:
                    acked = position
                    self._log.add(ACKED, publication.session_id, source, number, position)
                time.sleep(ROUND_S)

    def _message(self, source: int, number: int) -> bytes:
        longest = LONGEST if self._chance.random() < 0.05 else 1_000
        return make_message(source, number, self._chance.randrange(longest), is_json=self._is_json)


def sender_position(aeron: aeron_core.Aeron, publication: aeron_core.Publication) -> int:
    """Return the sender position of a publication, -1 if it has none."""
    counters = aeron.counters_reader
    found = counters.find(SENDER_POSITION, publication.original_registration_id)
    return counters.value(found) if found >= 0 else -1


class Subscriber:
    """Receives messages and logs each before the position of the image passes it."""

    def __init__(self, signals: Signals, log: LogFile) -> None:
        self._signals, self._log = signals, log
        self._assemblers: dict[int, Callable[[memoryview, aeron_core.Header], None]] = {}

    def run(self, aeron: aeron_core.Aeron, channel: str, stream_id: int) -> None:
        self._assemblers.clear()
        with aeron.add_subscription(channel, stream_id) as subscription:
            report("subscribed")
            while not self._signals.is_over and not subscription.is_closed:
                work = sum(image.poll(self._assembler(image), 20) for image in subscription.images)
                if not work:
                    time.sleep(ROUND_S / 4)

    def _assembler(self, image: aeron_core.Image) -> Callable[[memoryview, aeron_core.Header], None]:
        key = image.correlation_id
        if key not in self._assemblers:
            number = new_number()
            report(
                f"image {number} session {image.session_id} from {image.source_identity} at {image.position}"
            )

            def on_message(buffer: memoryview, header: aeron_core.Header) -> None:
                found = read_message(bytes(buffer))
                if found is None:
                    self._log.add(DAMAGED, header.session_id, 0, len(buffer), header.position, number)
                else:
                    self._log.add(RECEIVED, header.session_id, *found, header.position, number)

            self._assemblers[key] = aeron_core.FragmentAssembler(on_message)
        return self._assemblers[key]


class Visitor:
    """Adds resources, uses them, and closes them or leaves."""

    def __init__(self, signals: Signals, chance: random.Random) -> None:
        self._signals, self._chance = signals, chance

    def run(self, aeron: aeron_core.Aeron, channel: str, stream_id: int) -> None:
        number = 0
        for _ in range(self._chance.randint(1, 4)):
            stream_id += 1
            subscription = aeron.add_subscription(channel, stream_id)
            publication = aeron.add_publication(channel, stream_id)
            aeron.add_counter(1_777, b"visit", f"visit {stream_id}")
            until_s = time.monotonic() + self._chance.uniform(0, 0.3)
            while time.monotonic() < until_s and not self._signals.is_over and not aeron.is_closed:
                number += publication.offer(b"visit") > 0
                subscription.poll(lambda buffer, header: None, 10)
                time.sleep(ROUND_S)
        if self._chance.random() < 0.3:
            aeron.leave()
        time.sleep(0 if self._signals.is_over else self._chance.uniform(0, 0.2))


def main(role: str, directory: str, channel: str, stream: str, log: str, rate: str, seed: str) -> None:
    signals, chance = Signals(), random.Random(seed)
    if role == "visit":
        run = Visitor(signals, chance).run
    elif role == "subscribe":
        run = Subscriber(signals, LogFile(Path(log))).run
    else:
        run = Publisher(signals, LogFile(Path(log)), int(rate), chance, is_json=role == "publish-json").run
    while not signals.is_over:
        try:
            with aeron_core.connect(directory, error_handler=report) as aeron:
                run(aeron, channel, int(stream))
        except AeronError as error:
            report(f"{type(error).__name__}: {error}")
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
