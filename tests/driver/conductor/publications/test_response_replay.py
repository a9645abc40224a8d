"""Replay of a capture of two reference drivers, requester and responder, with our driver in place of either.

The other party sends what it sent, at the same times; our driver must take the decisions of the one it replaces.
"""

import json
from itertools import groupby
from pathlib import Path

import pytest

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import DatagramProbe, Sink, frames_of
from aeron_core.testing.pair import MS, US, Simulation

HOST = "127.0.0.1"
REQUESTS, RESPONSES = 24191, 24192
CAPTURE = json.loads(
    (Path(__file__).parents[3] / "vectors" / "12-response-channels.json").read_text(encoding="utf-8")
)
DATAGRAMS = [one | {"data": bytes.fromhex(one["hex"])} for one in CAPTURE["datagrams"]]


def sent_by(party):
    return [one for one in DATAGRAMS if one["src"] == party]


def distinct(items):
    return [item for item, _ in groupby(items)]


def payloads(datagrams):
    """Return the payloads of data frames; in this capture each datagram has one."""
    return [
        data[wire.DATA_HEADER_LENGTH : frame.frame_length]
        for data in datagrams
        for frame in frames_of(DataHeader, [data])
        if frame.frame_length > 0
    ]


def setups(datagrams):
    return distinct([data for data in datagrams if frames_of(Setup, [data])])


def announcements(datagrams):
    return [data for data in datagrams if frames_of(ResponseSetup, [data])]


def elicitations(datagrams):
    """Return the streams of which a SETUP was requested; session and stream 0 mean any."""
    return {
        (sm.session_id, sm.stream_id)
        for sm in frames_of(StatusMessage, datagrams)
        if sm.flags & wire.SM_FLAG_SEND_SETUP
    }


def windows(datagrams):
    return {
        (sm.session_id, sm.consumption_term_id, sm.consumption_term_offset, sm.receiver_window)
        for sm in frames_of(StatusMessage, datagrams)
        if not sm.flags & wire.SM_FLAG_SEND_SETUP
    }


def position_of(setup):
    """Return the URI parameters that start a publication at the position of the captured one."""
    return (
        f"|term-length={setup.term_length}|session-id={setup.session_id}|init-term-id={setup.initial_term_id}"
        f"|term-id={setup.active_term_id}|term-offset={setup.term_offset}"
    )


class Replay:
    """Our driver in place of one party, and the sockets of the other."""

    def __init__(self, directory, other):
        self.simulation = Simulation(directory, busy_step_ns=100 * US, idle_step_ns=100 * US)
        host = self.simulation.network.host(HOST)
        self._theirs = sent_by(other)
        self._sockets = {
            port: DatagramProbe(host.open(DatagramOptions(SocketAddress.of(HOST, port))))
            for port in {one["src_port"] for one in self._theirs}
        }
        self.driver = self.simulation.add_driver(HOST)
        self.client = self.driver.connect()
        self.ports = {}

    def run(self, own, on_own, *, begin_us):
        """Play the capture from a time on; `on_own` is called for frames of the replaced party."""
        start_ns = self.simulation.now_ns - begin_us * US
        for one in DATAGRAMS:
            if one["t_us"] < begin_us:
                continue
            self.simulation.run_for(max(start_ns + one["t_us"] * US - self.simulation.now_ns, 0))
            if one["src"] == own:
                on_own(one)
            else:
                self.send_captured(one)
        self.simulation.run_for(10 * MS)

    def send_captured(self, one):
        port = self.ports.get(one["dst_port"], one["dst_port"])
        self._sockets[one["src_port"]].send([(one["data"], len(one["data"]))], SocketAddress.of(HOST, port))

    def sent_to(self, *ports):
        """Return the frames that our driver has sent to these ports of the other party."""
        mine = {f"{HOST}:{port}" for port in self._sockets}
        return [
            line.data
            for line in self.simulation.network.log
            if line.source not in mine and int(line.destination.rpartition(":")[2]) in ports
        ]


@pytest.fixture
def start_replay(memory_path):
    replays = []

    def start(other):
        replays.append(Replay(memory_path, other))
        return replays[-1]

    yield start
    for replay in replays:
        replay.simulation.close()


def source_of(replay, port):
    """Return the port of our driver that sends to a port of the other party."""
    lines = [line for line in replay.simulation.network.log if line.destination == f"{HOST}:{port}"]
    return int(lines[-1].source.rpartition(":")[2])


def test_our_requester_acts_as_the_reference(start_replay):
    replay = start_replay("server")
    theirs, ours = sent_by("server"), [one["data"] for one in sent_by("client")]
    (request,) = frames_of(Setup, setups(ours))
    subscription = replay.simulation.result(
        replay.client.add_subscription_async(
            f"aeron:udp?control={HOST}:{RESPONSES}|control-mode=response", 10001
        )
    )
    publication = replay.simulation.result(
        replay.client.add_exclusive_publication_async(
            f"aeron:udp?endpoint={HOST}:{REQUESTS}|response-correlation-id={subscription.registration_id}"
            f"{position_of(request)}",
            10000,
        )
    )
    sink = Sink(subscription)
    request_port, response_port = (
        next(one["src_port"] for one in sent_by("client") if one["dst_port"] == port)
        for port in (REQUESTS, RESPONSES)
    )

    def on_own(one):
        replay.ports = {
            their: source_of(replay, ours)
            for their, ours in ((request_port, REQUESTS), (response_port, RESPONSES))
            if any(line.destination == f"{HOST}:{ours}" for line in replay.simulation.network.log)
        }
        for payload in payloads([one["data"]]):
            assert publication.offer(payload) > 0
        sink.poll()

    replay.run("client", on_own, begin_us=sent_by("client")[1]["t_us"])

    sent = replay.sent_to(REQUESTS, RESPONSES)
    assert setups(sent) == setups(ours)
    assert payloads(sent) == payloads(ours)
    assert elicitations(sent) == elicitations(ours)
    assert windows(sent) == windows(ours)
    assert sink.all == payloads([one["data"] for one in theirs])


def test_our_responder_acts_as_the_reference(start_replay):
    replay = start_replay("client")
    theirs, ours = sent_by("client"), [one["data"] for one in sent_by("server")]
    (response,) = frames_of(Setup, setups(ours))
    requests = replay.simulation.result(
        replay.client.add_subscription_async(f"aeron:udp?endpoint={HOST}:{REQUESTS}", 10000)
    )
    sink = Sink(requests)
    publications = []

    def on_own(one):
        if frames_of(ResponseSetup, [one["data"]]) and not publications:
            channel = (
                f"aeron:udp?control={HOST}:{RESPONSES}|control-mode=response"
                f"|response-correlation-id={requests.images[0].correlation_id}{position_of(response)}"
            )
            publications.append(
                replay.simulation.result(replay.client.add_exclusive_publication_async(channel, 10001))
            )
        for payload in payloads([one["data"]]):
            assert publications[0].offer(payload) > 0
        sink.poll()

    replay.run("server", on_own, begin_us=0)

    sent = replay.sent_to(*{one["src_port"] for one in theirs})
    response_port = next(one["src_port"] for one in theirs if one["dst_port"] == RESPONSES)
    assert announcements(sent) == announcements(ours)
    assert setups(sent) == setups(ours) == setups(replay.sent_to(response_port))
    assert payloads(sent) == payloads(ours) == payloads(replay.sent_to(response_port))
    assert windows(sent) == windows(ours)
    assert sink.all == payloads([one["data"] for one in theirs])
