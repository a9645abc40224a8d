"""The documentation is complete, and its links, paths and modules exist."""

import ast
import builtins
import importlib
import inspect
import re
import runpy
import tomllib
from functools import cache
from pathlib import Path

import pytest
import typer
from aeron_security import group_secret

from aeron_core.cli.index import PLUGIN_COMMANDS
from aeron_core.cli.program import make_core_app
from aeron_core.cli.records.recorder_metrics import METRICS as RECORDER_METRICS
from aeron_core.driver.agents.system_counters import SystemCounterLabels, labelled
from aeron_core.metrics.prometheus import DriverCollector
from aeron_core.metrics.samples import METRICS, Sample
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


def keys_read(nodes):
    """Yield the keys that are read from an object named `uri`, as in `channel.uri.get("mtu")`."""
    for call in nodes:
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr.startswith("get")
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and ast.unparse(call.func.value).rpartition(".")[2] == "uri"
        ):
            yield call.args[0].value


def defined_names(nodes):
    """Yield the names that nodes define: functions, parameters, classes, variables and attributes."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


class Source:
    """What the tests look up in one file; its syntax tree takes time to make, and memory to keep."""

    def __init__(self, path):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        self.keys_read = set(keys_read(nodes))
        self.defined_names = set(defined_names(nodes))
        #: The names of the methods of each class.
        self.methods = {
            node.name: {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }
        #: The names and values of constants such as `ROW_TYPE_ID`.
        self.type_ids = [
            (ast.unparse(node.target), ast.literal_eval(node.value))
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and re.fullmatch(r"[A-Z]\w*TYPE_ID", ast.unparse(node.target))
        ]
        #: The fields of all classes of parameters, such as `ReceiveEndpointParams`.
        self.fields_of_params = {
            name
            for node in nodes
            if isinstance(node, ast.ClassDef) and node.name.endswith("Params")
            for member in node.body
            for name in defined_names(ast.walk(member))
        }


source = cache(Source)


def sources(*folders):
    """Yield each file below some folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "build" not in path.relative_to(ROOT).parts:
                yield source(path)


def test_every_key_that_is_read_from_a_channel_is_documented():
    keys = {key for file in sources("aeron_core", "plugins") for key in file.keys_read}

    assert keys <= CHANNEL_KEYS
    assert {"mtu", "so-sndbuf", "endpoint"} <= keys


def test_every_counter_type_of_a_plugin_is_documented():
    text = page("counters.md")
    types = [each for file in sources("plugins") for each in file.type_ids]

    assert ("ROW_TYPE_ID", 2001) in types
    assert [name for name, type_id in types if f"| {type_id} | `" not in text] == []


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


def slug(heading):
    """Return the anchor of a heading, as GitHub derives it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    """Return the anchors of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)}


def repository_paths(text):
    """Yield the paths of this repository that a page names."""
    for path in re.findall(
        r"`((?:aeron_core|plugins|tests|docs|benchmarks|examples|tools)/[\w./*-]*)`", text
    ):
        yield path
    for path in re.findall(r"^\S+/bin/python -m pytest (?:-\S+ (?:\"[^\"]*\" )?)*(tests/\S+)", text, re.M):
        yield path


def modules(text):
    """Yield the modules that a page imports or names, each with its attribute or without."""
    package = r"(?:aeron_core|aeron_media|aeron_flow_control|aeron_congestion|aeron_resolvers|pyspark_aeron)"
    for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        for name, attributes in re.findall(rf"^\s*from ({package}[\w.]*) import ([\w, ]+)", code, re.M):
            yield from (f"{name}.{attribute.strip()}" for attribute in attributes.split(","))
        yield from re.findall(rf"^\s*import ({package}[\w.]*)", code, re.M)
    yield from re.findall(rf"`({package}(?:\.\w+)+)`", text)


