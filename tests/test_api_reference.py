"""The Python reference of the documentation: every public name and member, and every name that a reader imports."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pyspark_aeron
import pytest
from pydantic import BaseModel

import aeron_core
from aeron_core.cli.driver.new_plugin import PluginKind
from aeron_core.cli.main import run
from aeron_core.spi import congestion_control, flow_control

ROOT = Path(__file__).parent.parent
#: Loads all pages from the folder of their trees, and prints the names of all documented objects, the names by which
#: the objects of PACKAGES are documented, and the other way round, from the names in its input to those.
READ = """
import json, sys
from sphinx.application import Sphinx
app = Sphinx("docs", "docs", sys.argv[1], sys.argv[1], "dummy", status=None, warningiserror=True)
app.builder.read()
from api_sources import PACKAGES, member_of, public_names, public_paths
names = {f"{package}.{name}" for package in PACKAGES for name in public_names(package)} | set(json.load(sys.stdin))
paths = {name: member_of(name) for name in names}
paths = {name: public_paths().get(found.path, found.path) for name, found in paths.items() if not found.is_module}
print(json.dumps([[*app.env.domains.python_domain.objects], PACKAGES, paths]))
"""
PACKAGES = (
    *("aio", "archive", "archive.aio", "device", "errors", "observation", "recording", "resilient"),
    *("resilient.aio", "settings", "settings.variables", "spi", "testing", "testing.conformance"),
)
MODULES = [aeron_core, *(importlib.import_module(f"aeron_core.{name}") for name in PACKAGES), pyspark_aeron]
OURS = ("aeron_core", "aeron_media", "pyspark_aeron")

pytestmark = pytest.mark.system


def names_of(module):
    """Return the public names of a package: its `__all__`, or what it defines."""
    names = getattr(module, "__all__", None) or [
        name
        for name, found in vars(module).items()
        if callable(found) and found.__module__ == module.__name__ and name[0] != "_" and name != "T"
    ]
    return [name for name in names if name != "__version__" and not inspect.ismodule(getattr(module, name))]


def imported(code):
    """Yield the names of our packages that Python code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(text):
    """Yield the names of our packages that a page has: in code to copy, and with their modules in its text."""
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        yield from imported(block)
    yield from re.findall(rf"`((?:{'|'.join(OURS)})(?:\.\w+)*\.[A-Z]\w+)", text)
    yield from re.findall(rf"`((?:{'|'.join(OURS)})(?:\.\w+)+)\(", text)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return the names that guides, examples and new plugins import, each with a file that does."""
    found = {}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    for path in [*pages, ROOT / "docs" / "reference" / "hooks.md"]:
        found |= dict.fromkeys(named(path.read_text(encoding="utf-8")), path.name)
    notebook = json.loads((ROOT / "examples" / "live_plot.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            found |= dict.fromkeys(imported("".join(cell["source"])), "live_plot.ipynb")
    folder = tmp_path_factory.mktemp("plugins")
    # Names of their own: a test of this process may have imported a new plugin, whose name is taken then.
    for kind in PluginKind:
        assert run(["plugins", "new", f"shown-{kind}", "--kind", kind, "--to", str(folder)]) == 0
    for kind in ("flow-control", "congestion"):
        arguments = [
            "plugins",
            "new",
            f"shown-fast-{kind}",
            "--kind",
            kind,
            "--to",
            str(folder),
            "--compiled",
        ]
        assert run(arguments) == 0
    for path in [*(ROOT / "examples").rglob("*.py"), *folder.rglob("*.py")]:
        found |= dict.fromkeys(imported(path.read_text(encoding="utf-8")), path.name)
    return found


@pytest.fixture(scope="module")
def reference(shown, documentation):
    """Return the names of the documented objects, and by other names of an object the one that documents it."""
    done = subprocess.run(
        [sys.executable, "-c", READ, documentation.trees],
        cwd=ROOT,
        env=documentation.environment,
        input=json.dumps(sorted(shown)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    objects, packages, paths = json.loads(done.stdout)
    assert [module.__name__ for module in MODULES if module.__name__ not in packages] == []
    return set(objects), paths


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_of_a_package_is_documented(module, reference):
    objects, paths = reference

    names = [f"{module.__name__}.{name}" for name in names_of(module)]

    assert names
    assert [name for name in names if paths[name] not in objects] == []


def test_every_name_that_a_guide_an_example_or_a_new_plugin_imports_is_documented(shown, reference):
    objects, paths = reference

    assert {"aeron_core.connect", "aeron_core.spi.hookspecs.FlowControlFactory"} <= shown.keys()
    assert {"pyspark_aeron.lag_metrics.LagMetrics", "aeron_core.errors.ConfigurationError"} <= shown.keys()
    assert {name: shown[name] for name in paths if name in shown and not {name, paths[name]} & objects} == {}


CLASSES = {
    f"{module.__name__}.{name}": kind
    for module in MODULES
    for name in names_of(module)
    if isinstance(kind := getattr(module, name), type)
}


def members_of(kind):
    """Return the names of the public members of a class that its own packages define."""
    # Internal: for other modules of the package.
    internal = re.compile(
        r"\b[Ff]or (the client's conductor|the supervisor|claims|images|compiled callers)\b"
    )
    # pytest calls the tests of a suite. Fields of settings are in tables; three attributes are for the models' makers.
    makers = {"model_config", "model_name", "fields"}
    fields = makers | kind.model_fields.keys() if issubclass(kind, BaseModel) else set()
    return {
        name
        for each in kind.__mro__
        if each.__module__.partition(".")[0] in OURS
        for name, member in vars(each).items()
        if not name.startswith(("_", "test_")) and not internal.search(inspect.getdoc(member) or "")
    } - fields


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_member_of_a_class_is_documented(name, reference):
    objects, paths = reference

    kind = CLASSES[name]
    # Members may be documented with a base class.
    classes = {paths[other] for other, base in CLASSES.items() if base in kind.__mro__}
    documented = {path.rpartition(".")[2] for path in objects if path.rpartition(".")[0] in classes}
    assert members_of(kind) - documented == set()


@pytest.mark.parametrize("module", [flow_control, congestion_control], ids=lambda module: module.__name__)
def test_the_methods_that_a_plugin_implements_are_documented(module, reference):
    objects, _ = reference
    kind = "".join(map(str.title, module.__name__.rpartition(".")[2].split("_")))

    missing = [name for name in module.METHODS if f"aeron_core.spi.{kind}.{name}" not in objects]

    assert missing == []
