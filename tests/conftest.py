"""Fixtures for tests of several packages.

Built-in plugins are importable from a checkout that is built in place but not installed.
"""

import ctypes
import gc
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import aeron_core
from aeron_core import MediaDriver, registry
from aeron_core.driver import assembly
from aeron_core.entry_points import entry_points
from aeron_core.protocol.cnc import CncFile, CncLayout

# No deadlines, neither of an example nor of the making of ten: a busy machine must not fail a test.
settings.register_profile("no-deadline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-deadline")

# Drivers of tests and of their processes have few counters: the default of 8m makes a cnc.dat of 46 MB, whose pages
# take most of the time of a start.
os.environ.setdefault("AERON_COUNTERS_BUFFER_LENGTH", "1m")

#: A file system in memory, and the bytes that must be free there: environments and wheels of tests need 1 GB.
MEMORY = Path("/dev/shm")
MEMORY_LENGTH = 4 << 30

#: Markers of tests, slowest first; the others follow.
SLOWEST = ({"spark"}, {"interop", "netns", "system"}, set[str]())
MARK = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
#: An expression of `-m` such as `not system and not spark`.
NEGATIONS = re.compile(r"not \w+( and not \w+)*")
#: Files for one process, which share the build of the documentation.
DOCUMENTATION = {"tests/test_api_reference.py", "tests/test_docs_site.py"}
#: An option of mallopt(3).
M_MMAP_THRESHOLD = -3
#: Folders of the search path, with the times of their last changes in nanoseconds.
State = tuple[tuple[str, int], ...]
PLUGINS = Path(__file__).parents[1] / "plugins"
SPARK = "tests/plugins/spark/"
#: Starts a Python with a session for most of its tests, and waits for them.
LAKEHOUSES = SPARK + "test_lakehouses.py"

for package in sorted(PLUGINS.glob("*/*_*/")):
    if importlib.util.find_spec(package.name) is None:
        sys.path.append(str(package.parent))


def is_fit_for_files(folder: Path) -> bool:
    """Return whether tests may have their files there: containers often limit it to 64 MB, or let nothing execute."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= MEMORY_LENGTH and not found.f_flag & os.ST_NOEXEC


# Files of `tmp_path`, most of them of drivers: a disk would write gigabytes of what is deleted within a second.
if is_fit_for_files(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this test suite."""
    parser.addoption(
        "--write-compatibility",
        action="store_true",
        help="write docs/reference/compatibility.md from the results of tests/interop",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which `-m` would deselect every test, as its `pytestmark` of one marker says."""
    expression = config.option.markexpr
    if not NEGATIONS.fullmatch(expression) or not re.fullmatch(r"test_\w+\.py", collection_path.name):
        return None
    excluded = set(re.findall(r"not (\w+)", expression))
    if SPARK in collection_path.as_posix() and "spark" in excluded:
        return True
    found = MARK.search(collection_path.read_text(encoding="utf-8"))
    return True if found and found[1] in excluded else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Collect without the garbage collector, and let it never look at what was collected: ten thousand tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # With the default of 700 objects, a twentieth of the time of the tests is that of the collector.
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Send from a worker of pytest-xdist only what is shown: a message costs more than an empty test.

    The others are those of the begin and the end of a test, and of a setup and a teardown without an error.
    """
    shows_all = any(session.config.getoption(name, None) for name in ("durations", "xmlpath", "verbose"))
    plugins = session.config.pluginmanager.get_plugins()
    interactor: Any = next((each for each in plugins if type(each).__name__ == "WorkerInteractor"), None)
    if interactor is None or shows_all:
        return
    send = interactor.sendevent

    def send_if_shown(name: str, **values: Any) -> None:
        if name in {"logstart", "logfinish"}:
            return
        if (
            name == "testreport"
            and values["data"]["when"] != "call"
            and values["data"]["outcome"] == "passed"
        ):
            return
        send(name, **values)

    interactor.sendevent = send_if_shown


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take longest, so that no worker of pytest-xdist runs one of them alone at the end."""
    rank: dict[Path, int] = {}
    for item in items:
        found = next(place for place, names in enumerate(SLOWEST) if not names or names & set(item.keywords))
        rank[item.path] = min(rank.get(item.path, found), found)
    items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Distribute files to processes one by one, as `--dist loadfile` does, but some of them together."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not for runs in one process

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(str(super()._split_scope(nodeid)))

    return Scheduling(config, log)


def group_of(file: str) -> str:
    """Return what the files that run in the same process as `file` have in common: what they share takes long to make.

    A session of Spark takes 10 s of CPU time to start and to become fast. One process runs the tests in the folders of
    `tests/plugins/spark`, another one those beside them, which start programs, but for the minutes of one file.
    """
    if file in DOCUMENTATION:
        return "documentation"
    if file.startswith(SPARK) and file != LAKEHOUSES:
        return f"{SPARK}*/" if "/" in file.removeprefix(SPARK) else SPARK
    return file


def create_sparse_cnc(path: Path, layout: CncLayout, **values: Any) -> CncFile:
    """Create the `cnc.dat` of a driver, whose space is allocated when it is written."""
    return CncFile.create(path, layout, **values | {"fill": False})


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[object]:
    """Make 4000 drivers in this process start quickly.

    Plugins of installed distributions are read and registered once per state of the search path, and no driver
    allocates all of its `cnc.dat`. Not fixtures: pytest would look them up for each test.
    """

    @cache
    def read(group: str, state: State) -> Iterable[object]:
        return entry_points(group=group)

    def found(*, group: str) -> Iterable[object]:
        return read(group, search_path())

    load = registry.Registry.load

    @cache
    def loaded(state: State) -> registry.Registry:
        return load()

    def load_copy(extra_plugins: Sequence[object] = ()) -> registry.Registry:
        # A test may have replaced what is installed.
        if extra_plugins or registry.entry_points is not found:
            return load(extra_plugins)
        return copy_of(loaded(search_path()))

    map_rings_anew()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entry_points", found)
        patch.setattr(registry.Registry, "load", load_copy)
        patch.setattr(assembly, "CncFile", SimpleNamespace(create=create_sparse_cnc))
        return (yield)


def search_path() -> State:
    """Return the folders of the search path with the times of their last changes, 0 if there is none."""

    def changed_at(folder: str) -> int:
        try:
            return os.stat(folder or ".").st_mtime_ns
        except OSError:
            return 0

    return tuple((folder, changed_at(folder)) for folder in sys.path)


def copy_of(original: registry.Registry) -> registry.Registry:
    """Return a registry of the same plugins, whose hooks they share, with media of its own."""
    copied = registry.Registry.__new__(registry.Registry)
    vars(copied).update(vars(original))
    copied._installed = dict(original._installed)
    copied._tables = {hook: dict(table) for hook, table in original._tables.items()}
    copied._media = {}
    return copied


def map_rings_anew() -> None:
    """Let glibc map each block of 1 MB or more, as for the first driver of a process.

    It raises this limit to the length of a block that was freed, and clears later ones byte by byte: 5 MB per driver.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, 1 << 20)


SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup
extension = Extension({name!r}, [{name!r} + ".pyx"], include_dirs=[{headers!r}])
extension.extra_compile_args = extension.extra_link_args = {arguments!r}
setup(ext_modules=cythonize([extension], include_path=[{root!r}], language_level=3))
"""


@pytest.fixture(scope="session")
def compile_module(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], ModuleType]:
    """Return a function that compiles and imports a `.pyx`, like a module of another distribution.

    It gets the checks of the extensions (`make sanitize`): a load without them would hide a store from them.
    """

    def compile_it(source: Path) -> ModuleType:
        name, root, folder = (
            source.stem,
            Path(aeron_core.__file__).parents[1],
            tmp_path_factory.mktemp("compiled"),
        )
        (folder / source.name).write_text(source.read_text())
        sanitizers = os.environ.get("AERON_CORE_SANITIZE")
        (folder / "setup.py").write_text(
            SETUP.format(
                name=name,
                root=str(root),
                headers=str(root / "aeron_core/_native"),
                arguments=["-O1", "-g", f"-fsanitize={sanitizers}", "-fsanitize-recover=all"]
                if sanitizers
                else [],
            )
        )
        subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=folder,
            # The compiler needs no runtime library of a sanitizer.
            env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"},
            check=True,
            capture_output=True,
        )
        path = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return compile_it


@pytest.fixture(scope="session")
def spark_jar() -> Path | None:
    """Return the jar with the reader for Spark's Java, built if it is missing or too old; None without javac."""
    needs = shutil.which("javac"), importlib.util.find_spec("pyspark")
    if None in needs and not os.environ.get("CI"):
        return None
    jar = PLUGINS / "spark/pyspark_aeron/aeron-core-spark.jar"
    sources = [path for path in (PLUGINS / "spark/jvm").rglob("*") if path.is_file()]
    if not jar.exists() or jar.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        subprocess.run([sys.executable, str(PLUGINS.parent / "tools/spark-jar"), str(jar)], check=True)
    return jar


@pytest.fixture(scope="session")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Build the documentation as `make docs` does, beside an earlier version; the build takes 20 s of CPU time.

    `folder`: the pages of the version with its name; `trees`: what Sphinx has read; `environment`: to load it again.
    """
    site, trees = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("trees")
    (site / "0.0.9").mkdir()
    (site / "0.0.9" / "objects.inv").touch()
    folder = site / "9.8.7"
    # Nothing is imported from the package, so that a build needs no compiler.
    environment = {"DOCS_VERSION": folder.name, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-d", trees, "docs", folder],
        cwd=PLUGINS.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return SimpleNamespace(folder=folder, trees=trees, environment=environment)


@pytest.fixture(scope="module")
def few_objects() -> None:
    """Hide all objects that exist from the garbage collector: a collection takes 0.5 s after thousands of tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def python_interrupts() -> Iterator[None]:
    """Handle SIGINT as Python does, here and in child processes: a shell ignores it in background processes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def driver() -> Iterator[MediaDriver]:
    """Run a media driver within this process, in a directory of its own."""
    # The conductor's timers end streams: with the default of a second, many tests would wait for them.
    with MediaDriver.launch_embedded({"timer_interval_ns": "100ms"}) as driver:
        yield driver
