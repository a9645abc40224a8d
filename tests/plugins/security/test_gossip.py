"""Names that drivers exchange are sealed with `resolver_security`."""

import pytest
from secure_udp import FRAMES, open_sealed

from aeron_core.testing.pair import MS, S, Simulation

SECRET = bytes(range(32))


@pytest.fixture
def simulation(tmp_path):
    with Simulation(tmp_path, idle_step_ns=5 * MS) as made:
        yield made


def start(simulation, profiles, number, *neighbors, security="orders"):
    return simulation.add_driver(
        f"10.0.0.{number}",
        name_resolver="driver",
        resolver_name=f"node-{number}",
        resolver_interface=f"10.0.0.{number}:8050",
        resolver_bootstrap_neighbors=neighbors,
        security_profiles=profiles,
        resolver_security=security,
    )


def names(driver):
    return driver.find_counter("Resolver cache entries").value


def test_drivers_exchange_names_in_sealed_datagrams(simulation, profiles):
    drivers = [start(simulation, profiles, 1)]
    drivers += [start(simulation, profiles, number, f"10.0.0.{number - 1}:8050") for number in range(2, 5)]

    simulation.run_until(lambda: all(names(driver) == 3 for driver in drivers), within_ns=30 * S)
    simulation.run_for(3 * S)

    opened = [open_sealed(SECRET, 1, line.data) for line in simulation.network.log]
    assert {each.role for each in opened} == {2}
    assert any(each.kind == FRAMES and b"node-3" in each.content for each in opened)
    assert not any(b"node-" in line.data for line in simulation.network.log)
    assert [driver.errors() for driver in drivers] == [[]] * 4
    assert drivers[0].find_counter("security-opened: name resolver").value > 0


@pytest.mark.parametrize("other", ["other", None])
def test_a_driver_with_another_security_is_not_accepted(simulation, profiles, other):
    one = start(simulation, profiles, 1)
    two = start(simulation, profiles, 2, "10.0.0.1:8050", security=other)

    simulation.run_for(15 * S)

    assert (names(one), names(two)) == (0, 0)
    assert simulation.network.sent(source="10.0.0.1") == []
    (record,) = one.errors()
    assert "datagram for the name resolver: refused a datagram: it is " in record.text
    assert record.last_peer == "10.0.0.2:8050"
