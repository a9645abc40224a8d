"""Channel state and addresses from the counters of a driver."""

import struct

import pytest

from aeron_core import ChannelStatus
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core.client.channel_status import channel_status, local_addresses, resolved_channel
from aeron_core.concurrent.counters import CountersManager


@pytest.fixture
def counters():
    return CountersManager(
        AtomicBuffer.allocate(16 * 512), AtomicBuffer.allocate(16 * 128), Clock.manual(), 0
    )


def add_channel(counters, status, *addresses):
    status_id = counters.allocate(7, "rcv-channel")
    counters.set_value(status_id, status)
    for address in addresses:
        key = struct.pack("<ii", status_id, len(address)) + address
        counters.set_value(counters.allocate(14, "rcv-local-sockaddr", key), 1)
    return status_id


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (1, ChannelStatus.ACTIVE),
        (0, ChannelStatus.INITIALIZING),
        (-1, ChannelStatus.ERRORED),
        (2, ChannelStatus.CLOSING),
        (99, ChannelStatus.ERRORED),
    ],
)
def test_the_status_is_the_value_of_its_counter(counters, value, status):
    assert channel_status(counters, add_channel(counters, value)) is status


def test_a_channel_without_an_endpoint_is_active_and_has_no_addresses(counters):
    assert channel_status(counters, -1) is ChannelStatus.ACTIVE
    assert local_addresses(counters, -1) == []


def test_addresses_are_those_of_the_channels_own_sockets(counters):
    first = add_channel(counters, 1, b"127.0.0.1:4000", b"127.0.0.1:4001")
    add_channel(counters, 1, b"127.0.0.1:5000")

    assert local_addresses(counters, first) == ["127.0.0.1:4000", "127.0.0.1:4001"]


def test_a_channel_that_is_not_active_has_no_addresses(counters):
    assert local_addresses(counters, add_channel(counters, 0, b"127.0.0.1:4000")) == []


@pytest.mark.parametrize(
    ("channel", "resolved"),
    [
        ("aeron:udp?endpoint=localhost:0", "aeron:udp?endpoint=localhost:4000"),
        ("aeron:udp?endpoint=localhost:0|mtu=1408", "aeron:udp?endpoint=localhost:4000|mtu=1408"),
        ("aeron:udp?mtu=1408|endpoint=[::1]:0", "aeron:udp?mtu=1408|endpoint=[::1]:4000"),
        ("aeron:udp?endpoint=localhost:7", "aeron:udp?endpoint=localhost:7"),
        ("aeron:udp?control-endpoint=localhost:0", "aeron:udp?control-endpoint=localhost:0"),
    ],
)
def test_port_0_of_an_endpoint_is_replaced_by_the_bound_port(counters, channel, resolved):
    assert resolved_channel(counters, channel, add_channel(counters, 1, b"127.0.0.1:4000")) == resolved


def test_a_port_that_is_not_bound_yet_resolves_to_none(counters):
    assert resolved_channel(counters, "aeron:udp?endpoint=a:0", add_channel(counters, 0)) is None
