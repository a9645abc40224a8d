import importlib
import json
import sys
import tomllib
from pathlib import Path

import pytest

from aeron_core.cli.doctor.installation import check_plugins, check_python

ROOT = Path(__file__).parents[3]


def test_this_python_is_good(patient):
    assert patient.health(check_python, "Python")[0] == "ok"


def test_the_build_and_its_plugins_are_shown(patient):
    findings = patient.findings(check_plugins)

    assert findings["compression of medium lumberjack"].found in {"ISA-L", "zlib"}
    assert "of aeron-core" in findings["plugins"].found
    assert "SPI version" in findings["aeron-core"].found
    assert findings["strategies of settings"].health.value == "ok"


@pytest.mark.parametrize("setting", ["unicast_flow_control", "name_resolver", "sender_idle_strategy"])
def test_a_strategy_that_is_not_installed_is_a_problem(patient, setting):
    patient.settings[setting] = "magic"

    health, found = patient.health(check_plugins, "strategies of settings")

    assert health == "problem"
    assert "'magic'" in found


def test_an_extra_that_is_not_installed_is_shown(patient, monkeypatch):
    # How Python marks a module that must not be imported.
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    _, absent = patient.findings(check_plugins)["extras"].found.split("; not installed: ")

    assert "plots" in absent.split(", ")


def test_every_extra_is_shown(patient):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    found = patient.findings(check_plugins)["extras"].found

    shown = set(found.replace("; not installed: ", ", ").split(", ")) - {"none"}
    assert shown == set(project["optional-dependencies"])


def test_a_broken_plugin_is_a_problem(patient, distribution):
    distribution("broken", "no_such_module_of_a_plugin")

    health, found = patient.health(check_plugins, "plugins")

    assert health == "problem"
    assert "'broken'" in found


PLUGIN = """
from aeron_core.spi.hookspecs import hookimpl

@hookimpl
def aeron_flow_controls():
    return {"strange": "strange_strategy:make"}
"""


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        ("AERON_CORE_SPI_VERSION = 1\nmake = None", "strange 1.0, loaded, built for SPI version 1"),
        ("make = None", "strange 1.0, loaded"),
    ],
)
def test_a_plugin_of_another_distribution_is_shown(patient, distribution, strategy, found):
    distribution("strange", "strange_plugin", strange_plugin=PLUGIN, strange_strategy=strategy)

    finding = patient.findings(check_plugins)["plugin strange"]

    assert (finding.health.value, finding.found) == ("ok", found)
    assert finding.wanted == "SPI version 1, or plain Python"


def test_a_plugin_of_another_spi_version_is_a_problem(aeron, tmp_path, distribution):
    strategy = "AERON_CORE_SPI_VERSION = 2\nmake = None"
    distribution("strange", "strange_plugin", strange_plugin=PLUGIN, strange_strategy=strategy)

    outcome = aeron("doctor", "--json", "--aeron-dir", tmp_path / "driver")

    assert outcome.code == 1
    assert {
        "what": "plugin strange",
        "found": "strange 1.0, built for SPI version 2",
        "wanted": "SPI version 1, or plain Python",
        "health": "problem",
        "change": "rebuild it against this aeron-core, or install a version that was built against it",
    } in json.loads(outcome.out)


def test_a_setting_that_names_a_strategy_of_another_spi_version_is_a_problem(patient, distribution):
    strategy = "AERON_CORE_SPI_VERSION = 2\nmake = None"
    distribution("strange", "strange_plugin", strange_plugin=PLUGIN, strange_strategy=strategy)
    patient.settings["unicast_flow_control"] = "strange"

    health, found = patient.health(check_plugins, "strategies of settings")

    assert health == "problem"
    assert found.startswith(
        "unicast_flow_control: plugin 'strange' of distribution 'strange' 1.0 was built for SPI "
    )


def test_a_plugin_whose_own_module_is_of_another_spi_version_is_a_problem(patient, distribution):
    distribution("strange", "strange_plugin", strange_plugin="AERON_CORE_SPI_VERSION = 2")

    finding = patient.findings(check_plugins)["plugins"]

    assert finding.health.value == "problem"
    assert "was built for SPI version 2, this aeron-core has 1: rebuild it" in finding.found
    assert finding.change == "repair, rebuild or uninstall the plugin"


def test_a_strategy_that_cannot_be_imported_is_a_problem(patient, distribution):
    distribution("strange", "strange_plugin", strange_plugin=PLUGIN, strange_strategy="")

    finding = patient.findings(check_plugins)["plugin strange"]

    assert finding.health.value == "problem"
    assert "module 'strange_strategy' has no attribute 'make'" in finding.found
    assert finding.change == "repair or uninstall 'strange'"


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Installs a distribution with one plugin of the same name, and its modules."""

    def install(name, plugin, **sources):
        metadata = tmp_path / "site" / f"{name}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[aeron_core]\n{name} = {plugin}\n")
        for module, source in sources.items():
            (metadata.parent / f"{module}.py").write_text(source)
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(str(metadata.parent))
        importlib.invalidate_caches()

    return install
