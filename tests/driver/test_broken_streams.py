"""Clients that store invalid positions break their own stream at most; other streams continue."""

import pytest

from aeron_core._native.counter import AtomicCounter
from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, S

IPC = "aeron:ipc"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
OTHER_CHANNEL = "aeron:udp?endpoint=10.0.0.2:20122"
TERM_LENGTH = 64 * 1024
MESSAGES = [n.to_bytes(8, "little") * 100 for n in range(500)]


class Flow:
    """A stream with a correct publisher and subscriber."""

    def __init__(self, simulation, channel, stream_id):
        self._simulation = simulation
        self.subscription = simulation.add_subscription(channel, stream_id)
        self.publication = simulation.add_exclusive_publication(channel, stream_id)
        simulation.run_until(lambda: self.publication.available_window and self.subscription.is_connected)
        self._feed, self._sink = Feed(self.publication, MESSAGES), Sink(self.subscription)

    def carries_everything(self):
        self._simulation.run_until(
            lambda: (self._feed.offer(), self._sink.poll(), len(self._sink.all) == len(MESSAGES))[-1],
            within_ns=30 * S,
        )
        return self._sink.all == MESSAGES


def counter_of(driver, prefix):
    return AtomicCounter(driver.cnc.counters_values, driver.find_counter(prefix).id)


@pytest.mark.parametrize("nonsense", [TERM_LENGTH - 3, 4097, -1, 2**62 + 1, -(2**63)])
def test_an_invalid_subscriber_position_harms_no_other_ipc_stream(lone, nonsense):
    broken, other = Flow(lone, IPC, 1), Flow(lone, IPC, 2)
    position = counter_of(lone.driver, f"sub-pos: {broken.subscription.registration_id}")
    Feed(broken.publication, MESSAGES[:20]).offer()

    for value in (nonsense, 0, nonsense, TERM_LENGTH + 8192):
        position.set_release(value)
        lone.run_for(10 * MS)

    assert other.carries_everything()
    assert lone.driver.errors() == []


@pytest.mark.parametrize("nonsense", [TERM_LENGTH - 3, 4097, -1, 2**62 + 1, -(2**63)])
def test_an_invalid_subscriber_position_harms_no_other_image(pair, nonsense):
    broken, other = Flow(pair, CHANNEL, 1), Flow(pair, CHANNEL, 2)
    position = counter_of(pair.receiver, f"sub-pos: {broken.subscription.registration_id}")
    Feed(broken.publication, MESSAGES[:20]).offer()

    for value in (nonsense, 0, nonsense, TERM_LENGTH + 8192):
        position.set_release(value)
        pair.run_for(10 * MS)

    assert other.carries_everything()
    assert pair.receiver.errors() == []


@pytest.mark.parametrize("nonsense", [2**62 + 1, -(2**63)])
def test_an_invalid_position_does_not_stop_other_subscribers_of_the_image(pair, nonsense):
    broken = pair.add_subscription(CHANNEL, 1)
    flow = Flow(pair, CHANNEL, 1)
    pair.run_until(lambda: broken.is_connected)
    position = counter_of(pair.receiver, f"sub-pos: {broken.registration_id}")
    position.set_release(nonsense)
    pair.run_for(300 * MS)

    broken.close()

    assert flow.carries_everything()


def test_a_sender_position_inside_a_frame_harms_no_other_stream(pair):
    broken, other = Flow(pair, CHANNEL, 1), Flow(pair, CHANNEL, 2)
    position = counter_of(pair.sender, f"snd-pos: {broken.publication.registration_id}")

    for value in (2 * TERM_LENGTH - 3, 3 * TERM_LENGTH, 4 * TERM_LENGTH):
        position.set_release(value)
        pair.run_for(1 * MS)

    assert other.carries_everything()
    assert pair.sender.errors() == []


@pytest.mark.parametrize("which_is_broken", [0, 1])
@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_broken_socket_does_not_stop_other_channels(pair, side, which_is_broken):
    flows = [Flow(pair, CHANNEL, 1), Flow(pair, OTHER_CHANNEL, 2)]
    driver = getattr(pair, side)
    registrars = driver.media_driver._assembly.conductor.registrars
    broken = registrars.endpoints()[which_is_broken]

    broken.transport.close_endpoint(broken.native)

    assert flows[1 - which_is_broken].carries_everything()
    assert all("is closed" in record.text for record in driver.errors())
    assert driver.errors()
