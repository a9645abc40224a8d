"""Multi-destination-cast (MDC): one publication, and receivers that come and go while it sends.

    python examples/fan_out.py

For networks without multicast: the driver sends each datagram to every destination. With `control-mode=dynamic`
receivers register themselves at the control address; with `control-mode=manual` the application names them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import aeron_core

CONTROL = "127.0.0.1:20133"
STREAM_ID = 1001
#: Endpoint of each receiver, and the messages, in percent of all, from which and up to which it takes part.
RECEIVERS = {
    "london": ("127.0.0.1:20134", 0, 100),
    "paris": ("127.0.0.1:20135", 20, 100),
    "tokyo": ("127.0.0.1:20136", 40, 70),
    "lima": ("127.0.0.1:20137", 60, 100),
}
MESSAGES = 1200
INTERVAL_S = 0.002
COLUMNS = 60

AddReceiver = Callable[[str, str], aeron_core.Subscription]
RemoveReceiver = Callable[[str], None]


class Receiver:
    """A subscription, and the numbers of the messages that it has received."""

    def __init__(self, subscription: aeron_core.Subscription) -> None:
        self.subscription = subscription
        self.numbers: set[int] = set()

    def poll(self) -> int:
        return self.subscription.poll(lambda buffer, header: self.numbers.add(int(bytes(buffer))), 100)

    def timeline(self) -> str:
        """Return a bar in which each column stands for as many messages."""
        counts = [0] * COLUMNS
        for number in self.numbers:
            counts[number * COLUMNS // MESSAGES] += 1
        whole = MESSAGES // COLUMNS
        return "".join("█" if count == whole else "▌" if count else "·" for count in counts)


def fan_out(publication: aeron_core.Publication, add: AddReceiver, remove: RemoveReceiver) -> None:
    """Send numbered messages while receivers are added and removed, and print what each has received."""
    receivers: dict[str, Receiver] = {}
    for number in range(MESSAGES):
        for name, (endpoint, first, last) in RECEIVERS.items():
            if number == MESSAGES * first // 100:
                receivers[name] = Receiver(add(name, endpoint))
            elif number == MESSAGES * last // 100:
                while number - 1 not in receivers[name].numbers:
                    receivers[name].poll()
                remove(name)
                receivers[name].subscription.close()
        # Waits until there is a receiver, and for receivers that are behind.
        publication.send(b"%d" % number, timeout=5)
        for receiver in receivers.values():
            receiver.poll()
        time.sleep(INTERVAL_S)
    for name, receiver in receivers.items():
        while not receiver.subscription.is_closed and MESSAGES - 1 not in receiver.numbers:
            receiver.poll()
        print(f"{name:<8}{receiver.timeline()}{len(receiver.numbers):>7,} of {MESSAGES:,}")
        receiver.subscription.close()


def run_dynamic(aeron: aeron_core.Aeron) -> None:
    channel = f"aeron:udp?control={CONTROL}|control-mode=dynamic"

    def add(name: str, endpoint: str) -> aeron_core.Subscription:
        subscription = aeron.add_subscription(f"{channel}|endpoint={endpoint}", STREAM_ID)
        subscription.await_connected(timeout=5)
        return subscription

    def remove(name: str) -> None:
        """Do nothing: the publication removes a receiver that was silent for five seconds."""

    # With `fc=min` the slowest receiver sets the pace, so none loses messages. The default is `max`, the fastest one.
    with aeron.add_publication(f"{channel}|fc=min", STREAM_ID) as publication:
        fan_out(publication, add, remove)


def run_manual(aeron: aeron_core.Aeron) -> None:
    destinations: dict[str, int] = {}
    with aeron.add_publication("aeron:udp?control-mode=manual|fc=min", STREAM_ID) as publication:

        def add(name: str, endpoint: str) -> aeron_core.Subscription:
            channel = f"aeron:udp?endpoint={endpoint}"
            subscription = aeron.add_subscription(channel, STREAM_ID)
            destinations[name] = publication.add_destination(channel)
            subscription.await_connected(timeout=5)
            return subscription

        def remove(name: str) -> None:
            publication.remove_destination_by_id(destinations[name])

        fan_out(publication, add, remove)


def main() -> None:
    modes = {
        "dynamic: receivers register themselves": run_dynamic,
        "manual: the application names the destinations": run_manual,
    }
    for title, run in modes.items():
        with (
            aeron_core.MediaDriver.launch_embedded() as driver,
            aeron_core.connect(driver.aeron_dir) as aeron,
        ):
            print(title)
            run(aeron)
            print()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
