"""Request and response: a price service, and clients that each get their own stream of responses.

    python examples/request_response.py

The service adds one publication for each client that connects, on a response channel: no client configures a port for
its responses, and none receives those of another. The clients and the service have a media driver each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import aeron_core

REQUESTS = "aeron:udp?endpoint=127.0.0.1:20131"
RESPONSES = "aeron:udp?control=127.0.0.1:20132|control-mode=response"
REQUEST_STREAM, RESPONSE_STREAM = 1001, 1002
PRICES = {"AMBR": 12.75, "CORK": 3.1, "FLAX": 48.02, "TEAK": 107.5}


class PriceService(threading.Thread):
    """Answers requests such as `{"id": 7, "symbol": "TEAK"}` with the price."""

    def __init__(self, aeron: aeron_core.Aeron) -> None:
        super().__init__(name="price service")
        self.is_over = threading.Event()
        self._aeron = aeron
        self._requests = aeron.add_subscription(REQUESTS, REQUEST_STREAM)
        self._publications: dict[int, aeron_core.ExclusivePublication] = {}

    def run(self) -> None:
        while not self.is_over.is_set():
            images = {image.correlation_id: image for image in self._requests.images}
            for gone in self._publications.keys() - images.keys():
                self._publications.pop(gone).close()
            if sum(self._answer(image) for image in images.values()) == 0:
                time.sleep(0.0001)

    def _answer(self, image: aeron_core.Image) -> int:
        publication = self._publications.get(image.correlation_id) or self._publish_to(image)
        if publication is None or not publication.is_connected:
            return 0

        def on_request(buffer: memoryview, header: aeron_core.Header) -> aeron_core.Action:
            request = json.loads(bytes(buffer))
            response = {"id": request["id"], "price": PRICES.get(request["symbol"])}
            if publication.offer(json.dumps(response).encode()) < 0:
                # Back pressure of one client must not block the others: leave the request for the next poll.
                return aeron_core.Action.ABORT
            return aeron_core.Action.CONTINUE

        return image.controlled_poll(on_request, fragment_limit=10)

    def _publish_to(self, image: aeron_core.Image) -> aeron_core.ExclusivePublication | None:
        channel = f"{RESPONSES}|response-correlation-id={image.correlation_id}"
        try:
            publication = self._aeron.add_exclusive_publication(channel, RESPONSE_STREAM)
        except aeron_core.RegistrationError:
            return None  # the client has disconnected
        self._publications[image.correlation_id] = publication
        return publication


class PriceClient:
    """Asks for prices, one at a time."""

    def __init__(self, aeron: aeron_core.Aeron, symbol: str) -> None:
        self.symbol = symbol
        # The subscription comes first: the request publication refers to it, so the service can respond to it.
        self._responses = aeron.add_subscription(RESPONSES, RESPONSE_STREAM)
        channel = f"{REQUESTS}|response-correlation-id={self._responses.registration_id}"
        self._requests = aeron.add_exclusive_publication(channel, REQUEST_STREAM)
        self._received: list[dict[str, float]] = []
        self._responses.await_connected(timeout=10)

    def price(self, request_id: int) -> float:
        """Return the price of the client's symbol; raise TimeoutError after five seconds without a response."""
        request = {"id": request_id, "symbol": self.symbol}
        self._requests.send(json.dumps(request).encode(), timeout=5)
        deadline_s = time.monotonic() + 5
        while not self._received:
            if self._responses.poll(self._on_response) == 0:
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"no response to {request}")
                time.sleep(0)  # lets other threads of this process run
        response = self._received.pop()
        if response["id"] != request_id:
            raise RuntimeError(f"{response} is the response to another request, not to {request}")
        return response["price"]

    def _on_response(self, buffer: memoryview, header: aeron_core.Header) -> None:
        self._received.append(json.loads(bytes(buffer)))


def ask(client: PriceClient, count: int) -> list[float]:
    """Print a line about `count` requests of a client; return their round-trip times in microseconds."""
    times_us: list[float] = []
    prices: set[float] = set()
    for request_id in range(count):
        start_ns = time.perf_counter_ns()
        prices.add(client.price(request_id))
        times_us.append((time.perf_counter_ns() - start_ns) / 1000)
    median, p99 = statistics.median(times_us), statistics.quantiles(times_us, n=100)[98]
    shown = ", ".join(f"{price:.2f}" for price in prices)
    print(f"{client.symbol:<8}{shown:>8}{count:>11,}{median:>11,.0f} µs{p99:>11,.0f} µs")
    return times_us


def print_histogram(times_us: Sequence[float]) -> None:
    """Print a bar for each range of round-trip times; the last one has all that are longer."""
    bounds = [50, 100, 200, 400, 800, 1600, 3200]
    counts = [0] * (len(bounds) + 1)
    for time_us in times_us:
        counts[sum(time_us >= bound for bound in bounds)] += 1
    labels = [f"< {bound:,} µs" for bound in bounds] + [f">= {bounds[-1]:,} µs"]
    for label, count in zip(labels, counts, strict=True):
        print(f"{label:>12} {'█' * round(50 * count / max(counts)):<50}{count:>8,}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Request and response over response channels.")
    parser.add_argument("--requests", type=int, default=2000, help="requests of each client (default: 2000)")
    count: int = parser.parse_args(arguments).requests

    with (
        aeron_core.MediaDriver.launch_embedded() as server,
        aeron_core.connect(server.aeron_dir) as server_aeron,
        aeron_core.MediaDriver.launch_embedded() as host,
        aeron_core.connect(host.aeron_dir) as aeron,
    ):
        service = PriceService(server_aeron)
        service.start()
        try:
            clients = [PriceClient(aeron, symbol) for symbol in PRICES]
            print(f"{'client':<8}{'price':>8}{'requests':>11}{'median':>14}{'99 % below':>14}")
            times_us = [time_us for client in clients for time_us in ask(client, count)]
            print(f"\nround-trip times of {len(times_us):,} requests")
            print_histogram(times_us)
        finally:
            service.is_over.set()
            service.join()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
