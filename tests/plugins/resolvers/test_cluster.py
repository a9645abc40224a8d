"""Gossip in a cluster of many drivers, on the manual clock."""

import pytest

from aeron_core.testing.network import SimulatedLink
from aeron_core.testing.pair import MS, S, Simulation

SIZE = 50


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Fifty drivers that begin as a tree: each but the first knows the one above it."""
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
        simulation.seconds_to_converge = simulation.run_until(lambda: fewest(simulation) == SIZE - 1) / S
        yield simulation


def fewest(simulation):
    """Return how many names that driver knows which knows fewest."""
    return min(driver.counters.value(driver.names_counter_id) for driver in simulation.drivers)


def test_what_a_driver_knows_reaches_twice_as_far_with_each_round(cluster):
    # The farthest two are ten steps of the tree from one another.
    assert cluster.seconds_to_converge < 4 * 2 + 0.1


def test_each_tells_each_and_no_more(cluster):
    cluster.run_for(2 * S)
    before = len(cluster.network.log)

    cluster.run_for(4 * S)

    assert (len(cluster.network.log) - before) / 4 == 1.5 * SIZE * (SIZE - 1)


def test_a_driver_that_is_gone_is_forgotten_by_all(cluster):
    cluster.drivers.pop().close()

    cluster.run_until(lambda: fewest(cluster) == SIZE - 2, within_ns=12 * S)
    cluster.run_for(3 * S)

    assert fewest(cluster) == SIZE - 2
