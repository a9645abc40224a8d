"""Bootstrap neighbors of a driver, and the resolver that it falls back to."""

import pytest
from gossiping import names, start, value

from aeron_core.errors import ConfigurationError
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing.pair import MS, S, Simulation


def test_a_bootstrap_name_is_resolved_off_the_conductor_and_again_while_it_does_not_answer(simulation):
    lookups = []
    simulation.start_lookup = lookups.append
    one = start(simulation, "one", "127.0.0.1", "localhost:8051")
    simulation.run_for(15 * S)
    assert len(lookups) == 1
    assert one.find_counter("Bootstrap").label.endswith("resolved=")

    lookups.pop()()
    simulation.run_for(15 * S)

    assert one.find_counter("Bootstrap").label.endswith("resolved=127.0.0.1:8051")
    assert len(lookups) == 1


def test_an_unknown_bootstrap_host_is_reported(simulation):
    one = start(simulation, "one", "127.0.0.1", "no-such-host.invalid:8051")

    simulation.run_for(1 * S)

    (error,) = one.errors()
    assert "'no-such-host.invalid:8051'" in error.text
    assert "Unable to resolve host=(no-such-host.invalid)" in error.text


@pytest.mark.parametrize("wrong", ["just:wrong", "no-port", "127.0.0.1:99999", "no-such-host.invalid:8051"])
def test_a_bootstrap_that_cannot_be_resolved_is_reported_and_the_next_one_is_tried(simulation, wrong):
    start(simulation, "two", "127.0.0.2")
    one = start(simulation, "one", "127.0.0.1", wrong, "127.0.0.2:8050")

    simulation.run_for(15 * S)

    (error,) = one.errors()
    assert f"bootstrap neighbour '{wrong}': " in error.text
    assert f"Unresolved - bootstrap_neighbor={wrong}, name-and-port={wrong}" in error.text
    assert value(one, "Resolver neighbors") == 1
    assert one.find_counter(f"Bootstrap neighbor: name={wrong}").label.endswith("resolved=")
    assert value(one, "Bootstrap neighbor: name=127.0.0.2:8050") == 1


ROWS = "service,10.0.0.3,10.0.0.4|first,10.0.0.1,10.0.0.1"


def test_other_names_are_resolved_by_the_fallback(simulation):
    one = start(
        simulation, "one", "10.0.0.1", resolver_fallback="csv_table", resolver_fallback_init_args=ROWS
    )
    client = simulation.add_driver("10.0.0.3").connect()
    subscription = simulation.result(client.add_subscription_async("aeron:udp?endpoint=10.0.0.3:20121", 1))

    publication = simulation.result(
        one.connect().add_publication_async("aeron:udp?endpoint=service:20121", 1)
    )

    simulation.run_until(lambda: publication.is_connected and subscription.is_connected)
    assert value(one, "NameEntry{name='service'") == 0


def test_bootstrap_names_are_resolved_by_the_fallback(simulation):
    one = start(simulation, "one", "10.0.0.1")

    two = start(
        simulation,
        "two",
        "10.0.0.2",
        "first:8050",
        resolver_fallback="csv_table",
        resolver_fallback_init_args=ROWS,
    )

    simulation.run_until(lambda: names(one) == 1)
    assert two.find_counter("Bootstrap neighbor: name=first:8050").label.endswith("resolved=10.0.0.1:8050")


class Directory:
    """A plugin with a resolver that maps service names to host and port, and host names to addresses."""

    def __init__(self, services, hosts):
        self._services = services
        self._hosts = hosts

    def lookup(self, name, uri_key, is_re_lookup):
        return self._services[name] if uri_key == "bootstrap_neighbor" else name

    def resolve(self, host, uri_key, is_re_resolution):
        return self._hosts[host]

    @hookimpl
    def aeron_name_resolvers(self):
        return {"directory": lambda params: self}


@pytest.mark.parametrize("service", ["10.0.0.1:8050", "first:8050"])
def test_a_bootstrap_name_without_a_port_is_looked_up_by_the_fallback(tmp_path, service):
    plugin = Directory({"seed": service}, {"first": "10.0.0.1"})
    with Simulation(tmp_path, plugins=[plugin], idle_step_ns=5 * MS) as simulation:
        one = start(simulation, "one", "10.0.0.1")

        two = start(simulation, "two", "10.0.0.2", "seed", resolver_fallback="directory")

        simulation.run_until(lambda: names(one) == 1)
        assert two.find_counter("Bootstrap neighbor: name=seed").label.endswith("resolved=10.0.0.1:8050")


def test_a_bootstrap_is_looked_up_again_after_its_resolver_failed(tmp_path):
    plugin = Directory({"seed": "first:8050"}, {"first": "no address"})
    with Simulation(tmp_path, plugins=[plugin], idle_step_ns=5 * MS) as simulation:
        one = start(simulation, "one", "10.0.0.1")
        two = start(simulation, "two", "10.0.0.2", "seed", resolver_fallback="directory")
        simulation.run_for(1 * S)
        assert "bootstrap neighbour 'seed': " in two.errors()[0].text

        plugin._hosts["first"] = "10.0.0.1"

        simulation.run_until(lambda: names(one) == 1, within_ns=15 * S)


def test_the_driver_resolver_cannot_be_its_own_fallback(simulation):
    with pytest.raises(
        ConfigurationError, match="resolver_fallback=driver: must be a resolver without gossip"
    ):
        start(simulation, "one", "10.0.0.1", resolver_fallback="driver")
