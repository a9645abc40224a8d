import aeron_congestion.plugin
import aeron_flow_control.plugin
import aeron_media.ipc.plugin
import aeron_media.udp.plugin
import aeron_resolvers.plugin
import pytest
import typer
from aeron_flow_control import max_flow_control
from aeron_flow_control.max_flow_control import MaxFlowControl

import aeron_core.agent.plugin
import aeron_core.recording.plugin
from aeron_core.driver.startup_settings import PluginSections
from aeron_core.errors import ChannelUriError, PluginError
from aeron_core.protocol.frames import StatusMessage
from aeron_core.registry import Registry
from aeron_core.settings.driver import DriverFields
from aeron_core.spi import (
    FlowControl,
    FlowControlParams,
    IdleStrategyParams,
    NameResolverParams,
    hookimpl,
)
from aeron_core.testing import FlowControlProbe

BUILT_INS = [
    aeron_core.agent.plugin,
    aeron_flow_control.plugin,
    aeron_congestion.plugin,
    aeron_resolvers.plugin,
    aeron_media.udp.plugin,
    aeron_media.ipc.plugin,
]
PARAMS = FlowControlParams("aeron:udp?endpoint=a:1", 1, 2, 3, 0, 65536, 1408, False)


class Stranger:
    """A plugin with one flow control, `mine`."""

    def __init__(self, factory=MaxFlowControl):
        self._factory = factory

    @hookimpl
    def aeron_flow_controls(self):
        return {"mine": self._factory}


@pytest.fixture
def registry():
    made = Registry()
    for plugin in BUILT_INS:
        made.register(plugin)
    return made


@pytest.mark.parametrize(
    ("hook", "names"),
    [
        ("aeron_media_transports", ["ipc", "udp"]),
        ("aeron_flow_controls", ["max", "unicast"]),
        ("aeron_congestion_controls", ["default", "static"]),
        ("aeron_name_resolvers", ["default", "driver", "csv_table"]),
        (
            "aeron_idle_strategies",
            ["backoff", "noop", "signal", "sleep-ns", "sleeping", "spin", "yield"],
        ),
    ],
)
def test_the_built_in_plugins_are_registered(registry, hook, names):
    assert set(names) <= set(registry.names(hook))


def test_a_medium_is_created_once(registry):
    assert registry.media("udp") is registry.media("udp")
    assert registry.media("ipc").is_shared_memory


def test_each_request_creates_a_new_strategy(registry):
    made = [registry.flow_control("max", PARAMS, pytest.fail) for _ in range(2)]

    assert made[0] is not made[1]
    assert type(made[0]) is MaxFlowControl


def test_resolvers_and_idle_strategies_are_created_from_their_params(registry):
    assert registry.name_resolver("default", NameResolverParams()).lookup("a:1", "endpoint", False) == "a:1"
    assert registry.idle_strategy("noop", IdleStrategyParams("sender")) is not None


def test_the_error_for_an_unknown_name_lists_what_is_installed(registry):
    with pytest.raises(PluginError, match="no congestion control 'bbr'; installed: cubic, default, static"):
        registry.congestion_control("bbr", None, pytest.fail)


def test_the_error_for_an_empty_table_lists_none():
    with pytest.raises(PluginError, match="no medium 'udp'; installed: none"):
        Registry().media("udp")


def test_two_plugins_with_one_name_raise_an_error_with_both_distributions(registry):
    class Other(Stranger):
        pass

    registry.register(Stranger())

    with pytest.raises(
        PluginError, match=r"two plugins provide the flow control 'mine': .*'Stranger'.*'Other'"
    ):
        registry.register(Other())


def test_registering_a_plugin_twice_has_no_effect(registry):
    before = len(registry.plugins())

    registry.register(aeron_flow_control.plugin)

    assert len(registry.plugins()) == before


def test_the_list_of_plugins_has_the_names_that_each_provides(registry):
    provided = {plugin.name: plugin.provides for plugin in registry.plugins()}

    assert provided["aeron_media.udp.plugin"] == {"aeron_media_transports": ["udp"]}


def test_a_strategy_in_plain_python_is_adapted_and_its_exception_reported(registry):
    class Broken:
        def on_status_message(self, sm, position, limit, now_ns):
            raise ZeroDivisionError

    registry.register(Stranger(lambda params: Broken()))
    errors = []

    probe = FlowControlProbe(registry.flow_control("mine", PARAMS, errors.append))

    assert probe.on_status_message(StatusMessage(receiver_window=5), 10, 0, 0) == 15
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_a_python_subclass_of_a_built_in_is_adapted(registry):
    class Generous(MaxFlowControl):
        def on_status_message(self, sm, position, limit, now_ns):
            return 2**40

    registry.register(Stranger(Generous))

    strategy = registry.flow_control("mine", PARAMS, pytest.fail)

    assert FlowControlProbe(strategy).on_status_message(StatusMessage(), 0, 0, 0) == 2**40
    assert strategy.retransmit_window_multiple == 4
    assert isinstance(strategy, FlowControl)


