"""A machine is replaced by another one with the same name and another address."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.netns

COUNT = 600
RATE = 300  # messages a second that the receiver reads: the first one has not received all when it dies
CHANNEL = "aeron:udp?endpoint=node:20141"
# Time until the sender detects that there is no receiver.
TIMEOUTS = {"AERON_PUBLICATION_CONNECTION_TIMEOUT": "2s", "AERON_IMAGE_LIVENESS_TIMEOUT": "2s"}


def gossip(machines, index, name):
    """Return the settings of a driver that sends its name to the one on machine 0."""
    return TIMEOUTS | {
        "AERON_NAME_RESOLVER_SUPPLIER": "driver",
        "AERON_DRIVER_RESOLVER_NAME": name,
        "AERON_DRIVER_RESOLVER_INTERFACE": f"{machines.address(index)}:8050",
        "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": f"{machines.address(0)}:8050",
    }


def receive_at(machines, start, index, settings):
    """Start a receiver on a machine, at that machine's address."""
    channel = f"aeron:udp?endpoint={machines.address(index)}:20141"
    receiver = start(index, "receive", channel, COUNT, RATE, **settings)
    receiver.await_output(ready=True)
    return receiver


@pytest.fixture
def hosts(machines):
    """The hosts file of machine 0; `ip netns exec` shows it there as /etc/hosts."""
    path = Path("/etc/netns") / machines.names[0] / "hosts"
    path.parent.mkdir(parents=True)
    path.touch()
    yield path
    shutil.rmtree(path.parent)


def test_gossip_finds_a_node_that_restarts_with_a_new_address(machines, start):
    sender = start(0, "send", CHANNEL, COUNT, 0, **gossip(machines, 0, "sender"))
    first = receive_at(machines, start, 1, gossip(machines, 1, "node"))
    first.await_output(began=True)

    first.kill()
    second = receive_at(machines, start, 2, gossip(machines, 2, "node"))

    found = second.await_output(last=None)
    sender.await_output(sent=COUNT)
    assert (found["last"], found["is_in_order"]) == (COUNT - 1, True)


def test_re_resolution_by_the_operating_system_finds_a_node_with_a_new_address(machines, start, hosts):
    hosts.write_text(f"{machines.address(1)} node\n")
    first = receive_at(machines, start, 1, TIMEOUTS)
    sender = start(0, "send", CHANNEL, COUNT, 0, **TIMEOUTS)
    first.await_output(began=True)

    first.kill()
    second = receive_at(machines, start, 2, TIMEOUTS)
    hosts.write_text(f"{machines.address(2)} node\n")

    found = second.await_output(last=None)
    sender.await_output(sent=COUNT)
    assert (found["last"], found["is_in_order"]) == (COUNT - 1, True)
