"""A driver does not start with a strategy of another SPI version; it leaves the directory as it was."""

import importlib
import sys

import aeron_flow_control.max_flow_control
import pytest
from aeron_flow_control.max_flow_control import MaxFlowControl

from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import PluginError
from aeron_core.registry import Registry
from aeron_core.spi import hookimpl

IDLE_STRATEGIES = [
    f"{role}_idle_strategy" for role in ("conductor", "sender", "receiver", "sharednetwork", "shared")
]
#: Threading modes in which the roles run that the default mode does not start.
MODES = {"sharednetwork_idle_strategy": "SHARED_NETWORK", "shared_idle_strategy": "SHARED"}
SETTINGS = [
    *("congestion_control", "multicast_flow_control", "unicast_flow_control"),
    *("name_resolver", "resolver_fallback", *IDLE_STRATEGIES),
]


class Strange:
    """A plugin with a strategy of each kind, all of them the same entry."""

    def __init__(self, entry):
        self._entry = entry

    def _table(self):
        return {"strange": self._entry}

    @hookimpl
    def aeron_flow_controls(self):
        return self._table()

    @hookimpl
    def aeron_congestion_controls(self):
        return self._table()

    @hookimpl
    def aeron_name_resolvers(self):
        return self._table()

    @hookimpl
    def aeron_idle_strategies(self):
        return self._table()


@pytest.fixture
def start_with(directory):
    """Starts a driver with a plugin that has this entry; the settings are named strategies."""

    def start(entry, **settings):
        registry = Registry.load([Strange(entry)])
        MediaDriver({"aeron_dir": directory, **settings}, invoker=True, registry=registry).close()

    return start


@pytest.fixture
def built_for(tmp_path, monkeypatch):
    """Returns an entry whose module was built for this SPI version and is not imported yet."""

    def build(version):
        (tmp_path / "strange_strategy.py").write_text(
            f"AERON_CORE_SPI_VERSION = {version}\ndef make(params): raise AssertionError('was called')\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "strange_strategy", raising=False)
        importlib.invalidate_caches()
        return "strange_strategy:make"

    return build


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_strategy_of_another_version_is_refused_before_the_directory_is_touched(
    directory, start_with, built_for, setting
):
    entry = built_for(2)

    with pytest.raises(PluginError) as caught:
        start_with(entry, **{setting: "strange"}, threading_mode=MODES.get(setting, "DEDICATED"))

    assert str(caught.value) == (
        f"{setting}: plugin 'Strange' of distribution '(registered by hand)' was built for SPI version 2, this "
        "aeron-core has 1: rebuild it against this aeron-core, or install a version that was built against it"
    )
    assert not directory.exists()


@pytest.mark.parametrize("options", ["", ",g:/2"])
def test_a_compiled_class_of_another_version_is_refused(directory, start_with, monkeypatch, options):
    monkeypatch.setattr(aeron_flow_control.max_flow_control, "AERON_CORE_SPI_VERSION", 0)

    with pytest.raises(PluginError, match=r"^unicast_flow_control: plugin 'Strange' .* for SPI version 0, "):
        start_with(MaxFlowControl, unicast_flow_control=f"strange{options}")

    assert not directory.exists()


def test_a_compiled_class_whose_module_has_no_version_is_refused(start_with, monkeypatch):
    monkeypatch.delattr(aeron_flow_control.max_flow_control, "AERON_CORE_SPI_VERSION")

    with pytest.raises(
        PluginError, match=r"^multicast_flow_control: .* compiled class, .* no AERON_CORE_SPI_VERSION"
    ):
        start_with(MaxFlowControl, multicast_flow_control="strange")


def test_a_strategy_that_cannot_be_imported_is_refused(directory, start_with):
    with pytest.raises(
        PluginError, match=r"^congestion_control: congestion control 'strange' .* cannot be imported"
    ):
        start_with("no_such_module_of_a_strategy:Strange", congestion_control="strange")

    assert not directory.exists()


@pytest.mark.parametrize(
    ("setting", "mode"),
    [
        ("shared_idle_strategy", "DEDICATED"),
        ("sharednetwork_idle_strategy", "SHARED"),
        ("sender_idle_strategy", "SHARED_NETWORK"),
        ("conductor_idle_strategy", "SHARED"),
    ],
)
def test_an_idle_strategy_of_a_role_that_does_not_run_is_not_imported(directory, start_with, setting, mode):
    start_with("no_such_module_of_a_strategy:Strange", **{setting: "strange"}, threading_mode=mode)

    assert directory.exists()

    with pytest.raises(PluginError, match=f"^{setting}: no idle strategy 'stranger'"):
        start_with("no_such_module_of_a_strategy:Strange", **{setting: "stranger"}, threading_mode=mode)


def test_a_strategy_of_this_version_or_in_plain_python_is_accepted(directory, start_with, built_for):
    class PlainFlowControl:
        def __init__(self, params):
            raise AssertionError("was called")

    start_with(built_for(1), unicast_flow_control="strange", sender_idle_strategy="strange")
    start_with(MaxFlowControl, unicast_flow_control="strange,g:/2")
    start_with(PlainFlowControl, unicast_flow_control="strange")

    assert directory.exists()


def test_a_plugin_of_another_version_that_no_setting_names_does_not_prevent_the_start(
    directory, start_with, built_for
):
    start_with(built_for(2), unicast_flow_control="max")

    assert directory.exists()
