"""Hosts whose clocks differ by hours: keys depend on no common time, and entries of a list expire by the host's own."""

import contextlib

import pytest
from hosts import DYNAMIC, SECURED, Load

from aeron_core._native.clock import Clock
from aeron_core.testing import SimulatedLink, Simulation
from aeron_core.testing.pair import MS, S

HOUR_MS = 3_600_000
NOW_MS = 1_700_000_000_000
BACK = f"aeron:udp?endpoint=10.0.0.1:20001|{DYNAMIC.replace('10.0.0.1', '10.0.0.2')}"


def clock(hours):
    """Return a clock that is ahead of others by `hours`; hosts have also been up for different times."""
    return Clock.manual(now_ns=(100 + hours) * 3600 * S, epoch_ms=NOW_MS + hours * HOUR_MS)


@pytest.fixture(params=["group", "identities"])
def start(request, tmp_path, key_file, identities):
    """Return a function that starts hosts "one" and "two", whose clocks differ; keys rotate each second."""
    with contextlib.ExitStack() as stack:

        def begin(ahead, loss=0.0):
            if request.param == "identities":
                identities.options["rotation_interval"] = "1s"
                profiles = [identities.profiles("one", "two"), identities.profiles("two", "one")]
            else:
                profiles = [{"orders": {"secret_file": key_file(), "rotation_interval": "1s"}}] * 2
            simulation = stack.enter_context(Simulation(tmp_path, link=SimulatedLink(loss=loss)))
            for address, each, hours in (("10.0.0.1", profiles[0], 0), ("10.0.0.2", profiles[1], ahead)):
                simulation.add_driver(
                    address, clock=clock(hours), security_profiles=each, timer_interval_ns=100 * MS
                )
            return simulation

        yield begin


def streams(simulation):
    """Return loads of a stream in each direction; each host is the one whose status messages are challenged, too."""
    one, two = (driver.connect() for driver in simulation.drivers)
    loads = []
    for sender, receiver, sending, receiving in (
        (one, two, SECURED, SECURED),
        (two, one, f"aeron:udp?{DYNAMIC.replace('10.0.0.1', '10.0.0.2')}", BACK),
    ):
        subscription = simulation.result(receiver.add_subscription_async(receiving, 1001))
        publication = simulation.result(sender.add_publication_async(sending, 1001))
        simulation.run_until(lambda p=publication, s=subscription: p.is_connected and s.is_connected)
        loads.append(Load(publication, subscription))
    return loads


def step_all(loads):
    for load in loads:
        load.step()


@pytest.mark.parametrize("ahead", [-7, 30])
def test_hosts_whose_clocks_differ_agree_on_keys_and_rotate_them_without_a_loss(start, ahead):
    simulation = start(ahead, loss=0.05)
    loads = streams(simulation)
    simulation.busy_step_ns = simulation.idle_step_ns = 5 * MS
    refused = [
        sum(each.value for each in driver.find_counters("security-refused-unproved"))
        for driver in simulation.drivers
    ]

    simulation.run_for(30 * S, each=lambda: step_all(loads))
    # The wall clock of one host is corrected during the streams.
    simulation.drivers[1].clock.step(-ahead * HOUR_MS * MS)
    simulation.run_for(30 * S, each=lambda: step_all(loads))

    for load in loads:
        assert load.arrived > 5000
    for driver, before in zip(simulation.drivers, refused, strict=True):
        assert driver.errors() == []
        for rotations in driver.find_counters("security-rotations"):
            assert rotations.value >= 50
        after = sum(each.value for each in driver.find_counters("security-refused-unproved"))
        assert after == before


@pytest.mark.parametrize("start", ["identities"], indirect=True)
@pytest.mark.parametrize("ahead", [-7, 7])
def test_an_entry_expires_by_the_clock_of_the_host_whose_list_it_is_in(start, identities, ahead):
    simulation = start(ahead)
    (load, _) = streams(simulation)
    host = simulation.drivers[1]
    simulation.busy_step_ns = simulation.idle_step_ns = 1 * MS

    identities.allow("two", "one", until_ms=host.clock.epoch_ms() + 2000)
    simulation.run_for(1500 * MS, each=load.step)
    assert rekeys(host) == 0
    before = load.arrived
    simulation.run_for(900 * MS, each=load.step)
    after = load.arrived
    simulation.run_for(1 * S, each=load.step)

    assert 0 < before < after == load.arrived
    assert rekeys(host) == 2


def rekeys(driver):
    """Return how often secrets of the driver's sockets were replaced, because a peer is no longer allowed."""
    return sum(each.value for each in driver.find_counters("security-rekeys"))
