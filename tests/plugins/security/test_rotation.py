"""Keys change under load, at a socket that loses datagrams, and secrets change without an interruption."""

import contextlib

import pytest

from aeron_core.testing import DriverPair, SimulatedLink, Simulation
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"
SECRET, OTHER = bytes(range(32)), bytes(range(100, 132))
ROTATIONS = 1000


class Load:
    """A message each 20 ms; `step` returns the number that has arrived, in order and once."""

    def __init__(self, publication, subscription):
        self._publication, self._subscription = publication, subscription
        self.offered = self.arrived = 0

    def step(self):
        if self._publication.offer(self.offered.to_bytes(8, "little")) > 0:
            self.offered += 1
        self._subscription.poll(self._take, 50)
        return self.arrived

    def _take(self, buffer, _):
        assert int.from_bytes(buffer, "little") == self.arrived
        self.arrived += 1


def value(driver, name):
    return driver.find_counter(f"security-{name}: ").value


@pytest.fixture(params=["group", "identities"])
def start(request, tmp_path, key_file, identities, start_pair):
    """Return a function that starts two drivers of one mode, which rotate each second."""
    if request.param == "identities":
        identities.options["rotation_interval"] = "1s"
        yield start_pair
        return
    profiles = {"orders": {"secret_file": key_file(), "rotation_interval": "1s"}}
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            DriverPair(tmp_path, security_profiles=profiles, **settings)
        )


def test_a_thousand_rotations_lose_no_message(start):
    link = SimulatedLink(loss=0.05, duplication=0.01)
    with start(link=link, term_buffer_length="64k", timer_interval_ns=100 * MS) as pair:
        subscription = pair.add_subscription(CHANNEL, 1001)
        publication = pair.add_publication(CHANNEL, 1001)
        pair.run_until(lambda: publication.is_connected and subscription.is_connected)
        load = Load(publication, subscription)
        pair.busy_step_ns = pair.idle_step_ns = 20 * MS

        pair.run_for((ROTATIONS + 1) * S, each=load.step)
        pair.run_until(lambda: load.step() >= ROTATIONS, within_ns=10 * S)

        for driver in (pair.sender, pair.receiver):
            # A round in which nothing is sent delays one: a receiver may send only a status message each 200 ms.
            assert value(driver, "rotations") >= 0.9 * ROTATIONS
            assert driver.errors() == []
            # At the start, and never again.
            assert value(driver, "refused-unproved") < 10
        assert load.arrived > 45 * ROTATIONS


@pytest.mark.parametrize("first", ["sender", "receiver"])
def test_a_secret_is_replaced_in_three_steps(tmp_path, key_file, first):
    old, new = key_file(SECRET, "old"), key_file(OTHER, "new")
    steps = [
        {"secret_file": old, "accepted_secret_files": new},
        {"secret_file": new, "accepted_secret_files": old},
        {"secret_file": new},
    ]

    states = [({"secret_file": old}, {"secret_file": old})]
    for step in steps:
        before = states[-1]
        # One driver is one step ahead of the other.
        states.append((step, before[1]) if first == "sender" else (before[0], step))
        states.append((step, step))

    for number, (ours, theirs) in enumerate(states):
        with Simulation(tmp_path / str(number)) as simulation:
            sender = simulation.add_driver("10.0.0.1", security_profiles={"orders": ours})
            receiver = simulation.add_driver("10.0.0.2", security_profiles={"orders": theirs})
            subscription = simulation.result(receiver.connect().add_subscription_async(CHANNEL, 1001))
            publication = simulation.result(sender.connect().add_publication_async(CHANNEL, 1001))
            load = Load(publication, subscription)
            simulation.run_until(lambda load=load: load.step() >= 20)
            assert sender.errors() == receiver.errors() == []
