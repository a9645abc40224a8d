"""Plugins of distributions installed by the test."""

import importlib
import sys
import textwrap

import pytest

from aeron_core.errors import PluginError
from aeron_core.registry import TABLES, Registry
from aeron_core.spi import FlowControl, FlowControlParams

PARAMS = FlowControlParams("aeron:udp?endpoint=a:1", 1, 2, 3, 0, 65536, 1408, False)


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution with one plugin, in a folder of its own."""

    def install(name, source):
        module = f"{name}_plugin"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        info = tmp_path / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[aeron_core]\nmain = {module}\n")
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


SOURCE = """
    from aeron_core.spi import FlowControl, hookimpl

    @hookimpl
    def aeron_flow_controls():
        return {"theirs": lambda params: FlowControl()}
"""


def test_plugins_of_installed_distributions_are_found(distribution):
    distribution("theirs", SOURCE)

    registry = Registry.load()

    (plugin,) = [plugin for plugin in registry.plugins() if plugin.distribution == "theirs"]
    assert (plugin.name, plugin.version) == ("main", "1.5")
    assert plugin.provides == {"aeron_flow_controls": ["theirs"]}
    assert type(registry.flow_control("theirs", PARAMS, pytest.fail)) is FlowControl


LAZY = """
    from aeron_core.spi import hookimpl

    @hookimpl
    def aeron_flow_controls():
        return {"theirs": "lazy_strategy:LazyFlowControl"}
"""


@pytest.fixture
def strategy(tmp_path, monkeypatch):
    """Write the module that the text of LAZY names."""

    def write(source):
        (tmp_path / "lazy_strategy.py").write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "lazy_strategy", raising=False)

    return write


def test_an_entry_that_is_text_is_imported_when_it_is_used(distribution, strategy):
    strategy("from aeron_core.spi import FlowControl\nLazyFlowControl = lambda params: FlowControl()")
    distribution("theirs", LAZY)

    registry = Registry.load()
    assert "theirs" in registry.names("aeron_flow_controls")
    assert "lazy_strategy" not in sys.modules

    assert type(registry.flow_control("theirs", PARAMS, pytest.fail)) is FlowControl
    assert "lazy_strategy" in sys.modules


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("", "AttributeError: module 'lazy_strategy' has no attribute 'LazyFlowControl'"),
    ],
)
def test_the_error_for_an_entry_that_cannot_be_imported_names_its_plugin(
    distribution, strategy, source, fault
):
    strategy(source)
    distribution("theirs", LAZY)
    registry = Registry.load()

    with pytest.raises(PluginError) as caught:
        registry.flow_control("theirs", PARAMS, pytest.fail)

    assert str(caught.value) == (
        "flow control 'theirs' of plugin 'main' of distribution 'theirs' 1.5 cannot be imported "
        f"(lazy_strategy:LazyFlowControl): {fault}; repair or uninstall 'theirs'"
    )


def test_the_module_of_an_entry_is_checked_before_its_factory_is_called(distribution, strategy):
    strategy("AERON_CORE_SPI_VERSION = 0\ndef LazyFlowControl(params): raise AssertionError")
    distribution("theirs", LAZY)

    with pytest.raises(PluginError, match="built for SPI version 0, this aeron-core has 1: rebuild it"):
        Registry.load().flow_control("theirs", PARAMS, pytest.fail)


def test_every_entry_of_the_built_in_plugins_can_be_imported():
    registry = Registry.load()

    for hook in TABLES:
        for name in registry.names(hook):
            assert callable(registry._import(hook, name)[0])


def test_the_error_for_two_distributions_with_one_name_has_both(distribution):
    distribution("first", SOURCE)
    distribution("second", SOURCE)

    with pytest.raises(PluginError, match=r"'theirs': (?=.*'first' 1\.5)(?=.*'second' 1\.5)"):
        Registry.load()


def test_two_distributions_may_use_the_same_plugin_name(distribution):
    distribution("first", SOURCE)
    distribution("second", SOURCE.replace("theirs", "others"))

    listed = [(plugin.distribution, plugin.name) for plugin in Registry.load().plugins()]

    assert {("first", "main"), ("second", "main")} <= set(listed)


def test_the_error_for_a_plugin_that_cannot_be_imported_names_it(distribution):
    distribution("broken", "import no_such_module_at_all")

    with pytest.raises(PluginError, match=r"'main' of distribution 'broken'.*no_such_module_at_all"):
        Registry.load()
