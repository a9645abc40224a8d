"""SP channels over WebSocket, from client to client."""

from __future__ import annotations

import socket
import time

import pytest
from plain_websocket import request, whole_frames_of

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.protocol.cnc import CNC_FILE, CncFile

STREAM = 7


class Ends:
    """Two channels of one driver that are connected to each other."""

    def __init__(self, driver, client, listening_keys, dialing_keys):
        self._directory = driver.aeron_dir
        self._client = client
        listening = f"aeron:sp?endpoint=127.0.0.1:0|mode=listen|{listening_keys}"
        self.subscription = client.add_subscription(listening, STREAM)
        self.until(self.subscription.resolved_endpoint)
        address = self.subscription.resolved_endpoint()
        self.listening = listening
        self.dialing = f"aeron:sp?endpoint={address}|mode=dial|{dialing_keys}"
        self.received = []

    def until(self, condition, timeout_s=20):
        deadline = time.monotonic() + timeout_s
        while not (result := condition()):
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.001)
        return result

    def publish(self, channel):
        return self._client.add_publication(channel, STREAM)

    def take(self, subscription, count):
        """Wait for `count` messages and return them."""
        bodies = []
        assembler = aeron_core.FragmentAssembler(lambda buffer, header: bodies.append(bytes(buffer)))
        self.until(lambda: (subscription.poll(assembler, 10), len(bodies) >= count)[-1])
        return bodies

    def errors(self):
        return [record.line for record in read_errors(CncFile.open(self._directory / CNC_FILE).error_log)]


@pytest.fixture
def client(driver):
    with aeron_core.connect(driver.aeron_dir) as made:
        yield made


def keys_of(transport, certificates):
    """Return the listening and the connecting channel."""
    keys = f"transport={transport}|path=/x"
    if transport == "ws":
        return keys, keys
    cert, key = certificates.server
    return f"{keys}|cert={cert}|key={key}", f"{keys}|ca={certificates.ca}"


@pytest.mark.parametrize("transport", ["ws", "wss"])
def test_messages_are_exchanged_in_both_directions(driver, client, certificates, transport):
    ends = Ends(driver, client, *keys_of(transport, certificates))
    there = ends.publish(ends.dialing)
    back = ends.publish(ends.listening)
    dialed = client.add_subscription(ends.dialing, STREAM)
    bodies = [b"", b"hello", bytes(range(256)) * 2000]

    for body in bodies:
        ends.until(lambda body=body: there.offer(body) > 0)
    assert ends.take(ends.subscription, 3) == bodies
    for body in bodies:
        ends.until(lambda body=body: back.offer(body) > 0)
    assert ends.take(dialed, 3) == bodies


def test_an_unknown_path_is_reported_in_the_error_log(driver, client, certificates):
    ends = Ends(driver, client, "transport=ws|path=/x", "transport=ws|path=/y")
    publication = ends.publish(ends.dialing)

    ends.until(lambda: any("the peer asks for another path than /x" in text for text in ends.errors()))
    ends.until(lambda: any("the peer answered 404 to /y, not 101" in text for text in ends.errors()))
    assert not publication.is_connected
    assert ends.subscription.images == ()


def test_a_path_that_begins_another_one_has_its_own_connection(driver, client):
    ends = Ends(driver, client, "transport=ws|path=/a-b", "transport=ws|path=/a-b")
    longer = ends.publish(ends.dialing)
    ends.until(lambda: longer.is_connected)

    shorter = ends.publish(ends.dialing.removesuffix("-b"))

    assert shorter.channel_status_id != longer.channel_status_id
    ends.until(lambda: any("the peer answered 404 to /a, not 101" in text for text in ends.errors()))


def test_a_second_peer_reads_that_it_was_refused(driver, client, certificates):
    ends = Ends(driver, client, "transport=ws|path=/x", "transport=ws|path=/x")
    first = ends.publish(ends.dialing)
    ends.until(lambda: first.offer(b"here first") > 0)
    assert ends.take(ends.subscription, 1) == [b"here first"]

    host, _, port = ends.subscription.resolved_endpoint().rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as second:
        second.sendall(request("/x"))
        received = b""
        while not (frames := whole_frames_of(received.partition(b"\r\n\r\n")[2])):
            # A peer of SP over WebSocket sends nothing before its first message.
            received += second.recv(1000)

    assert received.startswith(b"HTTP/1.1 101")
    assert [(each.code, each.reason) for each in frames] == [(1008, "this endpoint takes no peer now")]
    ends.until(lambda: any("refused: this end is monogamous" in text for text in ends.errors()))


@pytest.mark.parametrize("transport", ["ws", "wss", "tls"])
def test_a_handshake_has_the_time_that_the_channel_gives_it(driver, client, certificates, transport):
    listening, _ = keys_of(transport, certificates)
    keys = listening.replace("|path=/x", "") if transport == "tls" else listening
    ends = Ends(driver, client, f"{keys}|handshake-timeout=100ms", "")
    host, _, port = ends.subscription.resolved_endpoint().rpartition(":")

    with (
        socket.create_connection((host, int(port)), timeout=10) as stalled,
        pytest.raises(ConnectionResetError),
    ):
        stalled.recv(1)

    layer = "WebSocket" if transport == "ws" else "TLS"
    ends.until(lambda: any(f"no {layer} handshake within 0.1 s" in text for text in ends.errors()))
