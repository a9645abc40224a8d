"""Long sleeps of data agents: only while no stream needs them."""

import socket
import time

import pytest

from aeron_core import connect
from aeron_core._native import wire
from aeron_core.agent.idle_strategies import BackoffIdleStrategy
from aeron_core.concurrent.wake_up import Bells
from aeron_core.driver._native import operations
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.file_access import PRIVATE
from aeron_core.protocol.frames import DataHeader, Setup, StatusMessage
from aeron_core.settings.models import ClientSettings
from aeron_core.testing import IdleStrategyProbe, encode_frame
from aeron_core.testing.pair import MS, S

REST_S = 0.08
#: A busy machine can delay any single sleep: the shortest of several is compared.
TRIES = 5


def agent_of(driver, role):
    assembly = driver._assembly
    return assembly.receiver if role == "receiver" else assembly.context.senders.first.agent


def shortest_sleep_s(driver, folder, role="sender"):
    """Return the duration of a sleep of an agent with nothing to do: a millisecond, or up to REST_S if it may rest."""
    strategy = BackoffIdleStrategy(0, 0, MS, MS)
    bell = Bells(folder, PRIVATE).add([role])
    strategy.attach(agent_of(driver.media_driver, role), bell, int(REST_S * 1e9))
    probe = IdleStrategyProbe(strategy)
    probe.idle(0)  # arms the bell
    probe.idle(0)  # waits for a millisecond
    durations_s = []
    for _ in range(TRIES):
        started_s = time.monotonic()
        probe.idle(0)
        durations_s.append(time.monotonic() - started_s)
    return min(durations_s)


def is_resting(lone, folder, *, rings, term_length):
    """Return whether the sender of an IPC stream rests whose subscriber has read everything."""
    channel = f"aeron:ipc?term-length={term_length}"
    subscription = lone.add_subscription(channel, 1)
    publication = lone.add_publication(channel, 1)
    lone.run_until(lambda: publication.is_connected and publication.available_window)
    # No client of a simulation rings.
    (lifecycle,) = lone.drivers[0].media_driver._assembly.conductor.registrars.ipc.lifecycles
    lifecycle._publication.is_rung.set_release(rings)
    assert publication.offer(bytes(1000)) > 0
    lone.run_for(20 * MS)
    lone.run_until(subscription.poll_many)
    lone.run_for(20 * MS)
    return shortest_sleep_s(lone.drivers[0], folder) >= REST_S


@pytest.mark.parametrize(
    ("rings", "term_length", "rests"),
    [(1, "64k", True), (0, "64k", False), (0, "64m", True)],
    ids=["rings", "short-window", "long-window"],
)
def test_publishers_of_shared_memory_that_do_not_ring_need_a_window_for_a_long_sleep(
    lone, tmp_path, rings, term_length, rests
):
    assert is_resting(lone, tmp_path, rings=rings, term_length=term_length) is rests


def test_a_client_that_does_not_ring_is_noted_at_its_publication(lone):
    lone.add_publication("aeron:ipc", 1)

    (lifecycle,) = lone.drivers[0].media_driver._assembly.conductor.registrars.ipc.lifecycles
    assert lifecycle._publication.is_rung.get_acquire() == 0


class Played:
    """A driver with real sockets that the test steps, and a peer that the test plays."""

    def __init__(self, directory):
        settings = {
            "aeron_dir": directory / "aeron",
            "threading_mode": "INVOKER",
            "term_buffer_length": "64k",
        }
        self.driver = MediaDriver.launch(settings)
        self._client = connect(
            settings=ClientSettings(aeron_dir=self.driver.aeron_dir, use_conductor_agent_invoker=True)
        )
        self.peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.peer.bind(("127.0.0.1", 0))

    def close(self):
        self.peer.close()
        self._client.close()
        self.driver.close()

    def run_until(self, condition):
        deadline_s = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline_s
            self._client.do_work()
            self.driver.do_work()

    def run_for(self, seconds):
        end_s = time.monotonic() + seconds
        self.run_until(lambda: time.monotonic() >= end_s)

    def add(self, registration):
        self.run_until(lambda: registration.is_done)
        return registration.poll()

    def publish_quietly(self, count):
        """Publish streams whose receiver has sent one status message each, as if their publishers rang."""
        port = self.peer.getsockname()[1]
        for number in range(count):
            start = f"session-id={number}|init-term-id=0|term-id=0|term-offset=0"
            channel = f"aeron:udp?endpoint=127.0.0.1:{port}|{start}"
            publication = self.add(self._client.add_exclusive_publication_async(channel, 7))
            _, driver = self.peer.recvfrom(2048)
            message = StatusMessage(session_id=number, stream_id=7, receiver_id=5, receiver_window=4096)
            self.peer.sendto(encode_frame(message), driver)
            self.run_until(lambda each=publication: each.is_connected)
        # A driver without threads has no bells.
        for lifecycle in self.driver._assembly.conductor.registrars.network.lifecycles:
            lifecycle._publication.is_rung.set_release(1)

    def subscribe_quietly(self, count):
        """Subscribe to streams whose sender has sent a SETUP and a heartbeat each."""
        subscription = self.add(self._client.add_subscription_async("aeron:udp?endpoint=127.0.0.1:0", 7))
        self.run_until(subscription.resolved_channel)
        port = int(subscription.resolved_channel().rpartition(":")[2])
        for number in range(count):
            ids = {"session_id": number, "stream_id": 7}
            self.peer.sendto(encode_frame(Setup(term_length=65536, mtu=1408, **ids)), ("127.0.0.1", port))
            self.run_until(lambda images=number + 1: len(subscription.images) == images)
            self.peer.sendto(encode_frame(DataHeader(frame_type=wire.TYPE_DATA, **ids)), ("127.0.0.1", port))
            self.run_until(lambda count=number + 1: self.counted("heartbeats_received") == count)

    def counted(self, name):
        return getattr(self.driver._assembly.context.system_counters, name).get()


@pytest.fixture
def played(tmp_path):
    played = Played(tmp_path)
    yield played
    played.close()


@pytest.mark.parametrize("streams", [1, 3 * operations.QUIET_STREAMS_PER_CYCLE])
@pytest.mark.parametrize(
    ("role", "begin", "sends"),
    [
        ("sender", Played.publish_quietly, "heartbeats_sent"),
        ("receiver", Played.subscribe_quietly, "status_messages_sent"),
    ],
)
def test_a_long_sleep_ends_when_the_next_timer_of_a_quiet_stream_is_due(
    played, tmp_path, streams, role, begin, sends
):
    begin(played, streams)
    played.run_for(0.3)
    strategy = BackoffIdleStrategy(0, 0, MS, MS)
    strategy.attach(agent_of(played.driver, role), Bells(tmp_path, PRIVATE).add([role]), 3_600 * S)
    probe = IdleStrategyProbe(strategy)
    probe.idle(0)  # arms the bell
    probe.idle(0)  # waits for a millisecond
    played.driver.do_work()
    sent = played.counted(sends)

    probe.idle(0)
    assert played.counted(sends) == sent
    played.driver.do_work()

    assert played.counted(sends) > sent
