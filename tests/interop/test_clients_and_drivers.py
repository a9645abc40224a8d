"""All pairs of our and the real Aeron's client and driver transfer the same bytes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from messages import expected_checksum, message

from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.observation.driver_files import DriverFiles, open_loss_report

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
#: 12 MB, which is twelve terms: each of the three buffers of a log is used four times.
COUNT = 20_000
IPC = "aeron:ipc"


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


def exchange(start, sender, receiver, *, send_dir, receive_dir, channel, count=COUNT, kind="concurrent"):
    receiving = start(*receiver, "receive", receive_dir, channel, 1001, count)
    receiving.await_line("ready")
    sending = start(*sender, "send", send_dir, channel, 1001, count, kind)
    assert sending.result() == {"sent": count}
    result = receiving.result()
    assert result == {"received": count, "checksum": expected_checksum(count)}


@pytest.mark.compatible("{medium}, {kind} publication", "{sender} → our driver → {receiver}")
@pytest.mark.parametrize("kind", ["concurrent", "exclusive"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize(
    ("sender", "receiver"), [("theirs", "theirs"), ("theirs", "ours"), ("ours", "theirs")]
)
def test_real_clients_work_with_our_driver(
    start, our_driver, clients, udp_channel, sender, receiver, medium, kind
):
    directory = our_driver()
    channel = IPC if medium == "ipc" else udp_channel

    exchange(
        start, clients[sender], clients[receiver],
        send_dir=directory, receive_dir=directory, channel=channel, kind=kind,
    )  # fmt: skip


@pytest.mark.compatible("{medium}, {kind} publication", "{sender} → C driver → {receiver}")
@pytest.mark.parametrize("kind", ["concurrent", "exclusive"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize(("sender", "receiver"), [("ours", "ours"), ("theirs", "ours"), ("ours", "theirs")])
def test_our_client_works_with_the_real_driver(
    start, foreign_driver, clients, udp_channel, sender, receiver, medium, kind
):
    directory = foreign_driver()
    channel = IPC if medium == "ipc" else udp_channel

    exchange(
        start, clients[sender], clients[receiver],
        send_dir=directory, receive_dir=directory, channel=channel, kind=kind,
    )  # fmt: skip


LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.05|seed=42|recv-msg-mask=0xF",
}
OUR_LOSS = {
    "AERON_DEBUG_RECEIVE_DATA_LOSS_RATE": "0.05",
    "AERON_DEBUG_RECEIVE_DATA_LOSS_SEED": "7",
    "AERON_DEBUG_RECEIVE_CONTROL_LOSS_RATE": "0.05",
    "AERON_DEBUG_RECEIVE_CONTROL_LOSS_SEED": "8",
}


@dataclass
class Observed:
    """Return the counters of a driver, read from its files."""

    naks_sent: int
    naks_received: int
    retransmits_sent: int
    bytes_lost: int


def observed(directory: Path) -> Observed:
    files = DriverFiles.open(directory)
    names = [name for name, _ in labelled(SystemCounterLabels())]

    def counter(name: str) -> int:
        return files.system_counter(names.index(name))

    return Observed(
        counter("naks_sent"),
        counter("naks_received"),
        counter("retransmits_sent"),
        sum(entry.total_bytes_lost for entry in read_loss_report(open_loss_report(directory))),
    )


def check_loss(*, sending: Path, receiving: Path) -> None:
    sender = observed(sending)
    receiver = observed(receiving)

    # A busy machine occasionally overflows a socket buffer, but never by that much.
    assert receiver.bytes_lost > 0.03 * sum(len(message(index)) for index in range(COUNT))
    assert receiver.naks_sent > 0
    # Fewer than sent: NAKs are dropped on purpose, too.
    assert 0 < sender.naks_received < receiver.naks_sent
    assert sender.retransmits_sent > 0


@pytest.mark.compatible("UDP unicast {loss}", "our driver → C driver")
@pytest.mark.parametrize("loss", [False, True], ids=["no loss", "5 % loss"])
def test_our_driver_sends_to_the_real_driver(start, our_driver, foreign_driver, clients, udp_channel, loss):
    ours = our_driver(**(OUR_LOSS if loss else {}))
    theirs = foreign_driver(**(LOSS if loss else {}))

    exchange(
        start, clients["ours"], clients["theirs"], send_dir=ours, receive_dir=theirs, channel=udp_channel
    )

    if loss:
        check_loss(sending=ours, receiving=theirs)


@pytest.mark.compatible("UDP unicast {loss}", "C driver → our driver")
@pytest.mark.parametrize("loss", [False, True], ids=["no loss", "5 % loss"])
def test_the_real_driver_sends_to_our_driver(start, our_driver, foreign_driver, clients, udp_channel, loss):
    ours = our_driver(**(OUR_LOSS if loss else {}))
    theirs = foreign_driver(**(LOSS if loss else {}))

    exchange(
        start, clients["theirs"], clients["ours"], send_dir=theirs, receive_dir=ours, channel=udp_channel
    )

    if loss:
        check_loss(sending=theirs, receiving=ours)
