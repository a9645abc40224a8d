"""The reference is complete: it has all settings, hooks, counters, keys of channels and commands."""

import inspect
import re
import runpy
from pathlib import Path

import pytest
import typer

from aeron_core.cli.index import PLUGIN_COMMANDS
from aeron_core.cli.program import make_core_app
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import ClientSettings, DriverSettings
from aeron_core.spi import hookspecs
from aeron_core.uri import builder
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.keys import CHANNEL_KEYS
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters
from aeron_core.version import SOFTWARE_VERSION

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [DriverSettings, ClientSettings, RecordingSettings])
def test_every_setting_is_documented(model):
    text = page("settings.md")

    for name in model.model_fields:
        assert f"| `{name}` | `{model.variable(name).name}` |" in text


def test_every_hook_is_documented():
    text = page("hooks.md")

    for name, _ in inspect.getmembers(hookspecs, inspect.isfunction):
        if name.startswith("aeron_"):
            assert f"## `{name}`" in text


def test_every_system_counter_is_documented():
    text = page("counters.md")

    for index, (_, label) in enumerate(labelled(SystemCounterLabels())):
        assert f"| {index} | {label.replace(SOFTWARE_VERSION, 'version=… commit=…')} |" in text


def test_every_stream_counter_type_is_documented():
    module = GENERATOR["counter_types"]
    types = {
        name
        for name, value in vars(module).items()
        if name.isupper()
        and type(value) is int
        and not name.startswith(("_", "CHANNEL_STATUS_", "DRIVER_", "SYSTEM"))
    }

    assert types == set(GENERATOR["STREAM_COUNTERS"])


def test_every_key_of_the_builder_is_known():
    source = inspect.getsource(builder)
    keys = set(re.findall(r'put\w*\(\s*"([a-z-]+)"', source))

    assert keys == CHANNEL_KEYS
    assert "endpoint" in keys


def test_the_page_of_channels_has_a_row_for_each_key(monkeypatch):
    page = GENERATOR["channel_page"]
    monkeypatch.setattr(page, "ROWS", {key: row for key, row in page.ROWS.items() if key != "mtu"})

    with pytest.raises(ValueError, match="keys and rows differ: mtu"):
        list(page.channels_page())


@pytest.mark.parametrize(
    ("written", "same"), [(key, row[0]) for key, row in GENERATOR["channel_page"].LENIENT.items()]
)
def test_accepted_mistakes_in_channels_are_documented(written, same):
    channel = "aeron:udp?endpoint=localhost:20121"

    def parsed(params):
        uri = ChannelUri.parse(f"{channel}|{params}" if params else channel)
        return (
            PublicationParameters.parse(uri, PublicationDefaults()),
            SubscriptionParameters.parse(uri, SubscriptionDefaults()),
        )

    assert parsed(written) == parsed(same)
    assert f"| `{written.replace('|', chr(92) + '|')}` | " in page("channels.md")


def security_section(heading):
    text = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
    return text.partition(f"### {heading}\n")[2].partition("\n##")[0]


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("`aeron:lumberjack`", GENERATOR["lumberjack_page"].LumberjackParameters),
        ("`aeron:sp`", GENERATOR["sp_page"].PairParameters),
    ],
)
def test_every_limit_of_a_medium_is_on_the_security_page_with_its_default(heading, model):
    section = security_section(heading)
    shown = GENERATOR["sp_page"].uri_text

    limits = {field.alias or name: field for name, field in model.model_fields.items()}
    limits = {key: field for key, field in limits.items() if re.search(r"^max-|timeout$|queue$", key)}
    assert len(limits) > 5
    for key, field in limits.items():
        default = "" if field.default is None else f"`{shown(field, field.default)}` "
        assert f"| `{key}` | {default}|" in section, key


def test_defaults_of_settings_on_the_security_page_are_those_of_the_settings():
    rows = re.findall(r"\| `(\w+)` \| `(\w+)` \|", security_section("`aeron:udp` and the driver"))

    assert ("max_resend", "16") in rows
    for name, default in rows:
        assert re.search(rf"\| `{name}` \| `\w+` \| `{default}` \|", page("settings.md")), name


def test_every_command_is_documented():
    text = page("cli.md")

    def check(path: str, command: object) -> None:
        for name, child in getattr(command, "commands", {}).items():
            if getattr(child, "commands", None):
                check(f"{path} {name}", child)
            else:
                assert f"## {path} {name}\n" in text

    check("aeron-core", typer.main.get_command(make_core_app()))


def test_every_command_of_the_plugins_here_is_documented():
    assert [name for name in PLUGIN_COMMANDS if f"\n## aeron-core {name} " not in page("cli.md")] == []


@pytest.mark.parametrize("name", sorted(GENERATOR["PAGES"]))
def test_generated_page_is_up_to_date(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")

    assert text == GENERATOR["rendered"](name), "run docs/generate.py"


@pytest.mark.parametrize("change", [{}, {"LENGTH": 0, "NEW": 8}, {"LENGTH": 0, "VERSION": 2}])
def test_generator_fails_for_an_undocumented_layout(change):
    table, meanings = GENERATOR["wire_pages"].table, {"LENGTH": ("i32", ""), "VERSION": ("u8", "")}

    with pytest.raises(ValueError, match="a frame: "):
        list(table(change, meanings, "a frame"))
