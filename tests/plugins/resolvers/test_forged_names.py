"""Names that an attacker sends to a driver: they do not amplify, and their cost is bounded."""

from aeron_resolvers.packets import PacketChannel
from gossiping import names, start, value

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing.pair import MS, S

VICTIMS = 1024

FORGED_NAME = "f" * 240


def forge(simulation, first, count):
    """Send packets with names of drivers that do not exist, as an attacker; return the bytes on the wire."""
    attacker = PacketChannel(
        simulation.network.host("10.0.0.66").open(DatagramOptions(bind=SocketAddress.of("10.0.0.66", 0)))
    )
    entries = [
        ResolutionEntry(f"{FORGED_NAME}{n}", bytes([10, 1, n >> 8, n & 0xFF]), 8050)
        for n in range(first, first + count)
    ]
    length = 0
    for start_at in range(0, count, 15):
        buffer = AtomicBuffer.allocate(65536)
        frame = ResolutionFrame(tuple(entries[start_at : start_at + 15]))
        data = buffer.get_bytes(0, frame.encode(buffer, 0))
        assert attacker.send(data, SocketAddress.of("10.0.0.1", 8050))
        length += len(data) + 28
    attacker.close()
    return length


def sent_to_victims(simulation):
    return [
        line
        for line in simulation.network.log
        if line.source == "10.0.0.1:8050"
        and ":8050" in line.destination
        and line.destination.startswith("10.1.")
    ]


def test_forged_names_do_not_amplify(simulation):
    start(simulation, "one", "10.0.0.1")
    received = 0

    for second in range(10):
        received += forge(simulation, second * 100, 100)
        simulation.run_for(1 * S)
    simulation.run_for(10 * S)

    sent = sum(len(line.data) + 28 for line in sent_to_victims(simulation))
    assert 0 < sent <= 3 * received
    # The own name only, never the forged names.
    assert {FORGED_NAME.encode() in line.data for line in sent_to_victims(simulation)} == {False}


def test_the_datagrams_of_a_duty_cycle_are_limited_while_names_are_forged(simulation):
    one = start(simulation, "one", "10.0.0.1", resolver_datagrams_per_s=1000)
    two = start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_until(lambda: value(one, "Resolver neighbors") == 1)

    for second in range(6):
        forge(simulation, second * VICTIMS // 6, VICTIMS // 6)
        simulation.run_for(1 * S)

    # All forged names are passed on, spread over many cycles.
    simulation.run_until(lambda: names(one) == names(two) == VICTIMS // 6 * 6 + 1, within_ns=4 * S)
    at = [line.time_ns // (10 * MS) for line in simulation.network.log if line.source == "10.0.0.1:8050"]
    assert max(at.count(cycle) for cycle in set(at)) <= 10 + 10  # a cycle may begin in the middle of another


def test_refused_names_are_counted_and_reported(simulation):
    one = start(simulation, "one", "10.0.0.1")

    forge(simulation, 0, 300)
    simulation.run_for(100 * MS)

    assert value(one, "Refused gossip") == 300 - 256
    (error,) = one.errors()
    assert error.text.startswith("(0) gossip: ignored entries beyond the limits")


def test_a_peer_that_answers_from_another_address_receives_the_own_name_only(simulation):
    """A driver behind an address translation."""
    start(simulation, "one", "10.0.0.1")
    start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    translated = PacketChannel(
        simulation.network.host("10.0.0.66").open(DatagramOptions(bind=SocketAddress.of("10.0.0.66", 8050)))
    )
    buffer = AtomicBuffer.allocate(4096)
    entry = ResolutionEntry("behind", bytes([192, 168, 0, 1]), 8050, flags=wire.RES_FLAG_SELF)
    data = buffer.get_bytes(0, ResolutionFrame((entry,)).encode(buffer, 0))

    for _ in range(5):
        translated.send(data, SocketAddress.of("10.0.0.1", 8050))
        simulation.run_for(1 * S)

    sent = simulation.network.sent(source="10.0.0.1", destination="192.168.0.1")
    assert 1 <= len(sent) <= 5
    assert not any(b"two" in packet for packet in sent)
