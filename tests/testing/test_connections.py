import errno

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept
from aeron_core.testing.connections import SimulatedConnections

ADDRESS = SocketAddress.of("127.0.0.1", 5044)


@pytest.fixture
def streams():
    return SimulatedConnections()


def test_a_peer_connects_to_a_listener(streams):
    listener = streams.listen(ListenOptions(ADDRESS))
    peer = streams.dial(ADDRESS)
    probe, source = accept(listener)
    assert source == peer.address
    peer.send(b"question")
    assert probe.receive() == b"question"
    probe.send(b"answer")
    assert peer.received() == b"answer"


def test_a_connection_reaches_a_peer(streams):
    server = streams.serve(ADDRESS)
    probe = ConnectionProbe(streams.new_connection())
    probe.connect(ADDRESS)
    assert not probe.is_connected()
    peer, _ = server.accept()
    assert probe.is_connected()
    probe.send(b"hello")
    assert peer.received() == b"hello"


def test_no_more_is_accepted_than_the_capacity(streams):
    streams.serve(ADDRESS)
    peer = streams.dial(ADDRESS)
    assert peer.send(bytes(100_000)) == 65536
    assert peer.send(b"x") == 0


def test_the_end_arrives_after_the_sent_data(streams):
    server = streams.serve(ADDRESS)
    caller = streams.dial(ADDRESS)
    peer, _ = server.accept()
    caller.send(b"last")
    caller.end()
    assert peer.receive(10) == b"last"
    assert peer.receive(10) == b""


def test_an_aborted_connection_loses_unreceived_data(streams):
    server = streams.serve(ADDRESS)
    caller = streams.dial(ADDRESS)
    peer, _ = server.accept()
    caller.send(b"lost")
    caller.close(aborts=True)
    with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is looked at below
        peer.receive(10)
    assert failure.value.errno == errno.ECONNRESET


def test_a_connection_without_a_listener_is_refused(streams):
    probe = ConnectionProbe(streams.new_connection())
    probe.connect(ADDRESS)
    with pytest.raises(OSError) as refusal:  # noqa: PT011 - the number is looked at below
        probe.is_connected()
    assert refusal.value.errno == errno.ECONNREFUSED


def test_an_address_has_one_listener(streams):
    listener = streams.listen(ListenOptions(ADDRESS))
    with pytest.raises(OSError, match="in use by another simulated listener"):
        streams.listen(ListenOptions(ADDRESS))
    listener.close()
    streams.listen(ListenOptions(ADDRESS))
