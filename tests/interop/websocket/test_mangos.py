"""WebSocket with mangos: masking, close and responses of another implementation."""

from __future__ import annotations

import pytest
import sp_peers
from aeron_media.sp.websocket.connections import WsConnections
from aeron_media.sp.websocket.params import WsParams
from plain_pair import Pair
from relayed_ends import RelayedEnds, wait_for
from sp_messages import body, checksum

from aeron_core._native.address import SocketAddress

pytestmark = pytest.mark.interop

SUBPROTOCOLS = {"pair0": "pair.sp.nanomsg.org", "pair1": "pair1.sp.nanomsg.org"}
LENGTHS = [1, 121, 122, 126, 65532, 65536, 200_000]


@pytest.fixture(scope="session")
def program():
    made = sp_peers.make_mangos()
    if made is None:
        pytest.skip("mangos is not tested: Go is not installed")
    return made


@pytest.fixture(params=["pair1", "pair0"])
def protocol(request):
    return request.param


@pytest.fixture
def mangos(program, protocol):
    peer = sp_peers.SpPeer(program, protocol)
    peer.await_event("ready")
    yield peer
    peer.stop()


@pytest.fixture
def ends():
    made = RelayedEnds()
    yield made
    made.close()


@pytest.fixture(params=["dials", "listens"])
def pair(request, mangos, protocol, ends):
    """Our side of a connection with mangos."""
    if request.param == "dials":
        url = mangos.listen("ws://127.0.0.1:0/x")
        host = url.removeprefix("ws://").removesuffix("/x")
        network = WsConnections(WsParams(SUBPROTOCOLS[protocol], host, "/x", 1 << 20))
        probe = ends.caller_of(network)
        probe.connect(SocketAddress.of("127.0.0.1", int(host.rpartition(":")[2])))
        wait_for(probe.is_connected)
    else:
        network = WsConnections(WsParams(SUBPROTOCOLS[protocol], "127.0.0.1", "/x", 1 << 20))
        listener = ends.listen_on(network)
        mangos.dial(f"ws://127.0.0.1:{listener.local_address().as_tuple()[1]}/x")
        probe = ends.taken(listener)
    # Its first hop has count 0.
    return Pair(probe, protocol, hops=0)


def test_messages_of_mangos_arrive(mangos, pair):
    for index, length in enumerate(LENGTHS):
        mangos.send(first=index, count=1, length=length)
        assert pair.receive() == body(index, length)


def test_messages_for_mangos_arrive(mangos, pair):
    bodies = [body(index, length) for index, length in enumerate(LENGTHS)]
    mangos.command("receive", count=len(bodies), timeout=20)
    for each in bodies:
        pair.send(each)
    assert mangos.await_event("received")["checksum"] == checksum(bodies)


def test_mangos_detects_that_our_endpoint_closed(mangos, pair):
    pair.send(b"hello")
    assert mangos.texts() == ["hello"]
    pair.probe.close()
    mangos.await_event("left")
