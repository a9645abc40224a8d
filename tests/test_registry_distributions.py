"""Plugins of distributions installed by the test."""

import importlib
import sys
import textwrap

import pytest

from aeron_core.errors import PluginError
from aeron_core.registry import Registry
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
