"""WebSocket with nng: every message is echoed unmodified."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from aeron_media.connections.tls.contexts import TlsContexts
from aeron_media.connections.tls.parameters import TlsParameters
from aeron_media.sp.websocket.connections import WsConnections
from aeron_media.sp.websocket.params import WsParams
from plain_pair import Pair
from relayed_ends import RelayedEnds, failure, fault, receive, wait_for

from aeron_core._native.address import SocketAddress

pytestmark = pytest.mark.interop

ECHO = Path(__file__).parent / "peers" / "nng_echo.py"
SUBPROTOCOLS = {"pair0": "pair.sp.nanomsg.org", "pair1": "pair1.sp.nanomsg.org"}
LIMIT = 64 << 20
#: Boundaries of WebSocket length encodings, with and without a header of 4 bytes; nng's fragments; 16 MiB.
LENGTHS = [1, 121, 122, 123, 125, 126, 127, 65531, 65532, 65533, 65535, 65536, 65537, 200_000, 16 << 20]


class Meeting(RelayedEnds):
    """Connects one of our endpoints with one of nng; `ours` is our role."""

    def __init__(self, start, nng_python, certificates, scheme):
        super().__init__()
        self._start = start
        self._python = nng_python
        self._certificates = certificates
        self._scheme = scheme
        self.network = None
        self.peer = None
        self.address = None

    def contexts(self, *, server_side):
        if self._scheme == "ws":
            return None
        cert, key = self._certificates.server
        options = {"cert": cert, "key": key} if server_side else {"ca": self._certificates.ca}
        name = None if server_side else "127.0.0.1"
        return TlsContexts(TlsParameters(tls="true", **options), server_side=server_side, server_name=name)

    def nng(self, mode, port=0, protocol="pair1", limit=LIMIT):
        url = f"{self._scheme}://127.0.0.1:{port}/x"
        files = []
        if self._scheme == "wss":
            files = self._certificates.server if mode == "listen" else [self._certificates.ca]
        self.peer = self._start(self._python, ECHO, mode, url, protocol, limit, *files)
        return self.peer

    def listening_nng(self, **more):
        peer = self.nng("listen", **more)
        peer.await_line("listening ")
        (line,) = [line for line in peer.lines if line.startswith("listening ")]
        self.address = SocketAddress.of("127.0.0.1", int(line.split()[1]))
        return peer

    def dial(self, protocol="pair1", path="/x"):
        """Return a connection to nng."""
        host = f"127.0.0.1:{self.address.as_tuple()[1]}"
        params = WsParams(SUBPROTOCOLS[protocol], host, path, LIMIT)
        self.network = WsConnections(params, self.contexts(server_side=False))
        caller = self.caller_of(self.network)
        caller.connect(self.address)
        return caller

    def listen(self, protocol="pair1", limit=LIMIT):
        params = WsParams(SUBPROTOCOLS[protocol], "127.0.0.1", "/x", limit)
        self.network = WsConnections(params, self.contexts(server_side=True))
        return self.listen_on(self.network)

    def meet(self, ours, protocol="pair1"):
        """Return our side, connected."""
        if ours == "dials":
            self.listening_nng(protocol=protocol)
            probe = self.dial(protocol)
            wait_for(probe.is_connected)
        else:
            listener = self.listen(protocol)
            self.nng("dial", listener.local_address().as_tuple()[1], protocol)
            probe = self.taken(listener)
        return Pair(probe, protocol)


@pytest.fixture(params=["ws", "wss"])
def meeting(request, start, nng_python, certificates):
    made = Meeting(start, nng_python, certificates, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("protocol", ["pair1", "pair0"])
@pytest.mark.parametrize("ours", ["dials", "listens"])
def test_messages_of_every_length_come_back(meeting, ours, protocol):
    pair = meeting.meet(ours, protocol)
    for length in LENGTHS:
        body = os.urandom(length)
        pair.send(body)
        assert pair.receive() == body


@pytest.mark.parametrize("ours", ["dials", "listens"])
def test_many_messages_come_back_in_order(meeting, ours):
    pair = meeting.meet(ours)
    for begin in range(0, 2000, 20):
        bodies = [b"%d" % number for number in range(begin, begin + 20)]
        for body in bodies:
            pair.send(body)
        assert [pair.receive() for _ in bodies] == bodies


@pytest.mark.parametrize("ours", ["dials", "listens"])
def test_nng_detects_that_our_endpoint_closed(meeting, ours):
    pair = meeting.meet(ours)
    pair.send(b"hello")
    assert pair.receive() == b"hello"
    pair.probe.close()
    meeting.peer.await_line("parted")


def test_an_nng_pair_with_a_peer_closes_a_second_connection(meeting):
    meeting.listening_nng()
    first = meeting.dial()
    wait_for(first.is_connected)
    pair = Pair(first, "pair1")
    pair.send(b"hello")
    assert pair.receive() == b"hello"
    second = meeting.dial()
    wait_for(second.is_connected)
    assert receive(second, 8) == b"\0SP\0\0\x11\0\0"
    wait_for(lambda: second.receive() == b"")


def test_nng_refuses_an_unsupported_subprotocol(meeting):
    meeting.listening_nng(protocol="pair1")
    caller = meeting.dial("pair0")
    failure(caller.is_connected)
    assert fault(meeting.network).reason.startswith("the peer answered 400 to /x, not 101")


def test_nng_answers_404_for_an_unknown_path(meeting):
    meeting.listening_nng()
    caller = meeting.dial(path="/y")
    failure(caller.is_connected)
    assert fault(meeting.network).reason.startswith("the peer answered 404 to /y, not 101")


def test_an_unsupported_subprotocol_is_named_in_the_error(meeting):
    listener = meeting.listen("pair1")
    meeting.nng("dial", listener.local_address().as_tuple()[1], "pair0")
    assert fault(meeting.network).reason.startswith(
        "the peer does not offer the subprotocol pair1.sp.nanomsg.org: answered with 400"
    )


def test_a_message_over_the_limit_of_nng_is_reported(meeting):
    meeting.listening_nng(limit=1000)
    caller = meeting.dial()
    wait_for(caller.is_connected)
    pair = Pair(caller, "pair1")
    pair.send(bytes(996))
    assert pair.receive() == bytes(996)
    pair.send(bytes(997))
    assert fault(meeting.network).reason.startswith("the peer closed the connection with code 1009")


def test_a_message_over_our_limit_closes_the_connection_of_nng(meeting):
    listener = meeting.listen(limit=2000)
    peer = meeting.nng("dial", listener.local_address().as_tuple()[1])
    taken = meeting.taken(listener)
    pair = Pair(taken, "pair1")
    # nng echoes with a header of the same length and a hop count.
    pair.send(bytes(1996))
    assert pair.receive() == bytes(1996)
    pair.send(bytes(1997))
    assert fault(meeting.network).reason.startswith("the peer sent a message of more than 2000 bytes")
    peer.await_line("parted")
