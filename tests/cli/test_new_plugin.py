"""`aeron-core plugins new`: what it writes is installed, tested, checked and used as by its new owner."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_environment import installed_in

from aeron_core.cli.driver.new_plugin import PluginKind
from aeron_core.cli.main import run

ROOT = Path(__file__).parents[2]
COMPILED = ("flow-control", "congestion")
PROGRAM = Path(__file__).with_name("support") / "use_new_plugins.py"


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables with which Python finds no driver of the user."""
    return os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "AERON_DIR": str(folder / "no-driver"),
        "PYTEST_ADDOPTS": "",
    }


@pytest.fixture(scope="module")
def plugins(tmp_path_factory) -> Path:
    """Return a folder with a distribution of each kind, `my-KIND`, and of each compiled kind, `fast-KIND`."""
    folder = tmp_path_factory.mktemp("plugins")
    for kind in PluginKind:
        assert run(["plugins", "new", f"my-{kind}", "--kind", kind, "--to", str(folder)]) == 0
    for kind in COMPILED:
        arguments = ["plugins", "new", f"fast-{kind}", "--kind", kind, "--to", str(folder), "--compiled"]
        assert run(arguments) == 0
    return folder


@pytest.fixture(scope="module")
def python(plugins, tmp_path_factory) -> Path:
    """Return the Python of a new environment, with the packages of this one, in which pip has installed them all.

    As their pages ask for, with -e, except two as their CI files do.
    """
    copied = ("my-medium", "fast-congestion")
    folders = [
        part
        for path in sorted(plugins.iterdir())
        for part in ([path] if path.name in copied else ["-e", path])
    ]
    return installed_in(tmp_path_factory.mktemp("environment"), *folders)


def test_the_new_folder_has_what_a_distribution_needs(plugins):
    written = plugins / "my-flow-control"

    assert {str(path.relative_to(written)) for path in written.rglob("*") if path.is_file()} >= {
        *(".github/workflows/test.yml", "README.md", "pyproject.toml", "tests/test_my_flow_control.py"),
        *("src/my_flow_control/plugin.py", "src/my_flow_control/py.typed"),
    }
    assert "python-version: ${{ matrix.python }}" in (written / ".github/workflows/test.yml").read_text()


@pytest.mark.system
def test_the_workflow_of_every_kind_is_valid(plugins):
    pytest.importorskip("check_jsonschema")
    workflows = sorted(plugins.glob("*/.github/workflows/*.yml"))
    assert len(workflows) == len(PluginKind) + len(COMPILED)

    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.system
