"""Peers that return at another address under their old name."""

from __future__ import annotations

import pytest
from pairing import greeting

from aeron_core._native.address import SocketAddress
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing.pair import MS, S, Simulation

OLD, NEW = (SocketAddress.of(f"10.0.0.{n}", 7000) for n in (1, 2))
CHANNEL = "aeron:sp?endpoint=node:7000|mode=dial"
STREAM = 7


class Names:
    """A plugin with a resolver that returns the current address."""

    def __init__(self):
        self.host = "10.0.0.1"

    def lookup(self, name, uri_key, is_re_lookup):
        return name

    def resolve(self, host, uri_key, is_re_resolution):
        return self.host if host == "node" else None

    @hookimpl
    def aeron_name_resolvers(self):
        return {"names": lambda params: self}


class Dialing(Simulation):
    """A driver that connects to a node, which a test moves."""

    def __init__(self, directory):
        self.names = Names()
        super().__init__(directory, plugins=[self.names])
        self.driver = self.add_driver(name_resolver="names")
        self.client = self.driver.connect()
        self.listener = self.connections.serve(OLD)
        self.peers = []
        self.idle_step_ns = 10 * MS

    def add(self, kind):
        add = (
            self.client.add_publication_async if kind == "publication" else self.client.add_subscription_async
        )
        return self.result(add(CHANNEL, STREAM))

    def run(self, duration_ns=1 * S):
        self.run_for(duration_ns, self.accept)

    def accept(self):
        if (taken := self.listener.accept()) is not None:
            self.peers.append(taken[0])
            taken[0].send(greeting())

    def move(self):
        self.listener.close()
        self.peers.pop().close(aborts=True)
        self.listener = self.connections.serve(NEW)
        self.names.host = "10.0.0.2"


@pytest.fixture
def dialing(tmp_path):
    made = Dialing(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("kinds", [("publication",), ("subscription",), ("publication", "subscription")])
def test_the_name_of_a_lost_peer_is_resolved_again(dialing, kinds):
    added = [dialing.add(kind) for kind in kinds]
    dialing.run()
    assert len(dialing.peers) == 1

    dialing.move()
    dialing.run(10 * S)

    assert len(dialing.peers) == 1
    assert all(each.is_connected for each in added)
    assert dialing.driver.counted("resolution_changes") == 1


def test_what_is_added_after_the_move_shares_the_socket(dialing):
    publication = dialing.add("publication")
    dialing.run()
    dialing.move()
    dialing.run(10 * S)

    subscription = dialing.add("subscription")
    dialing.run(5 * S)

    assert len(dialing.peers) == 1
    assert publication.is_connected
    assert subscription.is_connected
