"""Market data by multicast with a slow consumer: what holds the stream back, with two flow controls.

    python examples/market_data.py
    python examples/market_data.py --to market_data.png

An exchange publishes quotes to two trading desks; each has a media driver, as if on a machine of its own. For a while
one desk needs longer for each quote. With `fc=min` it slows down the exchange and the other desk; with `fc=max` they
are not affected, and the slow desk loses the stream until it joins again at the current position.
"""

from __future__ import annotations

import argparse
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import aeron_core
from aeron_core.observation import DriverObserver, DriverSnapshot, Party, limitations, rates_between

GROUP = "aeron:udp?endpoint=224.0.1.77:20130|interface=127.0.0.1"
STREAM_ID = 1001
QUOTE = struct.Struct("<q8sddq")  # number, symbol, bid, ask, time in ns
QUOTES_PER_S = 10_000
SLOW_QUOTES_PER_S = 1_000
INTERVAL_S = 0.5
SLOW_FROM_S, SLOW_UNTIL_S, END_S = 1.0, 3.0, 5.0

# Short terms, so that a slow consumer fills its window at once. A receiver that has lost a stream joins it again
# after the liveness timeout of its image, 10 s by default.
SETTINGS = {
    "threading_mode": "SHARED",
    "term_buffer_length": "256k",
    "image_liveness_timeout_ns": "500ms",
    "timer_interval_ns": "50ms",
}


class Exchange(threading.Thread):
    """Publishes quotes at a fixed rate, fewer under back pressure."""

    def __init__(self, aeron: aeron_core.Aeron, flow_control: str) -> None:
        super().__init__(name="exchange")
        self.publication = aeron.add_exclusive_publication(f"{GROUP}|fc={flow_control}", STREAM_ID)
        self.quotes = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        start_s = time.monotonic()
        while not self.is_over.wait(0.001):
            due = int((time.monotonic() - start_s) * QUOTES_PER_S)
            while self.quotes < due:
                quote = QUOTE.pack(self.quotes, b"AERN", 100.01, 100.03, time.time_ns())
                if self.publication.offer(quote) < 0:
                    # Back pressure. An old quote has no value: drop those that are due instead of queueing them.
                    start_s = time.monotonic() - self.quotes / QUOTES_PER_S
                    break
                self.quotes += 1


class Desk(threading.Thread):
    """Consumes quotes, and counts those that it has missed."""

    def __init__(self, aeron: aeron_core.Aeron, name: str) -> None:
        super().__init__(name=name)
        self.subscription = aeron.add_subscription(GROUP, STREAM_ID)
        self.quotes = 0
        self.missed = 0
        self.is_slow = threading.Event()
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.is_set():
            if self.is_slow.is_set():
                self.subscription.poll(self.on_quote, fragment_limit=1)
                time.sleep(1 / SLOW_QUOTES_PER_S)
            elif self.subscription.poll(self.on_quote, fragment_limit=100) == 0:
                time.sleep(0.001)

    def on_quote(self, buffer: memoryview, header: aeron_core.Header) -> None:
        number: int = QUOTE.unpack(buffer)[0]
        self.missed = number - self.quotes
        self.quotes += 1


class Row(NamedTuple):
    """Quotes a second in one interval, and the quotes that the slow desk has missed."""

    time_s: float
    published: float
    fast: float
    slow: float
    missed: int
    holder: str


def run(flow_control: str) -> list[Row]:
    """Let the exchange publish to both desks, and print and return a row for each interval."""
    names = ("exchange", "fast desk", "slow desk")
    with ExitStack() as stack:
        drivers = [stack.enter_context(aeron_core.MediaDriver.launch_embedded(SETTINGS)) for _ in names]
        clients = [
            stack.enter_context(
                aeron_core.connect(driver.aeron_dir, aeron_core.ClientSettings(client_name=name))
            )
            for driver, name in zip(drivers, names, strict=True)
        ]
        observers = [DriverObserver(driver.aeron_dir) for driver in drivers]
        exchange = Exchange(clients[0], flow_control)
        fast, slow = (Desk(client, name) for client, name in zip(clients[1:], names[1:], strict=True))
        for desk in (fast, slow):
            desk.subscription.await_connected(timeout=5)
        threads = (exchange, fast, slow)
        try:
            for thread in threads:
                thread.start()
            return observe(exchange, fast, slow, observers)
        finally:
            for thread in threads:
                thread.is_over.set()
            for thread in threads:
                thread.join()


