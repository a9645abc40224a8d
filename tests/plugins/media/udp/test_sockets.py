"""Real sockets over loopback: with and without offload, the same datagrams are on the wire."""

import errno
import os
import re
import socket
import time

import pytest
from aeron_media.udp import sockets
from aeron_media.udp.sockets import open_datagrams

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import UdpSocket
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.udp_offload import detect_gro, detect_gso
from aeron_core.testing import DatagramProbe, Taken

LOOPBACK = SocketAddress.of("127.0.0.1", 0)
DEADLINE_S = 60

needs_gso = pytest.mark.skipif(not detect_gso(), reason="the kernel does not cut sends")
needs_gro = pytest.mark.skipif(not detect_gro(), reason="the kernel does not join datagrams")


@pytest.fixture
def opened():
    """Return a function that opens probes, which are closed after the test."""
    probes = []

    def open_one(bind=LOOPBACK, **options):
        probes.append(DatagramProbe(open_datagrams(DatagramOptions(bind, **options))))
        return probes[-1]

    yield open_one
    for probe in probes:
        probe.channel.close()


def receive(probe, count):
    """Return `count` datagrams, however the kernel joined them."""
    slots, deadline = [], time.monotonic() + DEADLINE_S
    while sum(len(slot.datagrams) for slot in slots) < count and time.monotonic() < deadline:
        slots += probe.receive()
    return [datagram for slot in slots for datagram in slot.datagrams]


