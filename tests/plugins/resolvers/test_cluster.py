"""Gossip in a cluster of many drivers, on the manual clock."""

import pytest

from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.pair import MS, S, Simulation

SIZE = 32


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Thirty-two drivers bootstrapped as a tree: each but the first knows its parent."""
    with Simulation(
        tmp_path_factory.mktemp("cluster"),
        link=SimulatedLink(latency_ns=1 * MS),
        busy_step_ns=10 * MS,
        idle_step_ns=10 * MS,
    ) as simulation:
        for number in range(1, SIZE + 1):
            simulation.add_driver(
                f"10.0.0.{number}",
                name_resolver="driver",
                resolver_name=f"node-{number}",
                resolver_interface=f"10.0.0.{number}:8050",
                resolver_bootstrap_neighbors=(f"10.0.0.{number // 2 or 1}:8050",) if number > 1 else (),
            )
        for driver in simulation.drivers:
            driver.names_counter_id = driver.find_counter("Resolver cache").id
        simulation.seconds_to_converge = (
            simulation.run_until(lambda: fewest_names(simulation) == SIZE - 1) / S
        )
        # What follows takes seconds of simulated time, and depends on the intervals of gossip only.
        simulation.busy_step_ns = simulation.idle_step_ns = 25 * MS
        yield simulation


def fewest_names(simulation):
    """Return the smallest number of names that any driver knows."""
    return min(driver.counters.value(driver.names_counter_id) for driver in simulation.drivers)


def test_names_spread_twice_as_far_in_each_round(cluster):
    # The longest path in the tree has nine steps.
    assert cluster.seconds_to_converge < 4 * 2 + 0.1


def test_each_driver_sends_to_each_other_driver_once_per_interval(cluster):
    cluster.run_for(2 * S)
    before = len(cluster.network.log)

    cluster.run_for(4 * S)

    assert (len(cluster.network.log) - before) / 4 == 1.5 * SIZE * (SIZE - 1)


def test_a_closed_driver_is_removed_by_all_others(cluster):
    cluster.drivers.pop().close()

    cluster.run_until(lambda: fewest_names(cluster) == SIZE - 2, within_ns=12 * S)
    cluster.run_for(3 * S)

    assert fewest_names(cluster) == SIZE - 2
