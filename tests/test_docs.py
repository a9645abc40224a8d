"""The documentation knows everything that there is, and leads nowhere that is not there."""

import ast
import inspect
import re
import runpy
from pathlib import Path

import pytest
import typer

import aeron_core
from aeron_core import errors
from aeron_core.cli.main import make_core_app
from aeron_core.driver.agents.system_counters import SystemCounterLabels, labelled
from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import ClientSettings, DriverSettings
from aeron_core.spi import hookspecs
from aeron_core.uri import builder
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")])


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
        assert f"| {index} | {label} |" in text


def test_every_stream_counter_type_is_documented():
    module = GENERATOR["counter_types"]
    types = {
        name
        for name, value in vars(module).items()
        if name.isupper() and type(value) is int and not name.startswith(("_", "CHANNEL_STATUS_", "DRIVER_"))
    }

    assert types == set(GENERATOR["STREAM_COUNTERS"])


def test_every_key_of_a_channel_is_documented():
    source = inspect.getsource(builder)
    keys = set(re.findall(r'put\w*\(\s*"([a-z-]+)"', source))

    assert keys == set(GENERATOR["channel_page"].CHANNEL_KEYS)
    assert "endpoint" in keys


@pytest.mark.parametrize(
    ("written", "same"), [(key, row[0]) for key, row in GENERATOR["channel_page"].LENIENT.items()]
)
def test_what_a_channel_may_be_taken_for_is_documented(written, same):
    channel = "aeron:udp?endpoint=localhost:20121"

    def parsed(params):
        uri = ChannelUri.parse(f"{channel}|{params}" if params else channel)
        return (
            PublicationParameters.parse(uri, PublicationDefaults()),
            SubscriptionParameters.parse(uri, SubscriptionDefaults()),
        )

    assert parsed(written) == parsed(same)
    assert f"| `{written.replace('|', chr(92) + '|')}` | " in page("channels.md")


def test_every_public_name_is_documented():
    text, elsewhere = page("client.md"), GENERATOR["client_page"].ELSEWHERE

    for name in set(aeron_core.__all__) - {"__version__", "aio"}:
        if name in elsewhere:
            assert f"`{name}`" in text + page(elsewhere[name]), name
        else:
            assert re.search(rf"^### `{name}\b", text, re.M), name


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for name in aeron_core.__all__
        if isinstance(kind := getattr(aeron_core, name), type)
        and name not in GENERATOR["client_page"].ELSEWHERE
    ],
    ids=lambda kind: kind.__name__,
)
def test_every_member_of_the_client_is_documented(kind):
    text = page("client.md")
    sections = [
        re.search(rf"^### `{one.__name__}`\n.*?(?=^##)", text, re.M | re.S)
        for one in kind.__mro__
        if one.__module__.startswith("aeron_core")
    ]
    told = "".join(section[0] for section in sections)

    internal = GENERATOR["client_page"]._INTERNAL
    for name in {
        name for one in kind.__mro__ if one.__module__.startswith("aeron_core") for name in vars(one)
    }:
        if not name.startswith("_") and not internal.search(inspect.getdoc(getattr(kind, name)) or ""):
            assert re.search(rf"^\| `(async )?{name}\b", told, re.M), name
    assert "| |" not in told.replace("  ", " "), "a member has no meaning"


def test_every_function_of_asyncio_is_documented():
    text = page("client.md")

    for name, member in vars(aeron_core.aio).items():
        if callable(member) and name != "T" and member.__module__ == "aeron_core.aio" and name[0] != "_":
            assert re.search(rf"^### `(async )?{name}\b", text, re.M), name


def sources(*folders):
    """Yield what each file below some folders says, as a tree."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "build" not in path.relative_to(ROOT).parts:
                yield ast.parse(path.read_text(encoding="utf-8"))


def keys_read(tree):
    """Yield the keys that are asked of something named `uri`, as in `channel.uri.get("mtu")`."""
    for call in ast.walk(tree):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr.startswith("get")
            and ast.unparse(call.func.value).rpartition(".")[2] == "uri"
            and call.args
            and isinstance(call.args[0], ast.Constant)
        ):
            yield call.args[0].value


def test_every_key_that_is_read_of_a_channel_is_documented():
    keys = {key for tree in sources("aeron_core", "plugins") for key in keys_read(tree)}

    assert keys <= set(GENERATOR["channel_page"].CHANNEL_KEYS)
    assert {"mtu", "so-sndbuf", "endpoint"} <= keys


def test_every_counter_type_of_a_plugin_is_documented():
    text = page("counters.md")
    types = [
        (ast.unparse(node.target), ast.literal_eval(node.value))
        for tree in sources("plugins")
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and re.fullmatch(r"[A-Z]\w*TYPE_ID", ast.unparse(node.target))
    ]

    assert ("ROW_TYPE_ID", 2001) in types
    assert [name for name, type_id in types if f"| {type_id} | `" not in text] == []


def test_every_error_is_documented():
    text = page("errors.md")

    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.AeronError):
            assert f"| `{name}` |" in text
    for code in errors.ErrorCode:
        assert f"| {code.value} | `{code.name}` |" in text


def test_every_command_is_documented():
    text = page("cli.md")

    def check(path: str, command: object) -> None:
        for name, child in getattr(command, "commands", {}).items():
            if getattr(child, "commands", None):
                check(f"{path} {name}", child)
            else:
                assert f"## {path} {name}\n" in text

    check("aeron-core", typer.main.get_command(make_core_app()))


@pytest.mark.parametrize("name", sorted(GENERATOR["PAGES"]))
def test_a_page_is_what_the_code_says(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")

    assert text == GENERATOR["rendered"](name), "run docs/generate.py"


@pytest.mark.parametrize("change", [{}, {"LENGTH": 0, "NEW": 8}, {"LENGTH": 0, "VERSION": 2}])
def test_a_layout_that_the_pages_do_not_know_stops_the_generator(change):
    table, meanings = GENERATOR["wire_pages"].table, {"LENGTH": ("i32", ""), "VERSION": ("u8", "")}

    with pytest.raises(ValueError, match="a frame: "):
        list(table(change, meanings, "a frame"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_that_exist(path):
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target
