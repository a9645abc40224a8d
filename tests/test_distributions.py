"""The source distribution and the wheel have every file that they need; `make dist-check` also installs the wheel.

Built without compiling, from a copy of the tracked files: what is missing here is missing after any build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

pytestmark = [pytest.mark.system, pytest.mark.skipif(shutil.which("git") is None, reason="no git")]

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
#: What setup.py imports.
BUILD_MODULES = ("compile_flags.py", "compiler.py", "translation.py")
SOURCES = {".css", ".h", ".js", ".pxd", ".py", ".pyi", ".pyx", ".typed"}


def tracked() -> list[PurePosixPath]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [PurePosixPath(name) for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def packaged() -> set[PurePosixPath]:
    """Return what the packages declare and contain in Python, with the paths in a wheel; without native sources."""
    return {
        path if path.parts[0] == "aeron_core" else path.relative_to(*path.parts[:2])
        for path in tracked()
        if path.suffix in SOURCES - {".pyx"}
        and (path.parts[0] == "aeron_core" or (path.parts[0] == "plugins" and len(path.parts) > 3))
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """Copy the tracked files."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in tracked():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path)
    return copy


def build(checkout: Path, kind: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{kind}", "dist"],
        cwd=checkout,
        env=os.environ | {"AERON_CORE_COMPILED_ELSEWHERE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return checkout / "dist" / done.stdout.splitlines()[-1]


def test_the_source_distribution_has_every_source_and_the_build_rule(checkout):
    with tarfile.open(build(checkout, "sdist")) as archive:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()}

    sources = {
        path for path in tracked() if path.parts[0] in {"aeron_core", "plugins"} and path.suffix in SOURCES
    }
    assert len(sources) > 400
    assert sources - names == set()
    assert {PurePosixPath(name) for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE")} <= names


def test_the_source_distribution_is_small_and_contains_sources_only(checkout):
    path = build(checkout, "sdist")
    with tarfile.open(path) as archive:
        names = [
            PurePosixPath(*PurePosixPath(member.name).parts[1:]) for member in archive if member.isfile()
        ]

    assert path.stat().st_size <= 1_500_000
    assert {name.parts[0] for name in names} == {
        *("LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "setup.py"),
        *("aeron_core", "aeron_core.egg-info", "licenses", "plugins", "tools"),
    }
    build_rule = {f"tools/{name}" for name in BUILD_MODULES}
    assert {str(name) for name in names if name.parts[0] == "tools"} == build_rule
    packaged = [name for name in names if name.parts[0] in {"aeron_core", "plugins"}]
    # The sources of the reader in Java are built in a checkout, not from the distribution; its jar is in wheels.
    assert {name.suffix for name in packaged} - SOURCES == {".log", ".toml", ".java", ".DataSourceRegister"}


def test_the_wheel_has_every_source_that_third_parties_import_or_cimport(checkout):
    with zipfile.ZipFile(build(checkout, "wheel")) as archive:
        names = {PurePosixPath(name) for name in archive.namelist()}

    # No plugin may use the declarations of these.
    private = {"aeron_core/driver", "aeron_core/recording", "aeron_core/testing"}
    inner = {
        path
        for path in packaged()
        if path.suffix in {".pxd", ".h"}
        and (path.parts[0] != "aeron_core" or "/".join(path.parts[:2]) in private)
    }
    assert packaged() - names == inner
    assert not any(name.parts[0] in {"tests", "benchmarks", "docs", "examples", "tools"} for name in names)


@pytest.fixture(scope="module")
def environment(checkout, tmp_path_factory) -> Path:
    """Return the Python of an environment with an editable installation of the checkout."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(build(checkout, "editable")) as archive:
        archive.extractall(packages)
    # The dependencies, but no `.pth` file of theirs: Python and type checkers read those of the environment only.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder / "bin" / "python"


def test_an_editable_installation_finds_every_package_by_its_path(environment, checkout):
    packages = sorted({path.parts[0] for path in packaged()})
    code = "import importlib.util, sys; [print(importlib.util.find_spec(n).origin) for n in sys.argv[1:]]"

    found = subprocess.run(
        [environment, "-I", "-c", code, *packages], capture_output=True, text=True, check=True, cwd="/"
    ).stdout.split()

    assert len(packages) == 7
    assert [Path(path).parent.name for path in found] == packages
    assert all(Path(path).is_relative_to(checkout.resolve()) for path in found)


def type_checked(command: list[str | Path], program: str, folder: Path) -> tuple[int, str]:
    """Run a type checker on a program away from the checkout; return its exit code and output."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [*command, "program.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def mypy(environment, tmp_path_factory) -> list[str | Path]:
    """Return a command whose runs share what mypy has read of the packages and their dependencies."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    return [
        *(sys.executable, "-m", "mypy", "--strict"),
        *("--cache-dir", cache, "--python-executable", environment),
    ]


PROGRAM = """
import pyspark_aeron
from aeron_core import Publication, connect
from aeron_flow_control.plugin import aeron_flow_controls
from aeron_media.udp.plugin import aeron_media_transports

def publish(publication: Publication) -> str:
    return publication.offer(b"hello")

def names() -> list[str]:
    with connect() as aeron:
        aeron.no_such_method()
    return [*aeron_flow_controls(), *aeron_media_transports(), pyspark_aeron.__name__]
"""


def test_mypy_reads_the_types_of_an_editable_installation(mypy, tmp_path):
    code, out = type_checked(mypy, PROGRAM, tmp_path)

    assert code == 1
    assert re.findall(r"\[([a-z-]+)\]$", out, re.M) == ["return-value", "attr-defined"], out


def first_example(guide: str) -> str:
    """Return the first example of a guide: a whole module."""
    text = (ROOT / "docs" / "how-to" / guide).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]


@pytest.fixture
def guide(request) -> str:
    """Return the first example of a guide."""
    return first_example(request.param)


GUIDES = [
    "write-a-congestion-control.md",
    "write-a-flow-control.md",
    "write-a-medium.md",
    "write-a-name-resolver.md",
    "survive-a-driver-restart.md",
]

RESILIENT_PROGRAM = """
from array import array

import aeron_core
from aeron_core import aio, resilient
from typing_extensions import assert_never, assert_type

def handle(event: resilient.Event) -> None:
    match event:
        case resilient.Disconnected() | resilient.ReconnectFailed() | resilient.Reconnected():
            pass
        case resilient.PublicationRestored() | resilient.SubscriptionRestored() | resilient.CounterRestored():
            pass
        case resilient.ImageRestored() | resilient.RestoreFailed() | resilient.Restored() | resilient.GaveUp():
            pass
        case _:
            assert_never(event)

async def main(aeron: resilient.ResilientAeron, plain: aeron_core.Aeron) -> None:
    assert_type(await aio.add_publication(aeron, "aeron:ipc", 1), resilient.ResilientPublication)
    assert_type(await aio.add_publication(plain, "aeron:ipc", 1), aeron_core.Publication)
    assert_type(await aio.add_subscription(aeron, "aeron:ipc", 1), resilient.ResilientSubscription)
    assert_type(await aio.add_subscription(plain, "aeron:ipc", 1), aeron_core.Subscription)
    assert_type(await aio.add_counter(aeron, 1), resilient.ResilientCounter)
    assert_type(await aio.result(plain.add_publication_async("aeron:ipc", 1)), aeron_core.Publication)
    with aeron.add_exclusive_publication("aeron:ipc", 1) as publication:
        assert_type(publication, resilient.ResilientExclusivePublication)
        assert_type(publication.offer_batch(b"x", array("q", [0, 1])), int)
    assert_type(aeron_core.resilient.connect(on_event=handle), resilient.ResilientAeron)
"""


@pytest.mark.parametrize("guide", GUIDES, indirect=True)
def test_mypy_accepts_the_examples_of_the_guides(mypy, guide, tmp_path):
    code, out = type_checked(mypy, guide, tmp_path)

    assert code == 0, out


@pytest.fixture(scope="module")
def pyright(environment, tmp_path_factory) -> Callable[[str], list[str]]:
    """Return a function that returns what pyright reports of a program, as `RULE: MESSAGE`.

    One run with its rules for strict types, which basedpyright contains beside its own, reads all programs.
    """
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no basedpyright in the environment of the tests")
    folder = tmp_path_factory.mktemp("pyright")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    programs = [*map(first_example, GUIDES), RESILIENT_PROGRAM, PROGRAM]
    for number, text in enumerate(programs):
        (folder / f"program_{number}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [program, "--pythonpath", environment, "--outputjson"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(programs), done.stdout + done.stderr

    def reported(text: str) -> list[str]:
        name = f"program_{programs.index(text)}.py"
        return [
            f"{each.get('rule')}: {each['message']}"
            for each in report["generalDiagnostics"]
            if Path(each["file"]).name == name and each["severity"] in {"error", "warning"}
        ]

    return reported


@pytest.mark.parametrize("guide", GUIDES, indirect=True)
def test_pyright_accepts_the_examples_of_the_guides(pyright, guide):
    assert pyright(guide) == []


def test_mypy_reads_the_types_of_the_resilient_client(mypy, tmp_path):
    code, out = type_checked(mypy, RESILIENT_PROGRAM, tmp_path)

    assert code == 0, out


def test_pyright_reads_the_types_of_the_resilient_client(pyright):
    assert pyright(RESILIENT_PROGRAM) == []


def test_pyright_reads_the_types_of_an_editable_installation(pyright):
    out = "\n".join(pyright(PROGRAM))

    assert "reportReturnType" in out
    assert "reportAttributeAccessIssue" in out
    assert "reportMissingImports" not in out


@pytest.fixture
def repository(tmp_path) -> Path:
    """Commit the build rule to a repository of its own."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, tmp_path / name)
    for name in ("aeron_core", "tools"):
        (tmp_path / name).mkdir()
    for name in BUILD_MODULES:
        shutil.copy2(ROOT / "tools" / name, tmp_path / "tools")
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x")
    return tmp_path


def run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def run_build_rule(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "setup.py", *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def recorded_commit(folder: Path, command: str = "build") -> str:
    """Return the commit that a build leaves for `aeron_core.version`."""
    done = run_build_rule(folder, command, AERON_CORE_COMPILED_ELSEWHERE="1")
    assert done.returncode == 0, done.stderr
    return (folder / "aeron_core" / "commit.txt").read_text()


def test_a_build_records_its_commit_in_the_form_of_the_reference(repository):
    commit = run_git(repository, "log", "-1", "--format=%h", "--abbrev=10")

    assert recorded_commit(repository) == commit
    with (repository / "README.md").open("a") as file:
        file.write("change")
    assert recorded_commit(repository) == f"{commit}+guilty"
    shutil.rmtree(repository / ".git")
    assert recorded_commit(repository) == f"{commit}+guilty"


@pytest.mark.parametrize("command", ["build", "build_ext --inplace", "sdist", "editable_wheel"])
def test_every_kind_of_build_records_the_commit(repository, command):
    (repository / "aeron_core" / "__init__.py").touch()
    name, *options = command.split()

    done = run_build_rule(repository, name, *options, CC="true", AERON_CORE_COMPILED_ELSEWHERE="1")

    assert done.returncode == 0, done.stderr
    commit = run_git(repository, "log", "-1", "--format=%h", "--abbrev=10")
    assert (repository / "aeron_core" / "commit.txt").read_text() == commit


@pytest.mark.parametrize(
    ("command", "compiler"),
    [("build", "no-such-compiler"), ("build_ext --inplace", "false"), ("--name", "gcc")],
)
def test_a_build_that_fails_or_a_query_records_no_commit(repository, command, compiler):
    for name in ("__init__.py", "compiled.py", "compiled.pxd"):
        (repository / "aeron_core" / name).touch()

    done = run_build_rule(repository, *command.split(), CC=compiler)

    assert (done.returncode == 0) == (command == "--name"), done.stderr
    assert not (repository / "aeron_core" / "commit.txt").exists()


def test_distributions_contain_the_recorded_commit(checkout):
    (checkout / "aeron_core" / "commit.txt").write_text("0123456789")

    with tarfile.open(build(checkout, "sdist")) as archive:
        assert any(name.endswith("/aeron_core/commit.txt") for name in archive.getnames())
    with zipfile.ZipFile(build(checkout, "wheel")) as archive:
        assert archive.read("aeron_core/commit.txt") == b"0123456789"