def is_there(name):
    """Return whether a dotted name leads to a module, or to an attribute of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_existing_files_and_headings(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = path.parent / file if file else path
        assert page.exists(), target
        if anchor:
            assert anchor in anchors(page), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_the_text_exist(path):
    missing = [
        name
        for name in repository_paths(path.read_text(encoding="utf-8"))
        if not (list(ROOT.glob(name)) if "*" in name else (ROOT / name).exists())
    ]

    assert missing == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_in_the_text_exist(path):
    assert [name for name in modules(path.read_text(encoding="utf-8")) if not is_there(name)] == []


def test_the_table_of_levels_names_each_package():
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = {
        path.rstrip("/").removesuffix(".py")
        for row in re.findall(r"^\| [0-5] \|.*$", text, re.M)
        for path in repository_paths(row)
    }
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [levels] = [each for each in contracts["contracts"] if each.get("containers") == ["aeron_core"]]

    assert table == {
        "plugins/spark",
        *(f"aeron_core/{name}" for layer in levels["layers"] for name in re.findall(r"\w+", layer)),
    }


def test_classes_and_methods_in_the_architecture_exist():
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    methods = {
        name: names for file in sources("aeron_core", "plugins") for name, names in file.methods.items()
    }
    named = re.findall(r"`([A-Z]\w+)\.(\w+)`", text)

    assert ("PublicationImage", "track_rebuild") in named
    assert [f"{owner}.{name}" for owner, name in named if name not in methods.get(owner, ())] == []


@cache
def names_of_product():
    return {name for file in sources("aeron_core", "plugins") for name in file.defined_names}


@cache
def other_texts():
    """Return the text of each file of the tests and the documentation; to parse all of them takes seconds."""
    return {
        path: path.read_text(encoding="utf-8")
        for folder in ("tests", "docs")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@cache
def is_defined(name):
    """Return whether a source file defines a name; parse of the tests only the files that have it."""
    return name in names_of_product() or any(
        name in source(path).defined_names for path, text in other_texts().items() if name in text
    )


@cache
def fields_of_params():
    return {name for file in sources("aeron_core", "plugins") for name in file.fields_of_params}


# CamelCase, CONSTANT, _private, or with underscores: other code spans are commands, settings and labels.
CODE_NAME = r"`(_?[A-Z]\w*[a-z]\w*|[A-Z]+_[A-Z_]+|_\w+|[a-z]+(?:_[a-z]+)+)`"

GUIDES = [ROOT / "docs" / "explanation" / "architecture.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]

#: Names of other programs and libraries, a key of the resolver `driver`, a state of Kubernetes, and a suffix.
FOREIGN_NAMES = {
    *("AeronStat", "BacklogStat", "ErrorStat", "LogInspector", "LossStat", "StreamStat"),
    *("aeron_stat", "error_stat", "loss_stat", "Cython", "Pair1"),
    # As an application of Prometheus or OpenTelemetry writes them.
    *("aeron_query_lag_bytes", "aeron_query_lag_seconds", "node_exporter", "_total"),
    *("OTEL_METRIC_EXPORT_INTERVAL", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_CERTIFICATE"),
    *("OTEL_RESOURCE_ATTRIBUTES",),
    *group_secret.OPTIONS,
    *("AWS_ACCESS_KEY_ID", "CLOCK_REALTIME", "bootstrap_neighbor", "OOMKilled", "_async"),
    "PYSPARK_PYTHON",
}


def names_in_text(text):
    """Return the names of code in the prose of a page, apart from those that its examples have."""
    blocks = re.findall(r"^```.*?^```", text, re.M | re.S)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return [
        name
        for name in re.findall(CODE_NAME, prose)
        if not any(re.search(rf"\b{name}\b", block) for block in blocks)
    ]


@cache
def exported_metrics():
    """Return the names that Prometheus gives to the metrics of drivers and recorders."""
    labelled = [Sample(metric, ("",) * len(metric.labels), 0) for metric in (*METRICS, *RECORDER_METRICS)]
    families = DriverCollector(lambda: labelled).collect()
    return {sample.name for family in families for sample in family.samples}


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_names_in_the_guides_exist(path):
    named = names_in_text(path.read_text(encoding="utf-8"))
    known, settings = FOREIGN_NAMES | exported_metrics(), page("settings.md")

    missing = [
        name
        for name in named
        if name not in known
        and not is_defined(name)
        and not hasattr(builtins, name)
        and not (name.startswith("AERON_") and f"`{name}`" in settings)
        and not is_there(name)
    ]

    assert missing == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_fields_of_params_in_the_guides_exist(path):
    named = re.findall(r"\bparams\.(?!py\b)(\w+)", path.read_text(encoding="utf-8"))

    assert [name for name in named if name not in fields_of_params()] == []


def test_names_in_a_text_are_those_of_code():
    text = "`ImageParams` has `_idle` and `term_length`.\n```python\nmy_module = 1\n```\n`my_module` `driver`"

    assert names_in_text(text) == ["ImageParams", "_idle", "term_length"]
    assert "connections" in fields_of_params()


def test_a_missing_path_module_and_attribute_are_detected():
    text = (
        "`aeron_core/no_file.py` `tests/interop/` "
        "`aeron_core.no_module` `aeron_core.errors.NoError` `aeron_core.connect`"
    )

    assert list(repository_paths(text)) == ["aeron_core/no_file.py", "tests/interop/"]
    assert [is_there(name) for name in modules(text)] == [False, False, True]


def test_every_page_is_reachable_from_the_front_page():
    docs = ROOT / "docs"
    linked = {
        (index.parent / target).resolve()
        for index in (docs / "README.md", docs / "decisions" / "index.md")
        for target in re.findall(r"\]\(([^)#]+)", index.read_text(encoding="utf-8"))
        if "://" not in target
    }

    assert {path.resolve() for path in docs.rglob("*.md")} - linked - {docs / "README.md"} == set()
