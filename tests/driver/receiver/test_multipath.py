"""One stream from two senders that agree on session id, term ids and offsets."""

from aeron_core.testing import Feed, SimulatedLink, SimulatedPeer, Simulation, Sink, make_messages
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


def test_data_of_two_redundant_senders_is_read_once(pair):
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    feed = Feed(pair.add_publication(CHANNEL, 1001), make_messages(200, seed=1, max_length=1024))
    other = SimulatedPeer(pair.network, "10.0.0.3", 40001, ("10.0.0.2", 20121))
    repeated = 0

    def each():
        nonlocal repeated
        datagrams = pair.sent()
        # Different amounts per step: sometimes level with the first sender, sometimes far behind.
        other.send(*datagrams[repeated : repeated + 7])
        repeated = min(repeated + 7, len(datagrams))
        return feed.offer() + sink.poll() == 0 and repeated == len(datagrams) and feed.is_done

    pair.run_until(each)
    pair.run_for(10 * MS, each=sink.poll)

    assert sink.all == feed.messages
    assert len(sink.subscription.images) == 1


def test_two_senders_at_one_address_are_read_as_one_stream(memory_path):
    start = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
    with Simulation(memory_path, seed=3, link=SimulatedLink(loss=0.02, duplication=0.05)) as simulation:
        senders = [simulation.add_driver(host).connect() for host in ("10.0.0.1", "10.0.0.3")]
        client = simulation.add_driver("10.0.0.2").connect()
        sink = Sink(simulation.result(client.add_subscription_async(CHANNEL, 1001)))
        feeds = [
            Feed(
                simulation.result(sender.add_exclusive_publication_async(CHANNEL + start, 1001)),
                make_messages(300, seed=1, max_length=1024),
            )
            for sender in senders
        ]

        # The receiver answers only the sender that arrived first; the other one waits, connected or not.
        simulation.run_until(
            lambda: sum(feed.offer() for feed in feeds) + sink.poll() == 0 and len(sink.all) >= 300,
            within_ns=60 * S,
        )
        simulation.run_for(1 * S, each=sink.poll)

        assert sink.all == feeds[0].messages
        assert len(sink.subscription.images) == 1