def numbered(count, length):
    return b"".join(number.to_bytes(4, "little") * (length // 4) for number in range(count))


def cut(data, length):
    return [data[at : at + length] for at in range(0, len(data), length)]


@pytest.mark.parametrize("wants_gso", [False, True])
@pytest.mark.parametrize("wants_gro", [False, True])
@pytest.mark.parametrize("connects", [False, True])
def test_runs_arrive_as_their_datagrams_with_any_offload(opened, wants_gso, wants_gro, connects):
    receiver = opened(wants_gro=wants_gro, rcvbuf_length=1 << 20)
    address = receiver.channel.local_address()
    sender = opened(wants_gso=wants_gso, connect=address if connects else None)
    long, short = numbered(40, 1408) + b"tail" * 8, b"x" * 32

    taken = sender.send([(long, 1408), (short, 32), (short * 3, 32)], address)

    assert taken == Taken(3, len(long) + 4 * 32)
    assert receive(receiver, 45) == [*cut(long, 1408), *[short] * 4]


@pytest.mark.parametrize("wants_gso", [False, True])
def test_more_datagrams_than_one_system_call_sends_arrive_in_order(opened, wants_gso):
    receiver = opened(rcvbuf_length=1 << 20)
    sender = opened(wants_gso=wants_gso)
    runs = [(numbered(20, 64), 64) for _ in range(16)]

    assert sender.send(runs, receiver.channel.local_address()) == Taken(16, 16 * 1280)
    assert receive(receiver, 320) == [part for data, _ in runs for part in cut(data, 64)]


@needs_gso
def test_what_is_on_the_wire_does_not_depend_on_the_receivers_offload(opened):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(("127.0.0.1", 0))
        plain.settimeout(DEADLINE_S)
        sender = opened(wants_gso=True)
        data = numbered(3, 100)

        sender.send([(data, 100)], SocketAddress.of(*plain.getsockname()))

        assert [plain.recv(65536) for _ in range(3)] == cut(data, 100)


@needs_gso
@needs_gro
def test_the_kernel_hands_a_run_over_in_one_slot(opened):
    receiver = opened(wants_gro=True)
    sender = opened(wants_gso=True)
    data = numbered(10, 1408)

    sender.send([(data, 1408)], receiver.channel.local_address())

    (slot,) = receiver.receive()
    assert slot.datagrams == cut(data, 1408)


@needs_gso
def test_a_run_that_the_kernel_does_not_segment_is_segmented_here_from_then_on(opened):
    receiver = opened(rcvbuf_length=1 << 20)
    sender = opened(wants_gso=True)
    too_many = numbered(200, 4)  # more segments than any kernel takes in one send

    taken = sender.send([(too_many, 4)], receiver.channel.local_address())

    assert taken == Taken(1, 800)
    assert receive(receiver, 200) == cut(too_many, 4)
    assert sender.channel.uses_gso is False
    assert sender.channel.error_code == 0


def test_a_closed_socket_does_not_send_through_the_next_one_of_its_number(opened):
    receiver, sender = opened(), opened()
    number = sender.channel.fileno()
    sender.channel.close()
    successor = opened()
    assert successor.channel.fileno() == number

    taken = sender.send([(b"late", 4)], receiver.channel.local_address())
    successor.send([(b"own", 3)], receiver.channel.local_address())

    assert taken.entries == 0
    assert sender.channel.error_code == errno.EBADF
    assert receive(receiver, 1) == [b"own"]


def test_a_full_socket_buffer_accepts_a_part_and_returns_its_length(opened):
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with left, right:
        probe = DatagramProbe(UdpSocket(left, is_connected=True))
        data = numbered(2000, 1024)

        taken = probe.send([(data[:1024], 1024), (data[1024:], 1024)], LOOPBACK)

        assert taken.entries == 2
        assert 1024 < taken.length < len(data)
        assert taken.length % 1024 == 0
        right.setblocking(False)
        arrived = [right.recv(2048) for _ in range(taken.length // 1024)]
        assert arrived == cut(data[: taken.length], 1024)
        with pytest.raises(BlockingIOError):
            right.recv(2048)


def test_sources_are_those_of_the_senders(opened):
    receiver = opened()
    senders = [opened(), opened()]
    for sender in senders:
        sender.send([(b"x", 1)], receiver.channel.local_address())

    slots, deadline = [], time.monotonic() + DEADLINE_S
    while len(slots) < 2 and time.monotonic() < deadline:
        slots += receiver.receive()

    assert [slot.source for slot in slots] == [sender.channel.local_address() for sender in senders]


def test_ipv6_works_as_ipv4(opened):
    receiver = opened(SocketAddress.of("::1", 0), wants_gro=True)
    sender = opened(SocketAddress.of("::1", 0), wants_gso=True)

    sender.send([(numbered(3, 64), 64)], receiver.channel.local_address())

    assert receive(receiver, 3) == cut(numbered(3, 64), 64)


def test_nothing_to_receive_is_no_failure(opened):
    probe = opened()

    assert probe.receive() == []
    assert probe.channel.error_code == 0


def test_a_peer_that_is_not_there_is_no_failure(opened):
    closed = opened()
    address = closed.channel.local_address()
    closed.channel.close()
    sender = opened(connect=address)

    for _ in range(3):
        sender.send([(b"x", 1)], address)
        sender.receive()

    assert sender.channel.error_code == 0


def test_a_failure_is_an_error_code_and_not_an_exception(opened):
    sender = opened()

    taken = sender.send([(b"x" * 65530, 65530)], SocketAddress.of("127.0.0.1", 9))

    assert taken == Taken(0, 0)
    assert sender.channel.error_code == errno.EMSGSIZE


def test_a_port_in_use_is_named(opened):
    address = opened().channel.local_address()

    with pytest.raises(
        OSError, match=f"failed to bind to address {address}: .*: another socket has it"
    ) as caught:
        opened(address)

    assert caught.value.errno == errno.EADDRINUSE


def test_an_address_of_another_machine_is_named(opened):
    with pytest.raises(OSError, match=r"failed to bind to address 203\.0\.113\.9:0: ") as caught:
        opened(SocketAddress.of("203.0.113.9", 0))

    assert caught.value.errno == errno.EADDRNOTAVAIL


@pytest.mark.parametrize(
    ("address", "code"),
    [("[::1]:20121", errno.EAFNOSUPPORT), ("255.255.255.255:20121", errno.EACCES)],
)
def test_an_address_that_cannot_be_connected_is_named(opened, address, code):
    host, _, port = address.rpartition(":")

    with pytest.raises(OSError, match=re.escape(f"failed to connect to address: {address}: ")) as caught:
        opened(connect=SocketAddress.of(host.strip("[]"), int(port)))

    assert caught.value.errno == code


def test_a_buffer_length_that_is_refused_is_named_with_its_option(opened, monkeypatch):
    # The kernel accepts any length: this socket option does not exist for it.
    monkeypatch.setattr(socket, "SO_SNDBUF", 0x7FFF)

    with pytest.raises(OSError, match="failed to set SOL_SOCKET/SO_SNDBUF option to: 4096: ") as caught:
        opened(sndbuf_length=4096)

    assert caught.value.errno == errno.ENOPROTOOPT


def test_an_option_that_the_system_lacks_is_refused_without_a_remedy_for_the_channel(opened, monkeypatch):
    monkeypatch.setattr(socket, "SO_REUSEPORT", 0x7FFF)

    with pytest.raises(OSError, match=r"SO_REUSEPORT option to: 1: .*: use a system that has this option"):
        opened(SocketAddress.of("224.20.30.39", 0))


def test_buffer_lengths_are_set(opened):
    probe = opened(sndbuf_length=8192, rcvbuf_length=16384)

    # Linux doubles the requested length, for its own structures.
    with socket.socket(fileno=os.dup(probe.channel.fileno())) as sock:
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * 8192
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * 16384


def receiver_on(host):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((host, 0))
    sock.settimeout(5)
    return sock


def test_a_connected_socket_can_be_connected_to_another_address():
    with receiver_on("127.0.0.1") as old, receiver_on("127.0.0.2") as new:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(old.getsockname())
        channel = UdpSocket(sock, is_connected=True)

        channel.connect(SocketAddress.of(*new.getsockname()))
        sock.send(b"moved")

        assert new.recv(10) == b"moved"
        channel.close()


def test_a_socket_that_is_not_connected_stays_so():
    with receiver_on("127.0.0.1") as other:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        channel = UdpSocket(sock)

        channel.connect(SocketAddress.of(*other.getsockname()))

        with pytest.raises(OSError, match="not connected"):
            sock.getpeername()
        channel.close()


def test_a_connection_that_fails_is_reported_and_can_be_retried():
    with receiver_on("127.0.0.1") as old, receiver_on("127.0.0.2") as new:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(old.getsockname())
        channel = UdpSocket(sock, is_connected=True)

        with pytest.raises(PermissionError):
            channel.connect(SocketAddress.of("255.255.255.255", 1))
        channel.connect(SocketAddress.of(*new.getsockname()))

        assert sock.getpeername() == new.getsockname()
        channel.close()


def test_a_socket_is_closed_if_the_detection_of_offload_gets_no_descriptor(monkeypatch):
    opened = []

    class Recorded(socket.socket):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            opened.append(self)

    def fail():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socket", Recorded)
    monkeypatch.setattr(sockets, "detect_gso", fail)

    with pytest.raises(OSError, match="open files"):
        open_datagrams(DatagramOptions(LOOPBACK, wants_gso=True))

    assert [each.fileno() for each in opened] == [-1]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.EMFILE, "of this process: ulimit -n, or LimitNOFILE= of its systemd unit"),
        (errno.ENFILE, "of the system: sysctl fs.file-max"),
    ],
)
def test_a_lack_of_descriptors_is_reported_with_the_limit_and_how_to_raise_it(monkeypatch, code, remedy):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket, "socket", fail)

    with pytest.raises(OSError, match="cannot open a UDP socket") as failure:
        open_datagrams(DatagramOptions(LOOPBACK))
    assert failure.value.errno == code
    assert failure.value.strerror == (
        f"cannot open a UDP socket for {LOOPBACK}: {os.strerror(code)}: raise the limit of open files {remedy}"
    )
