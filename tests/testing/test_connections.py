import errno

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept
from aeron_core.testing.connections import SimulatedConnections

ADDRESS = SocketAddress.of("127.0.0.1", 5044)


@pytest.fixture
def connections():
    return SimulatedConnections()


def test_a_peer_talks_to_a_listener(connections):
    listener = connections.listen(ListenOptions(ADDRESS))
    peer = connections.dial(ADDRESS)
    probe, source = accept(listener)
    assert source == peer.address
    peer.send(b"question")
    assert probe.receive() == b"question"
    probe.send(b"answer")
    assert peer.received() == b"answer"


def test_a_connection_talks_to_a_peer(connections):
    server = connections.serve(ADDRESS)
    probe = ConnectionProbe(connections.new_connection())
    probe.connect(ADDRESS)
    assert not probe.is_connected()
    peer, _ = server.accept()
    assert probe.is_connected()
    probe.send(b"hello")
    assert peer.received() == b"hello"


def test_no_more_is_taken_than_fits(connections):
    connections.serve(ADDRESS)
    peer = connections.dial(ADDRESS)
    assert peer.send(bytes(100_000)) == 65536
    assert peer.send(b"x") == 0


def test_the_end_comes_after_what_was_sent(connections):
    server = connections.serve(ADDRESS)
    caller = connections.dial(ADDRESS)
    peer, _ = server.accept()
    caller.send(b"last")
    caller.end()
    assert peer.receive(10) == b"last"
    assert peer.receive(10) == b""


def test_an_aborted_connection_loses_what_was_not_received(connections):
    server = connections.serve(ADDRESS)
    caller = connections.dial(ADDRESS)
    peer, _ = server.accept()
    caller.send(b"lost")
    caller.close(aborts=True)
    with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is looked at below
        peer.receive(10)
    assert failure.value.errno == errno.ECONNRESET


def test_where_nobody_listens_a_connection_is_refused(connections):
    probe = ConnectionProbe(connections.new_connection())
    probe.connect(ADDRESS)
    with pytest.raises(OSError) as refusal:  # noqa: PT011 - the number is looked at below
        probe.is_connected()
    assert refusal.value.errno == errno.ECONNREFUSED


def test_an_address_has_one_listener(connections):
    listener = connections.listen(ListenOptions(ADDRESS))
    with pytest.raises(OSError, match="another simulated listener has it"):
        connections.listen(ListenOptions(ADDRESS))
    listener.close()
    connections.listen(ListenOptions(ADDRESS))
