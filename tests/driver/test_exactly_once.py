"""Each message arrives once, in order and complete over an unreliable network."""

import pytest

from aeron_core.testing import DriverPair, Feed, SimulatedLink, Sink, make_messages
from aeron_core.testing.links import Fate
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
LINKS = {
    "perfect": SimulatedLink(),
    "loss-1": SimulatedLink(loss=0.01),
    "loss-10": SimulatedLink(loss=0.1),
    "loss-30": SimulatedLink(loss=0.3),
    "reordered": SimulatedLink(reordering=0.3, hold_back_ns=300 * US),
    "duplicated": SimulatedLink(duplication=0.3),
    "late": SimulatedLink(latency_ns=2 * MS, jitter_ns=3 * MS),
    "everything": SimulatedLink(
        loss=0.1, duplication=0.1, reordering=0.1, latency_ns=1 * MS, jitter_ns=1 * MS
    ),
}


def exchange(pair, flows, *, within_ns=60 * S):
    """Offer and poll until all messages have arrived."""

    def all_arrived():
        for feed, _ in flows:
            feed.offer()
        for sink in {id(sink): sink for _, sink in flows}.values():
            sink.poll()
        return all(
            len(sink.messages[feed.publication.session_id]) >= len(feed.messages) for feed, sink in flows
        )

    pair.run_until(all_arrived, within_ns=within_ns)


def check(pair, flows):
    for feed, sink in flows:
        assert sink.messages[feed.publication.session_id] == feed.messages
    assert [error.text for error in [*pair.sender.errors(), *pair.receiver.errors()]] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_messages_arrive_once_and_in_order_over_many_terms(start_pair, link, seed):
    pair = start_pair(seed=seed, link=link)
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    # About 600 KiB, nine terms: each of the three term buffers is reused several times.
    feed = Feed(pair.add_publication(CHANNEL, 1001), make_messages(1000, seed=seed, max_length=3000))

    exchange(pair, [(feed, sink)])
    pair.run_for(500 * MS, each=sink.poll)

    check(pair, [(feed, sink)])
    assert feed.publication.position > 8 * 64 * 1024
    if link.loss:
        assert pair.network.counts[Fate.LOST] > 0
        assert pair.receiver.counted("naks_sent") > 0


@pytest.mark.parametrize("kind", ["add_publication", "add_exclusive_publication"])
@pytest.mark.parametrize("mtu", [64, 1408, 8192])
def test_fragmented_messages_are_reassembled(start_pair, kind, mtu):
    pair = start_pair(seed=5, link=SimulatedLink(loss=0.02, reordering=0.05, hold_back_ns=200 * US))
    channel = f"{CHANNEL}|mtu={mtu}"
    sink = Sink(pair.add_subscription(channel, 1001), fragment_limit=1000)
    publication = getattr(pair, kind)(channel, 1001)
    messages = [bytes([n]) * length for n, length in enumerate([8192, 1, 7000, 0, 33, 8191, 4096, 31, 8192])]
    feed = Feed(publication, messages * 5)

    exchange(pair, [(feed, sink)])

    check(pair, [(feed, sink)])


def test_streams_and_sessions_that_share_an_endpoint_are_independent(start_pair):
    pair = start_pair(seed=6, link=SimulatedLink(loss=0.05, duplication=0.05))
    flows = []
    for stream_id in (1, 2, -3):
        sink = Sink(pair.add_subscription(CHANNEL, stream_id))
        for number in range(3):
            publication = pair.add_exclusive_publication(CHANNEL, stream_id)
            seed = 10 * stream_id + number
            flows.append((Feed(publication, make_messages(150, seed=seed, max_length=2000)), sink))

    exchange(pair, flows)

    check(pair, flows)
    assert len(pair.sender.find_counters("snd-channel")) == 1
    assert len(pair.receiver.find_counters("rcv-channel")) == 1


def test_two_clients_that_share_a_publication_interleave_their_messages_but_lose_none(start_pair):
    pair = start_pair(seed=7, link=SimulatedLink(loss=0.05))
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    other = pair.sender.connect()
    mine = pair.add_publication(CHANNEL, 1001)
    theirs = pair.result(other.add_publication_async(CHANNEL, 1001))
    feeds = [Feed(mine, [b"m%d" % n for n in range(500)]), Feed(theirs, [b"t%d" % n for n in range(500)])]

    pair.run_until(lambda: sum(feed.offer() for feed in feeds) + sink.poll() == 0 and len(sink.all) == 1000)

    assert mine.session_id == theirs.session_id
    assert [m for m in sink.all if m.startswith(b"m")] == feeds[0].messages
    assert [m for m in sink.all if m.startswith(b"t")] == feeds[1].messages


def test_two_subscriptions_of_one_image_each_receive_everything(start_pair):
    pair = start_pair(seed=8, link=SimulatedLink(loss=0.1))
    quick = Sink(pair.add_subscription(CHANNEL, 1001))
    slow = Sink(pair.add_subscription(CHANNEL, 1001), fragment_limit=1)
    feed = Feed(pair.add_publication(CHANNEL, 1001), make_messages(300, seed=8, max_length=2000))

    exchange(pair, [(feed, quick), (feed, slow)])

    check(pair, [(feed, quick), (feed, slow)])
    assert len(pair.receiver.log_files()) == 1


def test_streams_in_both_directions_between_two_drivers_arrive(start_pair):
    pair = start_pair(seed=9, link=SimulatedLink(loss=0.1))
    back = "aeron:udp?endpoint=10.0.0.1:20122"
    there_sink = Sink(pair.add_subscription(CHANNEL, 1001))
    back_sink = Sink(pair.result(pair.publisher.add_subscription_async(back, 1001)))
    there = Feed(pair.add_publication(CHANNEL, 1001), make_messages(200, seed=1, max_length=2000))
    back = Feed(
        pair.result(pair.subscriber.add_publication_async(back, 1001)),
        make_messages(200, seed=2, max_length=2000),
    )

    exchange(pair, [(there, there_sink), (back, back_sink)])

    check(pair, [(there, there_sink), (back, back_sink)])


def test_the_same_seed_gives_the_same_history(tmp_path):
    def history(directory):
        with DriverPair(directory, seed=11, link=SimulatedLink(loss=0.1, jitter_ns=1 * MS)) as pair:
            sink = Sink(pair.add_subscription(CHANNEL, 1001))
            feed = Feed(pair.add_publication(CHANNEL, 1001), make_messages(100, seed=1, max_length=2000))
            exchange(pair, [(feed, sink)])
            return pair.network.log

    first, second = history(tmp_path / "first"), history(tmp_path / "second")

    assert first == second


@pytest.mark.parametrize("offload", ["on", "off"])
@pytest.mark.parametrize("length", [0, 100, 1376, 1377, 20_000])
def test_messages_of_one_length_arrive_whether_or_not_datagrams_are_joined(start_pair, offload, length):
    pair = start_pair(seed=12, link=SimulatedLink(loss=0.02), udp_gso=offload, udp_gro=offload)
    channel = f"{CHANNEL}|term-length=256k"
    sink = Sink(pair.add_subscription(channel, 1001))
    messages = [b"%d" % n + bytes(length) for n in range(max(300, 400_000 // (length + 64)))]
    feed = Feed(pair.add_publication(channel, 1001), messages)

    exchange(pair, [(feed, sink)])

    check(pair, [(feed, sink)])
