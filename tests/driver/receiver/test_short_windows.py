"""Windows that are short: of one frame, or ending within padding."""

import pytest

from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, S

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


def test_a_slow_subscriber_keeps_its_image_if_the_window_ends_within_padding(pair):
    # 62 messages of 1,056 bytes leave 64 of a term. After 31 of them are consumed, the window ends in the middle of
    # these 64 bytes: the header of the padding is sent, and the sender is beyond its limit.
    channel = f"{CHANNEL}|term-length=64k"
    subscription = pair.add_subscription(channel, 1001)
    messages = [number.to_bytes(2, "big") + bytes(1_022) for number in range(100)]
    feed, sink = Feed(pair.add_publication(channel, 1001), messages), Sink(subscription, fragment_limit=31)
    pair.run_until(lambda: subscription.is_connected)
    pair.run_for(100 * MS, each=feed.offer)
    assert sink.poll() == 31

    pair.run_for(100 * MS, each=feed.offer)
    assert pair.sender.find_counter("snd-pos").value == 64 * 1024 > pair.sender.find_counter("snd-lmt").value
    (image,) = subscription.images
    pair.run_for(60 * S)

    assert subscription.images == (image,)
    pair.run_until(
        lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == len(messages), within_ns=60 * S
    )
    assert sink.all == messages
    assert pair.receiver.counted("flow_control_over_runs") == 0
    assert pair.receiver.counted("naks_sent") == 0
