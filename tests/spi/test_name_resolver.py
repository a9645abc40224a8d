"""Third-party name resolvers: that of the how-to page, one with work of its own, and failing ones."""

import json
import re
import types
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from aeron_core.errors import RegistrationError
from aeron_core.settings.model import SettingsModel
from aeron_core.settings.variables import Text
from aeron_core.spi import NameResolverParams, WorkingNameResolver, hookimpl
from aeron_core.testing import DriverUnderTest
from aeron_core.testing.conformance import NameResolverConformance
from aeron_core.testing.pair import MS, S

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-name-resolver.md"


def how_to_module():
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0]
    module = types.ModuleType("inventory_names")
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    return module


@pytest.fixture
def inventory(tmp_path):
    path = tmp_path / "services.json"
    path.write_text(
        json.dumps({"services": {"orders": "node-1:20121"}, "hosts": {"node-1": "127.0.0.1"}}),
        encoding="utf-8",
    )
    return path


class TestInventoryNameResolver(NameResolverConformance):
    known_name = "orders"

    @pytest.fixture(autouse=True)
    def _take(self, inventory):
        self.params = NameResolverParams(options=str(inventory))

    def make(self, params):
        return how_to_module().InventoryNameResolver(params)


def test_the_documented_resolver_resolves_host_and_port_and_may_change_at_run_time(tmp_path, inventory):
    with DriverUnderTest(
        tmp_path,
        plugins=[how_to_module()],
        name_resolver="inventory",
        name_resolver_init_args=str(inventory),
    ) as simulation:
        subscription = simulation.add_subscription("aeron:udp?endpoint=127.0.0.1:20121", 1001)
        publication = simulation.add_publication("aeron:udp?endpoint=orders", 1001)
        simulation.run_until(lambda: publication.is_connected and subscription.is_connected)

        inventory.write_text(json.dumps({"hosts": {"node-2": "127.0.0.1"}}), encoding="utf-8")

        assert simulation.add_publication("aeron:udp?endpoint=node-2:20122", 1001)


class Working:
    """A resolver that counts its duty cycles, and whose methods can be made to fail."""

    def __init__(self, params, fault=None):
        self.params = params
        self.fault = fault
        self.is_closed = False

    def start(self, context):
        self.counter = context.new_counter(4711, "stranger's cycles", b"key")

    def do_work(self, now_ns):
        self.counter.increment_release()
        if self.fault == "do_work":
            raise RuntimeError("a stranger's mistake")
        return 0

    def close(self):
        self.is_closed = True

    def lookup(self, name, uri_key, is_re_lookup):
        if self.fault == "lookup":
            raise RuntimeError("a stranger's mistake")
        return name

    def resolve(self, host, uri_key, is_re_resolution):
        return "no address" if self.fault == "resolve" else "127.0.0.1"


class Stranger:
    def __init__(self, fault=None):
        self.fault = fault
        self.made = []

    @hookimpl
    def aeron_name_resolvers(self):
        return {"stranger": self.make}

    def make(self, params):
        self.made.append(Working(params, self.fault))
        return self.made[-1]


@pytest.fixture
def start(tmp_path):
    simulations = []

    def start_one(plugin, **settings):
        simulations.append(DriverUnderTest(tmp_path, plugins=[plugin], name_resolver="stranger", **settings))
        return simulations[-1]

    yield start_one
    for simulation in simulations:
        simulation.close()


def test_a_working_resolver_is_called_in_each_duty_cycle_and_closed_at_the_end(start):
    plugin = Stranger()
    simulation = start(plugin)
    (resolver,) = plugin.made

    simulation.run_for(100 * MS)

    counter = simulation.driver.find_counter("stranger's cycles")
    assert isinstance(resolver, WorkingNameResolver)
    assert (counter.type_id, counter.key[:3], counter.value >= 100) == (4711, b"key", True)
    simulation.driver.close()
    assert resolver.is_closed


def test_a_resolver_is_created_from_the_settings(start):
    plugin = Stranger()

    start(
        plugin,
        name_resolver_init_args="some text",
        resolver_name="here",
        resolver_interface="127.0.0.1:8050",
        resolver_bootstrap_neighbors=("there:8050",),
        resolver_neighbor_timeout_ns=3 * S,
    )

    assert plugin.made[0].params == NameResolverParams(
        options="some text",
        driver_name="here",
        interface="127.0.0.1:8050",
        bootstrap_neighbors=("there:8050",),
        neighbor_timeout_ns=3 * S,
        settings=plugin.made[0].params.settings,
        fallback=plugin.made[0].params.fallback,
    )


class WithSection(Stranger):
    """A plugin with a section of settings of its own."""

    @hookimpl
    def aeron_settings(self):
        return {"stranger": StrangerSettings}


class StrangerSettings(SettingsModel):
    table: Annotated[str, Text("AERON_STRANGER_TABLE")] = Field("", description="Name of the table.")


@pytest.mark.parametrize("role", ["name_resolver", "resolver_fallback"])
def test_a_resolver_and_a_fallback_get_the_settings_of_their_plugin(tmp_path, monkeypatch, role):
    monkeypatch.setenv("AERON_STRANGER_TABLE", "inventory")
    plugin = WithSection()

    with DriverUnderTest(tmp_path, plugins=[plugin], **{role: "stranger"}):
        assert plugin.made[0].params.settings["stranger"].table == "inventory"


def test_a_resolver_outside_a_driver_gets_no_settings():
    assert NameResolverParams().settings == {}


def test_names_unknown_to_the_documented_resolver_are_resolved_by_the_operating_system(tmp_path, inventory):
    with DriverUnderTest(
        tmp_path,
        plugins=[how_to_module()],
        name_resolver="inventory",
        name_resolver_init_args=str(inventory),
    ) as simulation:
        assert simulation.add_subscription("aeron:udp?endpoint=localhost:20121", 1001)


def test_a_resolver_may_fall_back_to_the_one_that_the_settings_name(start):
    plugin = Stranger()

    start(
        plugin,
        resolver_fallback="csv_table",
        resolver_fallback_init_args="service,10.0.0.3,10.0.0.4",
    )

    assert plugin.made[0].params.fallback.resolve("service", "endpoint", False) == "10.0.0.3"


def test_a_resolver_outside_a_driver_falls_back_to_one_that_resolves_nothing():
    fallback = NameResolverParams().fallback

    assert fallback.lookup("a:1", "endpoint", False) == "a:1"
    assert fallback.resolve("localhost", "endpoint", False) is None


def test_a_resolver_that_raises_in_do_work_is_reported_once_and_the_driver_continues(start):
    simulation = start(Stranger("do_work"))

    simulation.run_for(1 * S)

    (error,) = simulation.driver.errors()
    assert "name resolver: RuntimeError: a stranger's mistake" in error.text
    assert simulation.add_publication("aeron:udp?endpoint=somewhere:20121", 1001)


@pytest.mark.parametrize("fault", ["lookup", "resolve"])
def test_a_failed_look_up_rejects_the_command_and_the_driver_continues(start, fault):
    simulation = start(Stranger(fault))
    registration = simulation.client.add_publication_async("aeron:udp?endpoint=somewhere:20121", 1001)
    simulation.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError):
        registration.poll()
    assert simulation.add_publication("aeron:ipc", 1001)
