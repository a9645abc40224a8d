"""Names on the pages are those of the code, and names of the code that users need are on the pages."""

import ast
import builtins
import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from aeron_security import group_secret

from aeron_core.cli.records.recorder_metrics import METRICS as RECORDER_METRICS
from aeron_core.metrics.prometheus import DriverCollector
from aeron_core.metrics.samples import METRICS, Sample
from aeron_core.uri.keys import CHANNEL_KEYS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")])


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


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
def test_modules_in_the_text_exist(path):
    assert [name for name in modules(path.read_text(encoding="utf-8")) if not is_there(name)] == []


def test_a_missing_module_and_attribute_are_detected():
    text = "`aeron_core/no_file.py` `aeron_core.no_module` `aeron_core.errors.NoError` `aeron_core.connect`"

    assert [is_there(name) for name in modules(text)] == [False, False, True]


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
