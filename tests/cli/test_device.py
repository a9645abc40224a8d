"""A device in a process of its own, between two sockets that use the PAIR protocol."""

import json
import signal
import socket
import struct

import pytest

pytestmark = pytest.mark.system

GREETING = b"\0SP\0\0\x11\0\0"


def message(body, hops=1):
    return struct.pack(">QI", 4 + len(body), hops) + body


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def joined(listener):
    """Return a connection of the device after the exchange of headers."""
    connection, _ = listener.accept()
    connection.settimeout(60)
    connection.sendall(GREETING)
    assert received(connection, len(GREETING)) == GREETING
    return connection


def received(connection, length):
    come = b""
    while len(come) < length:
        come += connection.recv(length - len(come)) or pytest.fail(f"closed after {come!r}")
    return come


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_device_joins_two_peers_and_stops_in_order_on_a_signal(start, listener, number):
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(60)
        channels = [
            f"aeron:sp?endpoint=127.0.0.1:{server.getsockname()[1]}|mode=dial" for server in (listener, other)
        ]
        process = start("device", *channels, "--json")
        with joined(listener) as first, joined(other) as second:
            first.sendall(message(b"forth") * 100)
            assert received(second, 100 * len(message(b"forth"))) == message(b"forth", 2) * 100
            second.sendall(message(b"back", 3))
            assert received(first, len(message(b"back"))) == message(b"back", 4)
            process.popen.send_signal(number)
            outcome = process.ended()
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert [(each["from"], each["messages"], each["left"]) for each in report["directions"]] == [
        (channels[0], 100, 0),
        (channels[1], 1, 0),
    ]
    assert (report["messages"], report["bytes"]) == (101, 504)


def test_a_device_fails_when_its_driver_shuts_down(start, running_driver, listener, aeron):
    _, directory = running_driver
    channel = f"aeron:sp?endpoint=127.0.0.1:{listener.getsockname()[1]}|mode=dial"
    process = start("device", channel, channel, "-d", directory)
    with joined(listener) as peer:
        peer.sendall(message(b"echo"))
        assert received(peer, len(message(b"echo"))) == message(b"echo", 2)
        assert aeron("terminate", "-d", directory).code == 0
        outcome = process.ended()
    assert outcome.code == 1
    assert ": disconnected from the media driver" in outcome.err


def test_a_refused_channel_is_reported_in_one_line(start):
    outcome = start("device", "aeron:sp?endpoint=127.0.0.1:1|mode=perhaps", "aeron:ipc").ended()
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1


def test_a_device_reports_why_its_driver_refused_a_peer(start, listener):
    channel = f"aeron:sp?endpoint=127.0.0.1:{listener.getsockname()[1]}|mode=dial"
    process = start("device", channel, "aeron:ipc")
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"\0SP\0\0\x10\0\0")
        assert "joined" in process.popen.stderr.readline()
        assert "warning: " in (line := process.popen.stderr.readline())
    assert "the peer speaks PAIR0 (16), this end PAIR1 (17)" in line
    process.popen.send_signal(signal.SIGINT)
    assert process.ended().code == 0


def test_a_device_reports_messages_too_long_for_the_other_channel(start, listener):
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(60)
        long, short = (
            f"aeron:sp?endpoint=127.0.0.1:{server.getsockname()[1]}|mode=dial{keys}"
            for server, keys in ((listener, ""), (other, "|term-length=64k"))
        )
        process = start("device", long, short)
        with joined(listener) as first, joined(other) as second:
            first.sendall(message(bytes(8193)) + message(b"behind it"))
            assert received(second, len(message(b"behind it"))) == message(b"behind it", 2)
            process.popen.send_signal(signal.SIGTERM)
            outcome = process.ended()
    assert f"from {long}: 1 message, and 1 lost, too long for term-length= of the other" in outcome.err
