"""Gossip that cannot be sent."""

import errno
import socket
from types import SimpleNamespace

from aeron_resolvers.gossip import Gossip, GossipParams
from aeron_resolvers.peer import GossipPeer
from aeron_resolvers.traffic import GossipSender

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter

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
