"""The relay of TLS and WebSocket connections, turn by turn, with hostile peers and agents that do anything.

The first byte of an input: 0 for TLS, 1 for WebSocket over TLS, 2 for WebSocket. Then steps, an operation and a block
each; the operation contains the number of a peer. A turn of the relay follows each step.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import struct

from aeron_media._native.relays import RelayListener
from aeron_media.connections.relay.faults import KEPT, RelayFaults
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relay_thread import RelayThread
from aeron_media.connections.relay.relayed_connection import CLOSING_LIMIT_S
from aeron_media.connections.relay.session import Session
from aeron_media.connections.relay.session_stack import SessionStack
from aeron_media.connections.tls.session import TlsSession
from aeron_media.sp.websocket.params import WsParams
from aeron_media.sp.websocket.session import WsSession
from plain_websocket import BINARY, MASK, frame, request

from aeron_core._native.address import SocketAddress
from aeron_core.testing.connection_probe import ConnectionProbe, accept
from targets._script import Script, block
from targets._texts import check_text
from targets.tls import contexts

MAX_STEPS = 24
MAX_PEERS = 4
#: Operations: of a peer, send bytes as they are; send what TLS has to send, also after a message; change it before;
#: end, or reset the connection. Of the agent: send, end, close, abort. Time passes, in tenths of a second.
SEND, PUMP, WRITE, PATCH, END, RESET, REPLY, AGENT_END, CLOSE, ABORT, TIME = range(11)
OPERATIONS = 11
#: The number of the peer, in the operation.
PEER_SHIFT = 5
TLS, WSS, WS = range(3)
LIMIT = 1000
HANDSHAKE_LIMIT_S, MESSAGE_LIMIT_S = 3.0, 2.0
#: Turns until what is under way is done: an invented number, above what the largest input needs.
MAX_TURNS = 200
#: Time for bytes to arrive over loopback, which usually takes none: then an input has the same effect each time.
ARRIVAL_S = 0.002
_RESETS = struct.pack("ii", 1, 0)


def step(operation: int, data: bytes = b"", peer: int = 0) -> bytes:
    return block(data, operation | peer << PEER_SHIFT)


def seeds() -> list[bytes]:
    shaken = step(PUMP) + step(PUMP) + step(PUMP)
    message = frame(BINARY, b"\0\0\0\1x", mask=MASK)
    return [
        b"\0" + shaken + step(WRITE, b"hello") + step(REPLY, b"bye") + step(PUMP) + step(END) + step(CLOSE),
        b"\0" + shaken + step(REPLY, b"cut") + step(AGENT_END) + step(PUMP) + step(TIME, b"\x14"),
        b"\0"
        + shaken
        + step(PUMP, peer=1)
        + step(PATCH, b"\5\0\xff", peer=1)
        + step(ABORT)
        + step(TIME, b"\xff"),
        b"\1" + shaken + step(WRITE, request()) + step(PUMP) + step(WRITE, message) + step(CLOSE),
        b"\2" + step(SEND, request()) + step(SEND, message[:4]) + step(TIME, b"\x14") + step(RESET),
        b"\2" + step(SEND, request()[:9], peer=1) + step(TIME, b"\x1e") + step(SEND, request() + message),
    ]


class Clock:
    """Seconds that the target advances."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def now(self) -> float:
        return self.now_s


class SteppedRelay(RelayThread):
    """A relay without a thread of its own, which ends at once; `has_input` after a peer has sent to it."""

    has_input = False

    def _run(self) -> None:
        """Do nothing: the target takes the turns."""

    def _timeout(self) -> float | None:
        return ARRIVAL_S if self.has_input else 0.0

    def turn(self) -> None:
        self._turn()
        self.has_input = False

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def finish(self) -> None:
        """Close the sockets; to be called when the endpoint has closed its end and no connection is left."""
        self._is_closing = True
        super()._run()


class Peer:
    """A TCP connection to the relay, with a TLS client that may use it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        self.name = self.socket.getsockname()
        self.is_closed = self.is_shaken = self.awaits_answer = False
        self.written, self.received = b"", b""
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = contexts()[1].wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def pump(self) -> bytes:
        """Process what has arrived; return what TLS has to send."""
        if self.awaits_answer:
            select.select([self.socket], [], [], ARRIVAL_S)
        with contextlib.suppress(OSError):
            while arrived := self.socket.recv(1 << 16):
                self.incoming.write(arrived)
        with contextlib.suppress(ssl.SSLError):
            self.tls.do_handshake()
            self.is_shaken = True
            while True:
                self.received += self.tls.read(4096) or self.stop()
        outgoing = self.outgoing.read()
        self.awaits_answer = bool(outgoing) and not self.is_shaken
        return outgoing

    @staticmethod
    def stop() -> bytes:
        raise ssl.SSLWantReadError

    def write(self, data: bytes) -> None:
        with contextlib.suppress(ssl.SSLError):
            self.tls.write(data)
            self.written += data

    def send(self, data: bytes) -> None:
        if not self.is_closed:
            with contextlib.suppress(OSError):
                self.socket.send(data)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close with a reset, which leaves no connection in TIME_WAIT."""
        if not self.is_closed:
            self.is_closed = True
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
            self.socket.close()


class Agent:
    """The agent's end of an accepted connection."""

    def __init__(self, probe: ConnectionProbe) -> None:
        self.probe = probe
        self.is_closed = False
        self.written, self.received = b"", b""

    def take(self, operation: int, data: bytes) -> None:
        if self.is_closed:
            return
        if operation in (CLOSE, ABORT):
            self.close(aborts=operation == ABORT)
            return
        # The relay shuts the pair down if the session fails.
        with contextlib.suppress(OSError):
            if operation == REPLY and data:
                self.written += data[: self.probe.send(data)]
            elif operation == AGENT_END:
                self.probe.end()

    def read(self) -> None:
        with contextlib.suppress(OSError):
            while not self.is_closed and (data := self.probe.receive()):
                self.received += data

    def close(self, *, aborts: bool = False) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.probe.close(aborts=aborts)