def observe(exchange: Exchange, fast: Desk, slow: Desk, observers: list[DriverObserver]) -> list[Row]:
    rows: list[Row] = []
    before = [observer.snapshot() for observer in observers]
    counts = [0, 0, 0]
    start_s = last_s = time.monotonic()
    print(f"{'time':>7}{'published/s':>13}{'fast desk/s':>13}{'slow desk/s':>13}{'missed':>9}   held back by")
    while last_s - start_s < END_S:
        time.sleep(INTERVAL_S)
        now_s = time.monotonic()
        if SLOW_FROM_S <= now_s - start_s < SLOW_UNTIL_S:
            slow.is_slow.set()
        else:
            slow.is_slow.clear()
        now = [observer.snapshot() for observer in observers]
        new_counts = [exchange.quotes, fast.quotes, slow.quotes]
        rates = [(new - old) / (now_s - last_s) for new, old in zip(new_counts, counts, strict=True)]
        row = Row(now_s - start_s, rates[0], rates[1], rates[2], slow.missed, holder_of(now, before))
        print(
            f"{row.time_s:5.1f} s{row.published:13,.0f}{row.fast:13,.0f}{row.slow:13,.0f}{row.missed:9,}   "
            f"{row.holder}"
        )
        rows.append(row)
        before, counts, last_s = now, new_counts, now_s
    return rows


def holder_of(now: Sequence[DriverSnapshot], before: Sequence[DriverSnapshot]) -> str:
    """Return the party that holds the exchange back, as the counters of the drivers show it."""
    rates = rates_between(before[2], now[2])
    images = [(stream, image) for stream in now[2].streams for image in stream.images.values()]
    if not any(rates.received(stream, image) for stream, image in images):
        # The exchange is more than a window ahead of the slow desk, which drops what is beyond its window.
        return "nothing; the slow desk has lost the stream"
    # The images of the publication are in the drivers of the desks: with their snapshots the party is a subscriber.
    limit = limitations(now[0], before[0], now[1:])[0]
    if limit.party is Party.NONE:
        return "nothing"
    name = limit.party if limit.client is None else limit.client.name
    return f"{name}, {limit.behind or 0:,} bytes behind"


def draw(rows: dict[str, list[Row]], path: Path) -> None:
    """Draw the rates of each flow control to a file, in a format that its suffix names."""
    import matplotlib.pyplot as plt  # the extra plots

    figure, axes = plt.subplots(len(rows), sharex=True, figsize=(8, 6), layout="constrained")
    for axis, (flow_control, each) in zip(axes, rows.items(), strict=True):
        times = [row.time_s for row in each]
        axis.axvspan(SLOW_FROM_S, SLOW_UNTIL_S, color="0.92", label="slow desk is slow")
        axis.plot(
            times, [row.published for row in each], color="black", linewidth=4, alpha=0.3, label="published"
        )
        axis.plot(times, [row.fast for row in each], label="fast desk")
        axis.plot(times, [row.slow for row in each], label="slow desk")
        axis.set_title(f"fc={flow_control}", loc="left")
        axis.set_ylabel("quotes a second")
        axis.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].legend(loc="lower right")
    axes[-1].set_xlabel("seconds")
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Market data by multicast with a slow consumer.")
    parser.add_argument("--to", type=Path, help="draw the rates to this file, such as market_data.png")
    to: Path | None = parser.parse_args(arguments).to

    rows: dict[str, list[Row]] = {}
    for flow_control, meaning in {"min": "the slowest desk", "max": "the fastest desk"}.items():
        print(f"\nfc={flow_control}: the exchange is as fast as {meaning}")
        rows[flow_control] = run(flow_control)
    if to is not None:
        draw(rows, to)
        print(f"\ndrawn to {to}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
