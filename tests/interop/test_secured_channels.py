"""Channels with a group secret: clients of any implementation use them, and a driver without it gets nothing."""

from __future__ import annotations

import secrets
import socket
import sys
import time
from pathlib import Path

import pytest
from messages import Checksum, expected_checksum, message

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 5_000
DEADLINE_S = 60
#: Id of the system counter, the same in both drivers.
INVALID_PACKETS = [name for name, _ in labelled(SystemCounterLabels())].index("invalid_packets")
SECURED = "|security=orders"
DIRECTION = "{sender} → our driver → our driver → {receiver}"


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


@pytest.fixture
def secured(tmp_path, our_driver):
    """Start a driver that has the secret of the others."""
    key = tmp_path / "orders.key"
    key.write_text(f"{secrets.token_hex(32)}\n", encoding="ascii")
    key.chmod(0o600)
    return lambda: our_driver(AERON_SECURITY_PROFILES=f"orders,secret_file={key}")


@pytest.fixture
def ports():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in (one, other)]


def channels_of(mode, ports):
    if mode == "multicast":
        group = f"aeron:udp?endpoint=224.0.1.99:{ports[0]}|interface=127.0.0.1"
        return group, group
    if mode == "dynamic MDC":
        control = f"aeron:udp?control=127.0.0.1:{ports[0]}|control-mode=dynamic"
        return control, f"{control}|endpoint=127.0.0.1:{ports[1]}"
    unicast = f"aeron:udp?endpoint=127.0.0.1:{ports[0]}"
    return unicast, unicast


@pytest.mark.compatible("UDP with a group secret, {mode}", DIRECTION)
@pytest.mark.parametrize("mode", ["unicast", "multicast", "dynamic MDC"])
@pytest.mark.parametrize(
    ("sender", "receiver"), [("ours", "ours"), ("theirs", "ours"), ("ours", "theirs"), ("theirs", "theirs")]
)
def test_streams_arrive_whole(start, secured, clients, ports, sender, receiver, mode):
    published, subscribed = channels_of(mode, ports)
    sending_driver, receiving_driver = secured(), secured()

    receiving = start(*clients[receiver], "receive", receiving_driver, subscribed + SECURED, 1001, COUNT)
    receiving.await_line("ready")
    sending = start(*clients[sender], "send", sending_driver, published + SECURED, 1001, COUNT)

    assert sending.result() == {"sent": COUNT}
    assert receiving.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.compatible(
    "UDP with a group secret, manual MDC to an MDS, by two paths", "our driver → our driver"
)
def test_a_stream_of_two_paths_arrives_once(secured, ports):
    with aeron_core.connect(secured()) as sending, aeron_core.connect(secured()) as receiving:
        subscription = receiving.add_subscription(f"aeron:udp?control-mode=manual{SECURED}", 1001)
        publication = sending.add_exclusive_publication(f"aeron:udp?control-mode=manual{SECURED}", 1001)
        for port in ports:
            subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
            publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
        publication.await_connected(timeout=DEADLINE_S)
        checksum, sent, received = Checksum(), 0, 0

        def on_message(buffer, _):
            nonlocal received
            checksum.add(bytes(buffer))
            received += 1

        assembler = aeron_core.FragmentAssembler(on_message)
        deadline = time.monotonic() + DEADLINE_S
        while received < COUNT and time.monotonic() < deadline:
            while sent < COUNT and publication.offer(message(sent)) > 0:
                sent += 1
            subscription.poll(assembler, 1000)
        (image,) = subscription.images

        assert (received, checksum.hexdigest()) == (COUNT, expected_checksum(COUNT))
        assert image.active_transport_count == 2


@pytest.mark.compatible("UDP with a group secret at one end only, refused", "C driver → our driver")
def test_a_plain_driver_gets_nothing_into_a_secured_channel(secured, foreign_driver, ports):
    channel, _ = channels_of("unicast", ports)
    driver = secured()
    with aeron_core.connect(driver) as receiving, aeron_core.connect(foreign_driver()) as sending:
        subscription = receiving.add_subscription(channel + SECURED, 1001)
        publication = sending.add_exclusive_publication(channel, 1001)
        deadline = time.monotonic() + DEADLINE_S
        while (
            not (errors := list(read_errors(DriverFiles.open(driver).cnc.error_log)))
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)

        (error,) = errors
        assert "it is not sealed" in error.text
        assert error.last_peer.startswith("127.0.0.1:")
        assert not publication.is_connected
        assert not subscription.is_connected


@pytest.mark.compatible("UDP with a group secret at one end only, refused", "our driver → C driver")
def test_a_plain_driver_gets_nothing_out_of_a_secured_channel(secured, foreign_driver, ports):
    channel, _ = channels_of("unicast", ports)
    plain = foreign_driver()
    with aeron_core.connect(plain) as receiving, aeron_core.connect(secured()) as sending:
        subscription = receiving.add_subscription(channel, 1001)
        publication = sending.add_exclusive_publication(channel + SECURED, 1001)
        deadline = time.monotonic() + DEADLINE_S
        invalid = 0
        while invalid < 5 and time.monotonic() < deadline:
            invalid = DriverFiles.open(plain).system_counter(INVALID_PACKETS)
            time.sleep(0.05)

        assert invalid >= 5
        assert not publication.is_connected
        assert not subscription.is_connected
