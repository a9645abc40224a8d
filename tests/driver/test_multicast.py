"""One publication and a multicast group of receiving drivers."""

import pytest

from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, Simulation, Sink, frames_of, make_messages
from aeron_core.testing.pair import MS, US, S

# An interface of this machine: the simulated hosts accept any.
CHANNEL = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1"
SENDER = "10.0.0.1"
RECEIVERS = ("10.0.0.2", "10.0.0.3", "10.0.0.4")


class Group:
    """A driver that publishes to a group, and drivers that receive."""

    def __init__(self, directory, *, receivers=RECEIVERS, channel=CHANNEL, options="", seed=1, link=None):
        self.simulation = Simulation(directory, seed=seed, link=link)
        self.addresses = receivers
        self.sender = self.simulation.add_driver(SENDER)
        self.receivers = [self.simulation.add_driver(address) for address in receivers]
        self.sinks = [Sink(self._subscribe(driver, channel)) for driver in self.receivers]
        self.publication = self.simulation.result(
            self.sender.connect().add_publication_async(channel + options, 1001)
        )

    def _subscribe(self, driver, channel):
        return self.simulation.result(driver.connect().add_subscription_async(channel, 1001))

    def poll(self):
        for sink in self.sinks:
            sink.poll()

    def deliver(self, messages, within_ns=30 * S):
        feed = Feed(self.publication, messages)

        def is_done():
            feed.offer()
            self.poll()
            return feed.is_done and all(len(sink.all) == len(messages) for sink in self.sinks)

        self.simulation.run_until(is_done, within_ns=within_ns)


@pytest.fixture
def start_group(memory_path):
    started = []

    def start(**arguments):
        started.append(Group(memory_path, **arguments))
        return started[-1]

    yield start
    for group in started:
        group.simulation.close()


def test_every_member_of_a_group_receives_what_is_published_once(start_group):
    group = start_group()
    messages = make_messages(200, seed=1, max_length=3000)

    group.simulation.run_until(lambda: group.publication.is_connected)
    group.deliver(messages)

    assert [sink.all for sink in group.sinks] == [messages] * 3


@pytest.mark.parametrize("seed", [1, 2])
def test_members_that_lose_different_datagrams_all_recover(start_group, seed):
    group = start_group(seed=seed, link=SimulatedLink(loss=0.05), options="|fc=min")
    messages = make_messages(200, seed=seed, max_length=3000)

    group.simulation.run_until(lambda: all(sink.subscription.is_connected for sink in group.sinks))
    group.deliver(messages)

    assert [sink.all for sink in group.sinks] == [messages] * 3


def test_the_setup_carries_the_group_flag_and_the_ttl(start_group):
    group = start_group(options="|ttl=5")

    group.simulation.run_for(200 * MS)

    setup = frames_of(Setup, group.simulation.network.sent(source=SENDER))[0]
    assert (setup.flags & 0x40, setup.ttl) == (0x40, 5)


@pytest.mark.parametrize(("ttl", "counted"), [("", 1), ("|ttl=4", 1), ("|ttl=5", 0)])
def test_a_receiver_with_another_ttl_is_counted(start_group, ttl, counted):
    group = start_group(channel=f"{CHANNEL}{ttl}", options="|ttl=5")

    group.simulation.run_until(lambda: all(sink.subscription.is_connected for sink in group.sinks))

    assert group.receivers[0].counted("possible_ttl_asymmetry") == counted


def test_receivers_answer_to_the_sender_only(start_group):
    group = start_group()
    group.simulation.run_until(lambda: group.publication.is_connected)

    group.simulation.run_for(1 * S)

    for receiver in RECEIVERS:
        lines = [line for line in group.simulation.network.log if line.source.startswith(receiver)]
        assert frames_of(StatusMessage, [line.data for line in lines])
        assert {line.destination for line in lines} == {f"{SENDER}:20121"}


def test_by_default_the_fastest_member_sets_the_limit(start_group):
    group = start_group()
    group.simulation.run_until(lambda: all(sink.subscription.is_connected for sink in group.sinks))
    fast = group.sinks[0]
    messages = make_messages(300, seed=3, max_length=1000)
    feed = Feed(group.publication, messages)

    def is_done():
        feed.offer()
        fast.poll()
        return len(fast.all) == len(messages)

    group.simulation.run_until(is_done)

    assert fast.all == messages


def test_with_fc_min_the_slowest_member_sets_the_limit(start_group):
    group = start_group(options="|fc=min,g:/3")
    group.simulation.run_until(lambda: group.publication.is_connected)
    messages = make_messages(300, seed=3, max_length=1000)
    feed = Feed(group.publication, messages)

    def offer():
        feed.offer()
        for sink in group.sinks[1:]:
            sink.poll()

    group.simulation.run_for(2 * S, offer)
    assert not feed.is_done
    assert len(group.sinks[1].all) < len(messages)
    group.simulation.run_until(lambda: (offer(), group.poll()) and len(group.sinks[1].all) == len(messages))

    assert group.sinks[1].all == messages


def naks_after_a_loss_to_all(group):
    """Return how many members request a datagram that all of them lost."""
    simulation = group.simulation
    simulation.run_until(
        lambda: group.publication.is_connected and all(sink.subscription.is_connected for sink in group.sinks)
    )
    simulation.network.set_link(SimulatedLink(loss=1), source=SENDER)
    group.publication.offer(bytes(100))
    simulation.run_for(1 * MS, group.poll)
    simulation.network.set_link(SimulatedLink(latency_ns=50 * US), source=SENDER)
    group.publication.offer(bytes(100))
    simulation.run_until(
        lambda: (simulation.step(), group.poll()) and all(len(sink.all) == 2 for sink in group.sinks)
    )
    return sum(len(frames_of(Nak, simulation.network.sent(source=receiver))) for receiver in group.addresses)


def test_a_retransmission_for_one_member_saves_the_requests_of_others(start_group):
    addresses = [f"10.0.1.{number}" for number in range(1, 21)]
    group = start_group(receivers=addresses, options="|fc=max")

    assert 1 <= naks_after_a_loss_to_all(group) <= 5


def test_members_of_a_stream_configured_as_no_group_all_request_at_once(start_group):
    addresses = [f"10.0.1.{number}" for number in range(1, 21)]
    group = start_group(receivers=addresses, options="|fc=max", channel=f"{CHANNEL}|group=false")

    assert naks_after_a_loss_to_all(group) >= 20


def test_no_member_requests_a_gap_that_it_does_not_have(start_group):
    group = start_group(options="|fc=max")
    group.simulation.run_until(
        lambda: group.publication.is_connected and all(sink.subscription.is_connected for sink in group.sinks)
    )
    group.simulation.network.set_link(SimulatedLink(loss=1), destination=RECEIVERS[0])
    group.publication.offer(bytes(100))
    group.simulation.run_for(1 * MS, group.poll)
    group.simulation.network.set_link(SimulatedLink(), destination=RECEIVERS[0])

    group.publication.offer(bytes(100))
    group.simulation.run_until(lambda: group.poll() or all(len(sink.all) == 2 for sink in group.sinks))

    asked = {
        receiver: len(frames_of(Nak, group.simulation.network.sent(source=receiver)))
        for receiver in RECEIVERS
    }
    assert asked[RECEIVERS[0]] >= 1
    assert asked[RECEIVERS[1]] == asked[RECEIVERS[2]] == 0
