"""Nothing of what is sent on sealed channels can be read on the wire: 10 MB of a known text, captured."""

from __future__ import annotations

import random
import select
import socket
import threading
from functools import cache

import numpy as np
import pytest
from secured import Keys, with_options

pytestmark = pytest.mark.netns

COUNT, LENGTH = 10_000, 1000
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
PART = np.uint64((1 << 24) - 1)
MANUAL = "aeron:udp?control-mode=manual"
GROUP = "aeron:udp?endpoint=224.0.1.79:20141|interface=10.77.0.0/24"


class Capture:
    """Packets that pass a port of the switch, while the context lasts."""

    def __init__(self, port):
        # Without a protocol until it is bound: otherwise it receives what passes any interface in between, such as the
        # same text, unsealed, of another test.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self._socket.bind((port, ETH_P_ALL))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.packets = []

    def _run(self):
        while True:
            if select.select([self._socket], [], [], 0.05)[0]:
                self.packets.append(self._socket.recv(1 << 17))
            elif self._is_over.is_set():
                return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        self._socket.close()


@cache
def known_blocks():
    """Return the aligned blocks of 8 bytes of all messages, sorted: each window of 16 bytes contains one of them."""
    # The first 8 bytes of a message are its number: such a block is not unlikely elsewhere.
    text = b"".join(random.Random(number).randbytes(LENGTH - 8) for number in range(COUNT))
    return np.sort(np.frombuffer(text, np.uint64))


def windows_of(packets):
    """Yield all windows of 8 bytes, in eight arrays."""
    data = b"".join(packets)
    for shift in range(8):
        yield np.frombuffer(data, np.uint64, (len(data) - shift) // 8, shift)


def part(blocks, shift):
    """Return 3 bytes of each block as an index."""
    return (blocks >> np.uint64(shift) & PART).astype(np.intp)


@cache
def parts(shift):
    """Return which of all values of 3 bytes a known block has: of other windows, one in fourteen has such a part."""
    has = np.zeros(1 << 24, bool)
    has[part(known_blocks(), shift)] = True
    return has


def readable(packets):
    """Return how many blocks of the known text are in packets."""
    known = known_blocks()
    found = 0
    for every in windows_of(packets):
        # A look-up of every window among the known blocks would take most of the time of a test.
        some = every[parts(0)[part(every, 0)]]
        # Sorted, they are looked up in the order of the memory.
        windows = np.sort(some[parts(24)[part(some, 24)]])
        at = np.minimum(np.searchsorted(known, windows), len(known) - 1)
        found += int(np.count_nonzero(known[at] == windows))
    return found


def check_text(packets, keys):
    """Assert that the known text cannot be read, or without keys that it can: the search finds what is there."""
    found = readable(packets)
    assert found == 0 if keys else found > 0.9 * COUNT * (LENGTH - 8) / 8


def channels_of(mode, machines):
    """Return the channel of the sender and of each receiver, each followed by its destinations."""
    if mode == "multicast":
        return GROUP, [GROUP, GROUP]
    endpoints = [f"aeron:udp?endpoint={machines.address(index)}:20141" for index in (1, 2)]
    if mode == "unicast":
        return endpoints[0], endpoints[:1]
    if mode == "manual":
        return " ".join([MANUAL, *endpoints]), endpoints
    if mode == "destinations of a receiver":
        return endpoints[0], [f"{MANUAL} {endpoints[0]}"]
    control = f"aeron:udp?control={machines.address(0)}:20140|control-mode=dynamic"
    return control, [f"{control}|endpoint={machines.address(index)}:20141" for index in (1, 2)]


@pytest.mark.parametrize("mode", ["unicast", "multicast", "dynamic", "manual", "destinations of a receiver"])
@pytest.mark.parametrize("keys", ["group", "identities", None])
def test_a_sealed_channel_cannot_be_read_on_the_wire(machines, start, tmp_path, mode, keys):
    files = Keys(tmp_path, keys)
    published, subscribed = channels_of(mode, machines)
    suffix = "|security=orders" if keys else ""
    flow_control = f"|fc=min,g:/{len(subscribed)}"
    with Capture(machines.ports[0]) as capture:
        receivers = [
            start(index, "receive", with_options(channel, suffix), COUNT, 0, **files.of(index))
            for index, channel in enumerate(subscribed, 1)
        ]
        for receiver in receivers:
            receiver.await_output(ready=True)
        options = flow_control + suffix
        sender = start(0, "send", with_options(published, options), COUNT, 0, **files.of(0))
        sent = sender.await_output(sent=COUNT)
        results = [receiver.await_output(last=COUNT - 1) for receiver in receivers]

    assert {result["sha256"] for result in results} == {sent["sha256"]}
    assert sum(map(len, capture.packets)) > COUNT * LENGTH
    check_text(capture.packets, keys)


@pytest.mark.parametrize("keys", ["group", "identities", None])
def test_sealed_responses_cannot_be_read_on_the_wire(machines, start, tmp_path, keys):
    files = Keys(tmp_path, keys)
    suffix = "|security=orders" if keys else ""
    requests = f"aeron:udp?endpoint={machines.address(1)}:20141{suffix}"
    responses = f"aeron:udp?control={machines.address(1)}:20142|control-mode=response{suffix}"
    with Capture(machines.ports[0]) as capture:
        server = start(1, "answer", f"{requests} {responses}", COUNT, **files.of(1))
        server.await_output(ready=True)
        client = start(0, "ask", f"{requests} {responses}", COUNT, **files.of(0))
        sent = server.await_output(sent=COUNT)
        result = client.await_output(last=COUNT - 1)

    assert result["sha256"] == sent["sha256"]
    assert sum(map(len, capture.packets)) > COUNT * LENGTH
    check_text(capture.packets, keys)


#: Names of drivers, of random letters.
NAMES = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=24)) for number in range(3)]


@pytest.mark.parametrize("keys", ["group", "identities", None])
def test_names_in_sealed_gossip_cannot_be_read_on_the_wire(machines, start, tmp_path, keys):
    files = Keys(tmp_path, keys)
    resolver = {"AERON_SECURITY_RESOLVER": "orders"} if keys else {}

    def start_driver(index):
        return start(
            index,
            "names",
            "-",
            len(NAMES) - 1,
            **files.of(index),
            **resolver,
            AERON_NAME_RESOLVER_SUPPLIER="driver",
            AERON_DRIVER_RESOLVER_NAME=NAMES[index],
            AERON_DRIVER_RESOLVER_INTERFACE=f"{machines.address(index)}:8050",
            # The last one has to learn the name of the first one, and the other way round.
            AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR=f"{machines.address(1)}:8050",
        )

    with Capture(machines.ports[1]) as capture:
        drivers = [start_driver(index) for index in range(len(NAMES))]
        for driver in drivers:
            driver.await_output(names=len(NAMES) - 1)

    packets = b"".join(capture.packets)
    assert len(capture.packets) > 10
    for name in NAMES:
        windows = [name[at : at + 6].encode() for at in range(len(name) - 5)]
        found = sum(window in packets for window in windows)
        assert found == (0 if keys else len(windows))