@pytest.mark.parametrize("name", ["my-flow-control", "fast-flow-control"])
def test_the_installation_of_the_page_imports_the_sources(plugins, python, tmp_path, name):
    isolation = "--no-build-isolation " if name.startswith("fast") else ""
    page = (plugins / name / "README.md").read_text(encoding="utf-8")
    assert f"python -m pip install {isolation}-e '.[test]'\n" in page
    module = name.replace("-", "_")

    shown = subprocess.run(
        [python, "-c", f"import {module}.strategy as strategy; print(strategy.__file__)"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout

    assert Path(shown.strip()).parent == plugins / name / "src" / module


@pytest.mark.system
def test_the_tests_of_every_kind_pass(plugins, python, tmp_path):
    # Those of the decoder are in tests/plugins/spark/test_new_decoder.py: a session takes half a minute to start.
    folders = [path / "tests" for path in plugins.iterdir() if path.name != "my-decoder"]
    pytest_ = (python, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider")

    done = subprocess.run(
        [*pytest_, f"--rootdir={plugins}", *folders],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


@pytest.mark.system
def test_every_kind_has_the_types_that_a_strict_check_asks_for(plugins, tmp_path):
    pytest.importorskip("mypy")
    sources = [path / "src" for path in plugins.iterdir()]
    files = [file for path in plugins.iterdir() for file in path.glob("tests/*.py")]

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *sources, *files],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": os.pathsep.join(map(str, sources))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.system
def test_pyright_accepts_every_kind_with_its_strict_rules(plugins, tmp_path):
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no basedpyright in the environment of the tests")
    sources = [*map(str, plugins.glob("*/src"))]
    rules = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": [str(plugins)]}
    rules["extraPaths"] = [str(ROOT), *map(str, ROOT.glob("plugins/*")), *sources]
    # Types of Cython and Spark.
    rules["exclude"] = [f"{plugins}/*/setup.py"]
    rules |= dict.fromkeys(["reportMissingTypeStubs", "reportUnknownMemberType"], "none")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(rules), encoding="utf-8")

    done = subprocess.run(
        [program, "--project", tmp_path, "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["summary"]["filesAnalyzed"] > 3 * len(PluginKind)


def used(python: Path, folder: Path, spi_version: str = "") -> dict:
    """Run streams through all plugins, on a driver whose SPI version may be another one; return what happened."""
    done = subprocess.run(
        [python, PROGRAM, *([spi_version] if spi_version else [])],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.system
def test_streams_flow_through_the_installed_plugins_of_every_kind(python, tmp_path):
    result = used(python, tmp_path)

    names = (
        *("my-flow-control", "my-congestion", "fast-flow-control", "fast-congestion"),
        *("my-protector", "my-medium"),
    )
    assert result["received"] == dict.fromkeys(names, "hello")
    assert result["errors"] == []
    # The decoder is no plugin of a driver, but of Spark.
    assert {f"my-{kind}" for kind in PluginKind} - set(result["plugins"]) == {"my-decoder"}


@pytest.mark.system
def test_the_decoder_is_installed_for_spark(python, tmp_path):
    program = "from importlib.metadata import entry_points; print(entry_points(group='pyspark_aeron.decoders').names)"

    shown = subprocess.run([python, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout

    assert "my-decoder" in shown


@pytest.mark.system
def test_a_plugin_for_another_spi_version_runs_if_it_is_python_and_is_refused_if_it_is_compiled(
    python, tmp_path
):
    result = used(python, tmp_path, "2")

    assert set(result["received"]) == {"my-flow-control", "my-congestion", "my-protector", "my-medium"}
    assert set(result["refused"]) == {"fast-flow-control", "fast-congestion"}
    for name, text in result["refused"].items():
        assert (
            f"plugin {name!r} of distribution {name!r} 0.1.0 was built for SPI version 1, this aeron-core has 2: "
            "rebuild it against this aeron-core, or install a version that was built against it"
        ) in text


#: `aeron-core` with the SPI version 2.
NEXT_VERSION = """
import sys
from aeron_core._native import wire
from aeron_core.cli.main import main
wire.SPI_VERSION = 2
sys.exit(main())
"""


def run_next_version(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", NEXT_VERSION, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.system
@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("aeron.unicast.flowcontrol.supplier", "fast-flow-control"),
        ("aeron.congestioncontrol.supplier", "fast-congestion"),
    ],
)
def test_a_driver_for_another_spi_version_does_not_start_with_a_compiled_plugin_as_its_default(
    python, tmp_path, setting, name
):
    done = run_next_version(python, tmp_path, "driver", f"-D{setting}={name}")

    assert done.returncode == 1
    assert (
        f": plugin {name!r} of distribution {name!r} 0.1.0 was built for SPI version 1, this aeron-core has 2: "
        "rebuild it against this aeron-core, or install a version that was built against it\n"
    ) in done.stderr
    assert not (tmp_path / "no-driver").exists()


@pytest.mark.system
def test_the_doctor_shows_the_compiled_plugins_that_were_built_for_another_spi_version(python, tmp_path):
    done = run_next_version(python, tmp_path, "doctor", "--json")

    plugins = {
        finding["what"].removeprefix("plugin "): finding
        for finding in json.loads(done.stdout)
        if finding["what"].startswith("plugin ")
    }
    assert done.returncode == 1
    assert {name for name, finding in plugins.items() if finding["health"] == "problem"} == {
        "fast-flow-control",
        "fast-congestion",
    }
    assert plugins["fast-flow-control"]["found"] == "fast-flow-control 0.1.0, built for SPI version 1"
    assert plugins["fast-flow-control"]["wanted"] == "SPI version 2, or plain Python"
    assert plugins["my-flow-control"]["found"] == "my-flow-control 0.1.0, loaded"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("9lives", "must be a letter, then letters, digits"),
        ("short-", "must be a letter, then letters, digits"),
        ("../short", "must be a letter, then letters, digits"),
        ("short bursts", "must be a letter, then letters, digits"),
        ("grüße", "must be a letter, then letters, digits"),
        ("a" * 65, "at most 64 characters"),
        ("json", "its module json exists in this Python already"),
        ("Aeron.Core", "its module aeron_core exists in this Python already"),
        ("lambda", "its module lambda exists in this Python already"),
        ("tagged", "aeron-core has a flow control of this name: choose another name than max, min, tagged"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_in_one_line(aeron, tmp_path, name, fault):
    outcome = aeron("plugins", "new", name, "--kind", "flow-control", "--to", tmp_path)

    assert outcome.code == 2
    assert outcome.err.startswith(f"aeron-core: error: NAME={name}: ")
    assert fault in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_that_of_the_distribution_and_in_lower_case_that_of_its_module(aeron, tmp_path):
    aeron("plugins", "new", "Short.Bursts_FlowControl", "--kind", "flow-control", "--to", tmp_path)

    source = tmp_path / "Short.Bursts_FlowControl" / "src" / "short_bursts_flowcontrol"
    assert '{"short-bursts-flowcontrol": "short_bursts_flowcontrol.strategy:ShortBursts' in (
        source / "plugin.py"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("compiled", [False, True])
def test_the_next_command_installs_what_compiles_a_plugin(aeron, tmp_path, compiled):
    options = ["--compiled"] if compiled else []

    outcome = aeron("plugins", "new", "mine", "--kind", "congestion", "--to", tmp_path, *options)

    tools = "python -m pip install 'setuptools>=77' 'Cython>=3.1' && " if compiled else ""
    isolation = "--no-build-isolation " if compiled else ""
    begin, end = (
        f"next: cd {tmp_path / 'mine'} && {tools}python",
        f"{isolation}-e '.[test]' && python -m pytest",
    )
    assert f"{begin} -m pip install {end}" in outcome.out.splitlines()


@pytest.mark.parametrize("kind", [kind for kind in PluginKind if kind not in COMPILED])
def test_a_kind_without_a_compiled_form_is_refused(aeron, tmp_path, kind):
    outcome = aeron("plugins", "new", "mine", "--kind", kind, "--compiled", "--to", tmp_path)

    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert outcome.err == (
        f"aeron-core: error: --compiled: there is no compiled form of --kind {kind}, only of flow-control and "
        "congestion: leave the option out\n"
    )


def test_what_exists_is_not_overwritten(aeron, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "yours").symlink_to("nothing")

    for name in ("mine", "yours"):
        outcome = aeron("plugins", "new", name, "--kind", "resolver", "--to", tmp_path)

        assert outcome.code == 2
        assert outcome.err.startswith(f"aeron-core: error: {tmp_path / name} exists: choose another name")
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused(aeron, tmp_path):
    outcome = aeron("plugins", "new", "mine", "--kind", "resolver", "--to", tmp_path / "none")

    assert outcome.code == 2
    assert outcome.err == f"aeron-core: error: --to {tmp_path / 'none'}: must be a folder that exists\n"


@pytest.mark.parametrize("written", range(9))
def test_a_full_disk_leaves_no_part_of_a_plugin(aeron, tmp_path, monkeypatch, written):
    write_text = Path.write_text
    calls = []

    def write_some(path, text, **arguments):
        calls.append(path)
        if len(calls) > written:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write_text(path, text, **arguments)

    monkeypatch.setattr(Path, "write_text", write_some)

    outcome = aeron("plugins", "new", "mine", "--kind", "resolver", "--to", tmp_path)

    assert (outcome.code, list(tmp_path.iterdir())) == (1, [])
    assert outcome.err.endswith(": No space left on device\n")


@pytest.mark.parametrize(
    "page",
    [
        "write-a-congestion-control.md",
        "write-a-flow-control.md",
        "write-a-medium.md",
        "write-a-name-resolver.md",
    ],
)
def test_a_guide_has_the_command_before_its_code(page):
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")

    assert 0 < text.index("aeron-core plugins new ") < text.index("```python")
