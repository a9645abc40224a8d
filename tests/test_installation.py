"""A wheel is small and complete, works without a compiler, and satisfies each `pip install` of the documentation.

All tests use one wheel, which is built from a source distribution with the modules compiled in place, and repaired as
`make wheels` does it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
BUILT = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
PYTHON_PACKAGES = ("aeron_core", "plugins")
MEGABYTE = 1_000_000
#: As in `tools/wheels` and for cibuildwheel.
COMPRESSION = ("--zip-compression-level", "9")

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("git") is None, reason="no git"),
    pytest.mark.skipif(not (ROOT / "build" / "cython").is_dir(), reason="not compiled in place"),
]


def run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with what is installed only; a checkout on PYTHONPATH would count as installed."""
    inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def pip(folder: Path, *arguments: str | Path) -> str:
    """Run pip and return its output."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = run(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def sources(spark_jar, tmp_path_factory) -> Path:
    """Unpack a source distribution, and put beside it what was built in place, so that a wheel compiles nothing."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    checkout, unpacked = (tmp_path_factory.mktemp(name) for name in ("checkout", "unpacked"))
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    if spark_jar is not None:
        # As `make build` and `make wheels` do, before they pack the sources.
        shutil.copy2(spark_jar, checkout / spark_jar.relative_to(ROOT))
    packing = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    done = run([sys.executable, "-c", packing], checkout, AERON_CORE_COMPILED_ELSEWHERE="1")
    assert done.returncode == 0, done.stderr
    (packed,) = (checkout / "dist").glob("*.tar.gz")
    shutil.unpack_archive(packed, unpacked)
    (copy,) = unpacked.iterdir()
    for name in PYTHON_PACKAGES:
        for path in (ROOT / name).rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            relative = path.relative_to(ROOT)
            if relative.parts[0] == "plugins":
                relative = relative.relative_to(*relative.parts[:2])
            target = copy / "build" / BUILT / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    # Only read, since it is newer than the sources.
    (copy / "build" / "cython").symlink_to(ROOT / "build" / "cython")
    return copy


