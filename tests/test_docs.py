"""The documentation knows everything that there is, and leads nowhere that is not there."""

import ast
import inspect
import re
import runpy
from pathlib import Path

import pytest
import typer

from aeron_core import errors, uri_builder
from aeron_core.cli.main import make_core_app
from aeron_core.driver.system_counters import SystemCounterLabels, labelled
from aeron_core.settings import ClientSettings, DriverSettings
from aeron_core.spi import hookspecs

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")])


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [DriverSettings, ClientSettings])
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
    module = GENERATOR["stream_counters"]
    types = {
        name
        for name, value in vars(module).items()
        if name.isupper() and type(value) is int and not name.startswith(("_", "CHANNEL_STATUS_"))
    }

    assert types == set(GENERATOR["STREAM_COUNTERS"])


def test_every_key_of_a_channel_is_documented():
    source = inspect.getsource(uri_builder)
    keys = set(re.findall(r'put\w*\(\s*"([a-z-]+)"', source))

    assert keys == set(GENERATOR["channel_page"].CHANNEL_KEYS)
    assert "endpoint" in keys


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