def test_the_error_of_a_failing_factory_names_its_distribution(registry):
    def fail(params):
        raise KeyError("missing")

    registry.register(Stranger(fail), name="mine")

    with pytest.raises(PluginError, match=r"flow control 'mine' of plugin 'mine' of .* failed: KeyError"):
        registry.flow_control("mine", PARAMS, pytest.fail)


def test_a_deliberate_error_of_a_factory_keeps_its_type(registry):
    def refuse(params):
        raise ChannelUriError("fc=mine,g:5")

    registry.register(Stranger(refuse))

    with pytest.raises(ChannelUriError, match="fc=mine,g:5"):
        registry.flow_control("mine", PARAMS, pytest.fail)


def test_a_table_that_is_not_a_mapping_is_rejected(registry):
    class NoTable:
        @hookimpl
        def aeron_flow_controls(self):
            return ["mine"]

    with pytest.raises(PluginError, match="returned list: must be a mapping"):
        registry.register(NoTable())


def test_a_table_that_raises_is_rejected(registry):
    class Failing:
        @hookimpl
        def aeron_flow_controls(self):
            raise OSError("no licence")

    with pytest.raises(PluginError, match=r"aeron_flow_controls of plugin 'Failing' .* no licence"):
        registry.register(Failing())


def test_an_unknown_hook_is_rejected(registry):
    class Misspelt:
        @hookimpl
        def aeron_flow_contols(self):
            return {}

    class Stray:
        @hookimpl
        def on_start(self):
            return {}

    with pytest.raises(
        PluginError,
        match=r"'Misspelt' .* aeron_flow_contols, .* not a hook: did you mean aeron_flow_controls\?",
    ):
        registry.register(Misspelt())
    with pytest.raises(
        PluginError, match=r"on_start, which is not a hook: must be one of aeron_.*, aeron_cli"
    ):
        registry.register(Stray())


def test_a_hook_with_unknown_arguments_is_rejected(registry):
    class Demanding:
        @hookimpl
        def aeron_flow_controls(self, weather):
            return {}

    with pytest.raises(PluginError, match="weather"):
        registry.register(Demanding())


def test_a_plugin_built_for_another_spi_version_is_rejected(registry):
    plugin = Stranger()
    plugin.AERON_CORE_SPI_VERSION = 0

    with pytest.raises(PluginError, match="built for SPI version 0, this aeron-core has 1: rebuild it"):
        registry.register(plugin)


def test_a_compiled_class_without_an_spi_version_is_rejected(registry, monkeypatch):
    monkeypatch.delattr(max_flow_control, "AERON_CORE_SPI_VERSION")
    registry.register(Stranger())

    with pytest.raises(
        PluginError,
        match=r"compiled class, aeron_flow_control\.max_flow_control\.MaxFlowControl, and no AERON_CORE_SPI_VERSION: "
        r"it may be built for another SPI version than 1",
    ):
        registry.flow_control("mine", PARAMS, pytest.fail)


class Started:
    """The parts of a started driver that the built-in plugins use."""

    _settings = DriverFields()
    _runners = ()

    def __init__(self, registry):
        self.sections = PluginSections(registry, {})

    def close(self):
        pass


def test_events_reach_plugins(registry):
    class Following:
        def __init__(self):
            self.seen = []

        @hookimpl
        def aeron_driver_started(self, driver):
            self.seen.append(driver)

    plugin = Following()
    registry.register(plugin)

    driver = Started(registry)
    registry.hook.aeron_driver_started(driver=driver)

    assert plugin.seen == [driver]


def test_extra_plugins_are_registered_after_the_installed_ones():
    plugin = Stranger()

    assert Registry.load([plugin]).plugins()[-1].name == "Stranger"


def test_a_settings_section_that_is_not_a_model_is_rejected(registry):
    class Plain:
        @hookimpl
        def aeron_settings(self):
            return {"plain": dict}

    registry.register(Plain())

    with pytest.raises(PluginError, match=r"section of settings 'plain' of .*: must be a class derived from"):
        registry.section_model("plain")


def test_two_plugins_with_one_settings_section_are_rejected(registry):
    class Other:
        @hookimpl
        def aeron_settings(self):
            return {"recording": dict}

    registry.register(aeron_core.recording.plugin)
    with pytest.raises(PluginError, match="two plugins provide the section of settings 'recording'"):
        registry.register(Other())


def test_a_plugin_that_cannot_add_its_commands_is_named(registry):
    class Uncommandable:
        @hookimpl
        def aeron_cli(self, app):
            raise RuntimeError("no commands today")

    registry.register(Uncommandable(), "quiet")

    with pytest.raises(
        PluginError, match=r"aeron_cli of plugin 'quiet' .* failed: RuntimeError: no commands today"
    ):
        registry.add_commands(typer.Typer())
