"""Gossip that cannot be sent."""

import errno
import socket
from types import SimpleNamespace

from aeron_resolvers.gossip import Gossip, GossipParams
from aeron_resolvers.peer import GossipPeer
from aeron_resolvers.traffic import GossipSender

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame

HERE = GossipPeer(bytes([10, 0, 0, 1]), 8050)
NEIGHBORS = [GossipPeer(bytes([10, 0, 1, number]), 8050) for number in range(1, 9)]


class ChannelWithoutRoute:
    """Channel of a host that has no route to any peer."""

    def send(self, data, destination):
        return False

    def take_error(self):
        return errno.ENETUNREACH


def sender_to(reports):
    context = SimpleNamespace(
        system_counters={"short_sends": AtomicCounter(AtomicBuffer.allocate(128), 0)},
        report=lambda text, *, peer="": reports.append((text, peer)),
    )
    return GossipSender(ChannelWithoutRoute(), context, socket.AF_INET, 16)


def test_errors_of_many_neighbours_have_one_text_beside_their_addresses():
    reports = []
    sender = sender_to(reports)
    sender.announce(NEIGHBORS)

    sender.do_work(Gossip(GossipParams("here", HERE), 0), 0)

    assert {text for text, _ in reports} == {
        "cannot send names to a neighbour: Network is unreachable: "
        "check the routes and the firewall of this machine"
    }
    assert [peer for _, peer in reports] == [f"10.0.1.{number}:8050" for number in range(1, 9)]


def test_errors_of_unproven_drivers_have_a_text_of_their_own():
    reports = []
    gossip = Gossip(GossipParams("here", HERE), 0)
    gossip.neighbors.on_introduction(NEIGHBORS[0], 1000, 0)

    sender_to(reports).do_work(gossip, 0)

    [(text, peer)] = reports
    assert text.startswith("cannot send names to a driver that others name: Network is unreachable: check")
    assert peer == "10.0.1.1:8050"


class SentPackets:
    """Channel that records what is sent."""

    def __init__(self):
        self.ages = []

    def send(self, data, destination):
        frame = ResolutionFrame.decode(AtomicBuffer(data), 0, len(data))
        self.ages += [entry.age_ms for entry in frame.entries if not entry.is_self]
        return True

    def take_error(self):
        return 0


def sender_of_one_name(channel):
    """Return a sender of one datagram per cycle with three neighbours, and gossip with a name that has no age."""
    gossip = Gossip(GossipParams("here", HERE), 0)
    gossip.neighbors.trust(NEIGHBORS[:3])
    for peer in NEIGHBORS[:3]:
        gossip.neighbors.on_self(peer, 1000, 0, 0)
    while gossip.neighbors.take_prompt() is not None:
        pass
    entry = ResolutionEntry("far", bytes([10, 0, 2, 1]), 8050)
    buffer = AtomicBuffer.allocate(128)
    gossip.on_packet(buffer.get_bytes(0, ResolutionFrame((entry,)).encode(buffer, 0)), NEIGHBORS[0], 0)
    sender = GossipSender(channel, SimpleNamespace(), socket.AF_INET, 1)
    sender.spread(gossip)
    return sender, gossip


def test_a_packet_that_waits_for_its_turn_has_the_ages_of_the_time_at_which_it_is_sent():
    channel = SentPackets()
    sender, gossip = sender_of_one_name(channel)

    # The prompt of the name's own address comes first.
    for now_ms in (0, 50, 60, 3000, 5000):
        sender.do_work(gossip, now_ms)

    assert channel.ages == [0, 0, 3000]


def test_a_packet_is_not_sent_if_all_of_its_names_have_timed_out():
    channel = SentPackets()
    sender, gossip = sender_of_one_name(channel)
    for now_ms in (0, 50):
        sender.do_work(gossip, now_ms)
    assert channel.ages == [0]

    gossip.remove_silent(10_000)
    sender.do_work(gossip, 10_000)

    assert channel.ages == [0]
