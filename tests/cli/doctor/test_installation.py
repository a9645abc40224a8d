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


def test_a_broken_plugin_is_a_problem(patient, broken_distribution):
    health, found = patient.health(check_plugins, "plugins")

    assert health == "problem"
    assert "'broken'" in found


@pytest.fixture
def broken_distribution(tmp_path, monkeypatch):
    """A distribution with a plugin whose module does not exist."""
    metadata = tmp_path / "site" / "broken-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[aeron_core]\nbroken = no_such_module_of_a_plugin\n")
    monkeypatch.syspath_prepend(str(metadata.parent))
