"""Windows of one frame: a sender whose next frame does not fit waits for a status message."""

import pytest

from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
MTU = 1408
# Short messages leave less of the window than a long one needs, and more than three quarters of it.
LENGTHS = [100, MTU - 32, 200, MTU - 32, 64, 300, MTU - 32] * 10


@pytest.mark.parametrize("control", ["static", "cubic"])
def test_a_stream_flows_with_a_window_of_one_frame(pair, control):
    channel = f"{CHANNEL}|mtu={MTU}|rcv-wnd={MTU}|cc={control}"
    sink = Sink(pair.add_subscription(channel, 1001))
    feed = Feed(pair.add_publication(channel, 1001), [bytes(length) for length in LENGTHS])

    pair.run_until(
        lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == len(LENGTHS), within_ns=60 * S
    )

    assert sink.all == feed.messages