class Endpoint:
    """A relay with its listener, peers by their number, and agents by the source of their peer."""

    def __init__(self, mode: int) -> None:
        self.mode = mode
        self.clock = Clock()
        self.faults = RelayFaults()
        params = RelayParams(
            "hostile", self.new_session, self.faults, HANDSHAKE_LIMIT_S, MESSAGE_LIMIT_S, self.clock.now
        )
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        self.address = listener.getsockname()
        self.relay = SteppedRelay(params, listener=listener)
        self.relay.thread.join()
        self.listener = RelayListener(
            self.relay.agent_end, SocketAddress.of(*self.address, 0), self.relay.close
        )
        self.peers: dict[int, Peer] = {}
        self.agents: dict[tuple[str, int], Agent] = {}

    def new_session(self, _: SocketAddress) -> Session:
        upper = WsSession(WsParams("pair1.sp.nanomsg.org", "a", "/", LIMIT), server_side=True)
        if self.mode == WS:
            return upper
        lower = TlsSession(contexts()[0], server_side=True)
        return lower if self.mode == TLS else SessionStack(lower, upper)

    def peer(self, number: int) -> Peer:
        if number not in self.peers:
            self.peers[number] = Peer(self.address)
        return self.peers[number]

    def turn(self) -> None:
        """Let the relay work, and the agents accept and read."""
        self.relay.turn()
        while (accepted := accept(self.listener)) is not None:
            probe, source = accepted
            self.agents[source.as_tuple()[:2]] = Agent(probe)
        for agent in self.agents.values():
            agent.read()

    def take(self, operation: int, number: int, data: bytes) -> None:
        if operation == TIME:
            self.clock.now_s += sum(data[:4]) / 10
        elif operation >= REPLY:
            agent = self.agents.get(self.peer(number).name)
            if agent is not None:
                agent.take(operation, data)
        else:
            self.act(self.peer(number), operation, data)
            self.relay.has_input = True
        self.turn()

    def act(self, peer: Peer, operation: int, data: bytes) -> None:
        if peer.is_closed:
            return
        if operation == END:
            peer.end()
        elif operation == RESET:
            peer.reset()
        elif operation == SEND:
            peer.send(data)
        else:
            if operation == WRITE and data:
                peer.write(data)
            outgoing = peer.pump()
            if operation == PATCH and outgoing:
                at = int.from_bytes(data[:2], "little") % len(outgoing)
                outgoing = outgoing[:at] + data[2:] + outgoing[at + len(data) - 2 :]
            peer.send(outgoing)

    def serve(self) -> bool:
        """Return whether a later, honest peer gets through; only TLS has one here."""
        if self.mode != TLS:
            return True
        peer = self.peers[MAX_PEERS] = Peer(self.address)
        for _ in range(MAX_TURNS):
            peer.send(peer.pump())
            if peer.is_shaken and not peer.written:
                peer.write(b"served")
                peer.send(peer.pump())
            self.relay.has_input = True
            self.turn()
            agent = self.agents.get(peer.name)
            if agent is not None and agent.received == b"served":
                return True
        return False

    def close(self) -> None:
        for peer in self.peers.values():
            peer.reset()
        for agent in self.agents.values():
            agent.close()
        self.listener.close()
        self.relay.finish()
        self.relay.agent_end.close()


def check(data: bytes) -> bool:
    contexts()
    before = len(os.listdir("/proc/self/fd"))
    script = Script(data)
    endpoint = Endpoint(script.number() % 3)
    try:
        for operation, content in script.blocks(MAX_STEPS):
            endpoint.take(
                operation % (1 << PEER_SHIFT) % OPERATIONS, operation >> PEER_SHIFT & MAX_PEERS - 1, content
            )
        check_streams(endpoint)
        check_faults(endpoint.faults)
        accepted = bool(endpoint.agents)
        assert endpoint.serve()
        check_end(endpoint)
        check_faults(endpoint.faults)
    finally:
        endpoint.close()
    assert len(os.listdir("/proc/self/fd")) == before
    return accepted


def check_streams(endpoint: Endpoint) -> None:
    """Assert that agents and peers of TLS read only what the other end has written."""
    for peer in endpoint.peers.values():
        agent = endpoint.agents.get(peer.name)
        if endpoint.mode == TLS and agent is not None:
            assert peer.written.startswith(agent.received)
            assert agent.written.startswith(peer.received)


def check_faults(faults: RelayFaults) -> None:
    """Assert that few faults are kept, that their texts are short, and that none is a bug."""
    count = 0
    while (fault := faults.take()) is not None:
        assert "internal error" not in fault.reason
        check_text(Exception(fault.reason), 1000)
        check_text(Exception(fault.detail or "none"), 1000)
        count += 1
    assert count <= KEPT


def check_end(endpoint: Endpoint) -> None:
    """Assert that no connection stays once its agent has closed it, its limits have passed and its peer is gone."""
    for agent in endpoint.agents.values():
        agent.close()
    for _ in range(MAX_TURNS):
        endpoint.turn()
        for agent in endpoint.agents.values():
            agent.close()
        endpoint.clock.now_s += CLOSING_LIMIT_S / 10
        if not endpoint.relay.connection_count:
            return
    raise AssertionError(f"{endpoint.relay.connection_count} connections are left")
