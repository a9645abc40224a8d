"""Cost of polling idle UDP endpoints in a duty cycle: `python benchmarks/idle_endpoints.py`.

Each endpoint separately, and all as the receiver polls them.
"""

import time
from collections.abc import Callable

from aeron_media.udp.transport import UdpTransport

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.driver.agents.polled_endpoints import PolledReceiveEndpoints
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, ReceiveDispatcher
from aeron_core.spi.media import ReceiveEndpointParams
from aeron_core.testing import ReceiveEndpointProbe, make_counters
from aeron_core.testing.parts import PolledEndpointsProbe
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

ROUNDS = 2000
COUNTERS = ("bytes_received", "invalid_packets", "short_sends")


def open_endpoints(count: int) -> list[ReceiveChannelEndpoint]:
    transport, batch, dispatcher = UdpTransport(), ReceiveBatch(), ReceiveDispatcher()
    channel = transport.resolve_channel(
        ChannelUri.parse("aeron:udp?endpoint=127.0.0.1:0"),
        lambda text, _: SocketAddress.of(*parse_address(text)),
        is_publication=False,
    )
    params = ReceiveEndpointParams(
        channel, 0, None, make_counters(*COUNTERS), 0, 0, False, False, dispatcher=dispatcher, batch=batch
    )
    return [transport.open_receive_endpoint(params) for _ in range(count)]


def microseconds_of(poll: Callable[[], object]) -> float:
    started = time.thread_time_ns()
    for _ in range(ROUNDS):
        poll()
    return (time.thread_time_ns() - started) / ROUNDS / 1000


def main() -> None:
    for count in (1, 5, 6, 20, 100):
        endpoints = open_endpoints(count)
        probes = [ReceiveEndpointProbe(endpoint) for endpoint in endpoints]
        polled = PolledEndpointsProbe(PolledReceiveEndpoints())
        for endpoint in endpoints:
            polled.append(endpoint)
        each = microseconds_of(lambda probes=probes: [probe.poll() for probe in probes])
        together = microseconds_of(polled.poll)
        print(f"{count:3} endpoints: each by itself {each:6.1f} us, as the receiver {together:6.1f} us")
        for endpoint in endpoints:
            polled.remove(endpoint)
            endpoint.close()


if __name__ == "__main__":
    main()
