"""TCP sockets on loopback."""

import contextlib
import errno
import os
import resource
import select
import socket
import time

import pytest
from aeron_media.connections.sockets import SystemConnections, connecting_socket, listening_socket
from vanished_hosts import vanish

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import PEER_VANISHED, end_if_vanished
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept

LOOPBACK = SocketAddress.of("127.0.0.1", 0)


def wait_for(condition, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not (result := condition()):
        assert time.monotonic() < deadline, "timed out"
        select.select([], [], [], 0.001)
    return result


@pytest.fixture
def listener():
    made = SystemConnections().listen(ListenOptions(LOOPBACK))
    yield made
    made.close()


@pytest.fixture
def ends(listener):
    """Both ends of a connection: the connecting one and the accepting one."""
    caller = ConnectionProbe(SystemConnections().new_connection())
    caller.connect(listener.local_address())
    taker, _ = wait_for(lambda: accept(listener))
    wait_for(caller.is_connected)
    yield caller, taker
    caller.close()
    taker.close()


def test_bytes_are_exchanged_in_both_directions(ends):
    caller, taker = ends
    assert caller.send(b"window") == 6
    assert wait_for(taker.receive) == b"window"
    assert taker.send(b"ack") == 3
    assert wait_for(caller.receive) == b"ack"


def test_the_kernel_probes_idle_peers_of_both_ends_of_a_connection():
    options = [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
    ]
    # The sockets of TLS and WebSocket connections, which are handled in Python.
    with (
        listening_socket(ListenOptions(LOOPBACK)) as listener,
        connecting_socket(SocketAddress.of(*listener.getsockname()), 0, 0) as caller,
    ):
        select.select([listener], [], [], 10)
        taker, _ = listener.accept()
        with taker:
            for sock in (caller, taker):
                assert [sock.getsockopt(level, name) for level, name in options] == [1, 15, 5, 3]


def test_a_listener_returns_the_address_of_the_peer(listener):
    caller = ConnectionProbe(SystemConnections().new_connection())
    assert accept(listener) is None
    caller.connect(listener.local_address())
    _, peer = wait_for(lambda: accept(listener))
    assert peer.host == "127.0.0.1"
    assert peer.port not in (0, listener.local_address().port)


def test_nothing_to_receive_is_not_the_end(ends):
    caller, taker = ends
    assert taker.receive() is None
    caller.end()
    wait_for(lambda: taker.receive() == b"")
    taker.send(b"still open")
    assert wait_for(caller.receive) == b"still open"


def test_a_full_connection_accepts_no_more_bytes(ends):
    caller, taker = ends
    sent = 0
    while taken := caller.send(bytes(65536)):
        sent += taken
    assert sent > 65536
    received = 0
    while received < sent:
        received += len(wait_for(taker.receive))


def test_an_aborted_connection_fails_at_the_other_end(ends):
    caller, taker = ends
    caller.close(aborts=True)

    def failure():
        try:
            taker.receive()
        except OSError as error:
            return error.errno

    assert wait_for(failure) == errno.ECONNRESET


def test_a_refused_connection_has_an_error_code(listener):
    address = listener.local_address()
    listener.close()
    caller = ConnectionProbe(SystemConnections().new_connection())

    def connect():
        caller.connect(address)
        wait_for(caller.is_connected)

    with pytest.raises(OSError) as refusal:  # noqa: PT011 - the number is looked at below
        connect()
    assert refusal.value.errno == errno.ECONNREFUSED


def test_a_connection_can_be_opened_again(listener, ends):
    caller, _ = ends
    caller.connect(listener.local_address())
    taker, _ = wait_for(lambda: accept(listener))
    caller.send(b"again")
    assert wait_for(taker.receive) == b"again"


def test_a_connection_that_is_not_open_fails():
    for attempt in (lambda probe: probe.receive(), lambda probe: probe.send(b"x")):
        with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is looked at below
            attempt(ConnectionProbe(SystemConnections().new_connection()))
        assert failure.value.errno == errno.ENOTCONN


def test_a_port_in_use_is_named(listener):
    address = listener.local_address()
    with pytest.raises(OSError, match=f"cannot listen at {address}"):
        SystemConnections().listen(ListenOptions(address))


def test_a_lack_of_descriptors_names_the_address(no_descriptors):
    with pytest.raises(
        OSError, match=r"cannot listen at 127\.0\.0\.1:0: Too many open files: raise the limit"
    ) as failure:
        SystemConnections().listen(ListenOptions(LOOPBACK))
    assert failure.value.errno == errno.EMFILE


@pytest.fixture
def few_descriptors():
    """Limit descriptors, so that the next ones are in the reserve of an eighth."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [os.dup(0) for _ in range(100)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used) * 8 // 7, before[1]))

    def restore():
        while used:
            os.close(used.pop())
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    yield restore
    restore()


def test_peers_cannot_use_the_last_descriptors_and_accepting_pauses_until_they_are_free(
    listener, few_descriptors
):
    callers = [ConnectionProbe(SystemConnections().new_connection()) for _ in range(2)]
    for caller in callers:
        caller.connect(listener.local_address())

    with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is looked at below
        wait_for(lambda: accept(listener))
    assert failure.value.errno == errno.EMFILE
    wait_for(lambda: callers[0].receive() == b"")
    # Ready, but not accepted while the pause lasts: an agent does not fail in each duty cycle.
    assert accept(listener) is None

    few_descriptors()
    taker, _ = wait_for(lambda: accept(listener))
    taker.send(b"ack")
    assert wait_for(callers[1].receive) == b"ack"
    for each in (*callers, taker):
        each.close()


@pytest.fixture
def pair():
    with listening_socket(ListenOptions(LOOPBACK)) as listener:
        caller = connecting_socket(SocketAddress.of(*listener.getsockname()), 0, 0)
        select.select([listener], [], [], 10)
        taker, _ = listener.accept()
    with caller, taker:
        yield caller, taker


class Watch:
    """The calls of `end_if_vanished` for one socket."""

    def __init__(self, sock, timeout_ms):
        self.sock, self.timeout_ms = sock, timeout_ms
        self.since_ms = 0

    def ends(self):
        self.since_ms = end_if_vanished(self.sock.fileno(), self.timeout_ms, self.since_ms)
        return self.since_ms == PEER_VANISHED


def test_a_connection_to_a_peer_that_has_vanished_ends_after_the_timeout(pair):
    caller, taker = pair
    vanish(taker)
    caller.send(b"lost")

    assert not Watch(caller, 60_000).ends()
    wait_for(Watch(caller, 500).ends)

    assert caller.recv(1) == b""


def test_the_time_in_which_a_peer_was_idle_before_it_vanished_does_not_count(pair):
    caller, taker = pair
    watch = Watch(caller, 1500)
    idle_until = time.monotonic() + 1.2
    while time.monotonic() < idle_until:
        assert not watch.ends()
        select.select([], [], [], 0.05)
    vanish(taker)
    sent = time.monotonic()
    caller.send(b"lost")

    wait_for(watch.ends)

    # The watch counts whole milliseconds.
    assert 1.499 <= time.monotonic() - sent < 5


def test_a_time_of_an_earlier_connection_does_not_end_a_later_one(pair):
    caller, taker = pair
    caller.send(b"answered")
    taker.recv(8)
    watch = Watch(caller, 0)
    watch.since_ms = 1
    vanish(taker)
    caller.send(b"lost")

    assert not watch.ends()
    assert watch.since_ms > 1


def test_a_connection_to_a_peer_that_does_not_read_stays(pair):
    caller, _ = pair
    with contextlib.suppress(BlockingIOError):
        while True:
            caller.send(bytes(65536))
    deadline = time.monotonic() + 2

    watch = Watch(caller, 200)
    while time.monotonic() < deadline:
        assert not watch.ends()
        select.select([], [], [], 0.01)


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_a_socket_without_a_tcp_peer_has_not_vanished(family):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        assert end_if_vanished(sock.fileno(), 0, 1) == 0


def repetitions(sock):
    """Return how often the kernel has repeated what was not acknowledged: `tcpi_retransmits`."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 3)[2]


def test_a_connection_that_is_being_made_stays():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, contextlib.ExitStack() as stack:
        # The kernel drops requests for connections beyond the backlog.
        for _ in range(3):
            sock = stack.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(server.getsockname())
        wait_for(lambda: repetitions(sock) >= 2)

        assert end_if_vanished(sock.fileno(), 0, 1) == 0


def test_data_that_was_received_counts_as_a_sign_of_life(pair):
    caller, taker = pair
    begin = time.monotonic()
    while time.monotonic() < begin + 0.8:
        taker.send(b"alive")
        caller.recv(1024)
        select.select([], [], [], 0.01)
    silent_since = time.monotonic()
    vanish(taker)
    caller.send(b"lost")

    wait_for(Watch(caller, 1000).ends)

    assert time.monotonic() - silent_since > 0.95