@pytest.fixture(scope="module")
def wheel(sources) -> Path:
    """Return a manylinux wheel in the folder `wheelhouse` of the sources."""
    # Those of the environment, activated or not, come first.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if not all(shutil.which(name, path=path) for name in ("auditwheel", "patchelf")):
        pytest.skip("no auditwheel or no patchelf")
    pip(sources, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", "built", ".")
    (built,) = (sources / "built").glob("*.whl")
    done = run(["auditwheel", "repair", *COMPRESSION, "--wheel-dir", "wheelhouse", built], sources, PATH=path)
    assert done.returncode == 0, done.stderr
    (repaired,) = (sources / "wheelhouse").glob("*.whl")
    return repaired


@pytest.fixture(scope="module")
def environment(sources, wheel, tmp_path_factory) -> Path:
    """Return the folder of an environment where aeron-core is installed from the folder with the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip(sources, "--python", python, "install", "--no-deps", "--no-index", "--find-links", "wheelhouse",
        "aeron-core")  # fmt: skip
    # Dependencies are those of the environment that runs the tests, which needs no package index.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder


def test_the_wheel_needs_no_library_but_those_of_every_linux(wheel):
    assert re.search(r"-manylinux_2_\d+_\w+\.whl$", wheel.name)


def test_the_wheel_contains_the_license_of_the_library_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith("/licenses/licenses/isa-l.txt") for name in archive.namelist())


def test_cibuildwheel_builds_for_each_supported_python():
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if shutil.which("cibuildwheel", path=path) is None:
        pytest.skip("no cibuildwheel")

    done = run(["cibuildwheel", "--print-build-identifiers", "--platform", "linux", "--archs", "x86_64"], ROOT,
               PATH=path)  # fmt: skip

    assert done.stdout.split() == [
        f"cp{version}-manylinux_x86_64" for version in ("311", "312", "313", "314", "314t")
    ], done.stderr


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size <= 5 * MEGABYTE


def test_the_wheel_contains_an_extension_of_each_compiled_module_but_no_generated_code(sources, wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist() if not name.endswith("/")]
    packages = [name for name in names if not name.parts[0].endswith((".dist-info", ".libs"))]

    assert {name.suffix for name in packages} - {".jar"} == {
        ".css",
        ".h",
        ".js",
        ".log",
        ".pxd",
        ".py",
        ".pyi",
        ".so",
        ".toml",
        ".typed",
    }
    hot = {name.with_suffix("") for name in declared(sources) if name.stem != "__init__"}
    with_sources = {name.with_suffix("") for name in packages if name.suffix == ".py"} | {
        name.with_suffix("") for name in declared(sources, ".pyx")
    }
    extensions = {name.with_name(name.name.split(".")[0]) for name in packages if name.suffix == ".so"}
    assert len(extensions) > 100
    assert extensions == hot & with_sources


def declared(sources, suffix=".pxd"):
    """Return the files of packages with a suffix, as they are named in a wheel."""
    packages = [path for name in PYTHON_PACKAGES for path in (sources / name).rglob(f"*{suffix}")]
    relative = [path.relative_to(sources) for path in packages]
    # The packages of plugins are in folders of the repository that a wheel does not have.
    return {PurePosixPath(*path.parts[2 if path.parts[0] == "plugins" else 0 :]) for path in relative}


def test_the_wheel_contains_the_declarations_that_plugins_use_and_no_others(sources, wheel):
    private = ("aeron_core/driver/", "aeron_core/recording/", "aeron_core/testing/")
    of_plugins = {
        name
        for suffix in (".pxd", ".h")
        for name in declared(sources, suffix)
        if name.parts[0] == "aeron_core" and not str(name).startswith(private)
    }

    with zipfile.ZipFile(wheel) as archive:
        names = {PurePosixPath(name) for name in archive.namelist() if name.endswith((".pxd", ".h"))}

    assert names == of_plugins
    assert PurePosixPath("aeron_core/spi/flow_control.pxd") in names
    declarations = [sources / name for name in names if name.suffix == ".pxd"]
    used = {
        word
        for path in declarations
        for word in re.findall(r"^from (\S+) cimport", path.read_text("utf-8"), re.M)
    }
    assert not [name for name in used if f"{name.replace('.', '/')}/".startswith(private)]


def test_extensions_in_the_wheel_have_no_debug_information(wheel):
    elffile = pytest.importorskip("elftools.elf.elffile")

    unstripped = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                with archive.open(name) as file:
                    sections = {section.name for section in elffile.ELFFile(file).iter_sections()}
                unstripped += [name] if sections & {".debug_info", ".symtab"} else []

    assert unstripped == []


def test_the_demo_runs_without_a_compiler(environment, tmp_path):
    binaries = environment / "bin"
    assert shutil.which("gcc", path=str(binaries)) is None

    done = run([binaries / "aeron-core", "demo"], tmp_path, PATH=str(binaries))

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"every line, in order +yes", done.stdout)


def test_the_smoke_test_of_wheels_passes(environment, tmp_path):
    done = run([environment / "bin" / "python", ROOT / "tools" / "smoke-test"], tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("sent and received") == 2
    assert "Python: the GIL is enabled" in done.stdout


def test_the_installed_wheel_has_the_reader_for_the_java_of_spark(spark_jar, environment, tmp_path):
    if spark_jar is None:
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")

    find = "from pyspark_aeron.session import jvm_reader_jar; print(jvm_reader_jar())"
    done = run([environment / "bin" / "python", "-c", find], tmp_path)

    assert done.returncode == 0, done.stderr
    installed = Path(done.stdout.strip())
    assert installed.is_relative_to(environment)
    # The one that the tests in tests/plugins/spark run.
    assert installed.read_bytes() == spark_jar.read_bytes()


def test_the_installed_command_writes_a_new_plugin(environment, tmp_path):
    done = run(
        [
            environment / "bin" / "aeron-core",
            "plugins",
            "new",
            "mine",
            "--kind",
            "flow-control",
            "--compiled",
        ],
        tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "mine" / "src" / "mine" / "strategy.pxd").is_file()


def install_commands() -> list[str]:
    """Return the arguments of each `pip install` of the documentation and of the examples."""
    found = set()
    pages = [path for name in ("docs", "examples") for path in (ROOT / name).rglob("*.md")]
    for page in [ROOT / "README.md", *sorted(pages)]:
        for arguments in re.findall(r"pip install ([^`\n#]+)", page.read_text(encoding="utf-8")):
            found.add(shlex.join(shlex.split(arguments)))
    return sorted(found)


COMMANDS = install_commands()


def test_the_documentation_installs_aeron_core_in_several_forms():
    assert "." in COMMANDS
    assert sum("'.[" in arguments for arguments in COMMANDS) >= 5
    assert sum("aeron-core[" in arguments for arguments in COMMANDS) >= 3


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_installation_of_the_documentation_names_a_checkout_or_a_folder_of_wheels(arguments):
    parts = shlex.split(arguments)

    # No package index has aeron-core.
    assert "--find-links" in parts or any(part == "." or part.startswith(".[") for part in parts)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_installation_of_the_documentation_is_possible(arguments, sources, environment):
    parts = shlex.split(arguments)

    out = pip(
        sources, "--python", environment / "bin" / "python", "install", "--dry-run", "--no-build-isolation",
        "--no-index", "--find-links", "wheelhouse", *parts,
    )  # fmt: skip

    # A misspelt extra is only a warning of pip.
    assert "does not provide the extra" not in out


def packed(name: str, folder: Path) -> None:
    """Pack the files of an installed distribution into a wheel again."""
    found = distribution(name)
    (tag,) = re.findall(r"^Tag: (\S+)", found.read_text("WHEEL"), re.M)[:1]
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag}.whl", "w") as archive:
        for path in found.files:
            if ".." not in path.parts and path.suffix != ".pyc":
                archive.write(path.locate(), str(path))


def test_a_compiled_plugin_is_built_with_aeron_core_from_a_folder(sources, environment, tmp_path):
    shutil.copytree(ROOT / "tests" / "spi" / "third_party", tmp_path / "plugin")
    for name in ("Cython", "setuptools"):
        packed(name, sources / "wheelhouse")

    # The environment that pip makes for the build needs no dependencies.
    done = run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            environment / "bin" / "python",
            "install",
            tmp_path / "plugin",
        ],
        tmp_path,
        PIP_NO_DEPS="1",
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(sources / "wheelhouse"),
        CFLAGS="-O0",  # compiles in half of the time
    )

    assert done.returncode == 0, done.stdout + done.stderr
    listed = run([environment / "bin" / "aeron-core", "plugins", "list"], tmp_path).stdout
    assert re.search(r"^stranger +stranger-flow 1\.2\.3 ", listed, re.M)


def test_every_extra_is_documented_in_an_installation(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())

    named = {
        extra
        for line in COMMANDS
        for group in re.findall(r"\[([\w,-]+)\]", line)
        for extra in group.split(",")
    }
    assert named == set(metadata.get_all("Provides-Extra"))
