import json

import pytest
from terminals import shown_on_a_terminal

from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import DriverSettings


def test_every_setting_is_shown_with_its_source(aeron):
    outcome = aeron("settings", "show", "--json")

    shown = {setting["name"]: setting for setting in json.loads(outcome.out)}
    own = [f"recording.{name}" for name in RecordingSettings.model_fields]
    assert list(shown) == [*DriverSettings.model_fields, *own]
    assert shown["mtu_length"]["source"] == "default"
    assert shown["aeron_dir"]["source"] == "environment AERON_DIR"


def test_a_setting_without_effect_is_marked(aeron):
    shown = {setting["name"]: setting for setting in json.loads(aeron("settings", "show", "--json").out)}

    assert not shown["dynamic_libraries"]["has_effect"]
    assert shown["mtu_length"]["has_effect"]


def test_a_define_is_stronger_than_a_file(aeron, tmp_path):
    (tmp_path / "driver.properties").write_text("aeron.mtu.length=4k\naeron.term.buffer.length=1m\n")

    outcome = aeron("settings", "show", "-Daeron.mtu.length=8k", tmp_path / "driver.properties", "--json")

    shown = {setting["name"]: setting for setting in json.loads(outcome.out)}
    assert (shown["mtu_length"]["value"], shown["mtu_length"]["source"]) == ("8k", "-D")
    assert shown["term_buffer_length"]["source"] == "file driver.properties"


def test_a_file_may_be_a_file_url(aeron, tmp_path):
    (tmp_path / "driver.properties").write_text("aeron.mtu.length=4k\n")

    outcome = aeron("settings", "show", f"file://{tmp_path / 'driver.properties'}", "--json")

    shown = {setting["name"]: setting for setting in json.loads(outcome.out)}
    assert (shown["mtu_length"]["value"], shown["mtu_length"]["source"]) == ("4k", "file driver.properties")


def test_a_toml_file_is_read(aeron, tmp_path):
    (tmp_path / "driver.toml").write_text('[driver]\nmtu_length = "4k"\n')

    outcome = aeron("settings", "show", tmp_path / "driver.toml", "--json")

    shown = {setting["name"]: setting for setting in json.loads(outcome.out)}
    assert shown["mtu_length"]["value"] == "4k"


def test_a_clamped_value_is_a_warning_on_stderr(aeron):
    outcome = aeron("settings", "show", "-Daeron.mtu.length=1g")

    assert outcome.code == 0
    assert "AERON_MTU_LENGTH=1g" in outcome.err
    assert "mtu_length" in outcome.out


@pytest.mark.system
def test_a_terminal_shows_that_the_settings_are_not_those_of_a_running_driver(aeron):
    shown = shown_on_a_terminal("settings", "show")

    note = "of a driver started here; not read from a running one (`aeron-core dashboard` shows those)"
    assert shown.endswith(f"\n{note}\n")
    assert note not in aeron("settings", "show").out
    assert note not in shown_on_a_terminal("settings", "show", "--json")
