"""One machine of a network that is attacked: a process with a media driver, a client and one end of a stream.

    besieged.py send DIR CHANNEL COUNT     COUNT messages more for each line of standard input
    besieged.py receive DIR CHANNEL COUNT
    besieged.py answer DIR CHANNEL COUNT   sends on a response channel; CHANNEL is those of requests and of control
    besieged.py ask DIR CHANNEL COUNT      receives on it

A line of standard input lets a receiver expect another stream. Until that ends, prints lines of JSON: `ready`, the
state of the driver whenever it changes, and the `arrived` messages whenever COUNT more have arrived. Destinations
follow a channel, separated by spaces. Settings of the driver may come from the environment.
"""

from __future__ import annotations

import contextlib
import select
import sys
import time

from host import LENGTH, PATIENCE_S, SETTINGS, STREAM, add_publication, make_message, print_json

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.protocol.cnc import CNC_FILE, CncFile

RESPONSES = STREAM + 1
INTERVAL_S = 0.02
#: The stream that an attacker knows, and to which it adds.
SESSION = "|session-id=77"


def await_image(subscription: aeron_core.Subscription) -> aeron_core.Image:
    deadline = time.monotonic() + PATIENCE_S
    while not subscription.images:
        time.sleep(0.001)
        assert time.monotonic() < deadline, "no image"
    return subscription.images[0]


class Sender:
    """Sends messages, each as soon as the flow control allows it."""

    def __init__(self, publication: aeron_core.Publication, count: int) -> None:
        self._publication, self._count = publication, count
        self._sent, self._due = 0, 0

    def more(self) -> None:
        self._due += self._count

    def step(self) -> bool:
        if self._sent < self._due and self._publication.offer(make_message(self._sent)) > 0:
            self._sent += 1
            return True
        return False

    def state(self) -> dict[str, object]:
        return {"connected": self._publication.is_connected}


class Receiver:
    """Receives messages that must be those of the sender, from one on."""

    def __init__(self, subscription: aeron_core.Subscription, count: int) -> None:
        self._subscription, self._count = subscription, count
        self._first, self._next, self._wrong = -1, -1, 0

    def more(self) -> None:
        self._first = -1

    def _take(self, buffer: memoryview, header: aeron_core.Header) -> None:
        data = bytes(buffer)
        number = int.from_bytes(data[:8], "little")
        if self._first < 0:
            self._first = self._next = number
        if number != self._next or len(data) != LENGTH or data != make_message(number):
            self._wrong += 1
            return
        self._next += 1
        if self._next % self._count == 0:
            print_json(arrived=self._next)

    def step(self) -> bool:
        return self._subscription.poll(self._take, 50) > 0

    def state(self) -> dict[str, object]:
        images = sorted(image.session_id for image in self._subscription.images)
        return {"first": self._first, "wrong": self._wrong, "images": images}


def make_end(aeron: aeron_core.Aeron, command: str, channel: str, count: int) -> Sender | Receiver:
    channel, *others = channel.split()
    if command == "send":
        return Sender(add_publication(aeron, " ".join([channel + SESSION, *others])), count)
    if command == "receive":
        subscription = aeron.add_subscription(channel, STREAM)
        for other in others:
            subscription.add_destination(other)
        return Receiver(subscription, count)
    if command == "ask":
        answers = aeron.add_subscription(others[0], RESPONSES)
        request = f"{channel}|response-correlation-id={answers.registration_id}"
        aeron.add_publication(request, STREAM).await_connected(timeout=PATIENCE_S)
        return Receiver(answers, count)
    requests = aeron.add_subscription(channel, STREAM)
    print_json(ready=True)
    correlation_id = await_image(requests).correlation_id
    answer = f"{others[0]}{SESSION}|response-correlation-id={correlation_id}"
    return Sender(aeron.add_publication(answer, RESPONSES), count)


def state_of(aeron: aeron_core.Aeron, cnc: CncFile) -> dict[str, object]:
    """Return the sums of the counters of sealed channels, and the texts of errors."""
    sums: dict[str, int] = {}
    names = 0
    for record in aeron.counters_reader:
        if record.label.startswith("security-"):
            name = record.label.split(":")[0].removeprefix("security-")
            sums[name] = sums.get(name, 0) + record.value
        if record.label.startswith("Resolver cache entries"):
            names = record.value
    return {"security": sums, "names": names, "errors": [error.text for error in read_errors(cnc.error_log)]}


def main(command: str, directory: str, channel: str, number: str) -> None:
    settings = {**SETTINGS, "aeron_dir": directory, "dir_delete_on_shutdown": True, "driver_connect": False}
    with contextlib.ExitStack() as stack:
        stack.enter_context(aeron_core.MediaDriver.launch(settings))
        aeron = stack.enter_context(aeron_core.connect(directory))
        cnc = CncFile.open(f"{directory}/{CNC_FILE}")
        end = make_end(aeron, command, channel, int(number))
        print_json(ready=True)
        state, due = None, 0.0
        while True:
            if time.monotonic() > due:
                due = time.monotonic() + INTERVAL_S
                found = state_of(aeron, cnc) | end.state()
                if found != state:
                    state = found
                    print_json(**state)
                if select.select([sys.stdin], [], [], 0)[0]:
                    if not sys.stdin.readline():
                        return
                    end.more()
            if not end.step():
                time.sleep(0.0005)


if __name__ == "__main__":
    main(*sys.argv[1:])
