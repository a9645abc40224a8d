"""Fixtures for tests of several packages.

Built-in plugins are importable from a checkout that is built in place but not installed.
"""

import gc
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

import aeron_core
from aeron_core import MediaDriver, registry
from aeron_core.entry_points import entry_points

# No deadline: a busy machine must not fail a test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

#: Markers of tests, slowest first; the others follow.
SLOWEST = ({"spark"}, {"interop", "netns", "system"}, set[str]())
PLUGINS = Path(__file__).parents[1] / "plugins"
SPARK = "tests/plugins/spark/"

for package in sorted(PLUGINS.glob("*/*_*/")):
    if importlib.util.find_spec(package.name) is None:
        sys.path.append(str(package.parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this test suite."""
    parser.addoption(
        "--write-compatibility",
        action="store_true",
        help="write docs/reference/compatibility.md from the results of tests/interop",
    )


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
    """Run at most two Spark sessions: a session takes 10 s of CPU time to start and to become fast.

    One process runs the tests in the folders of `tests/plugins/spark`, another one those beside them, which start
    programs. All other files go to processes one by one, as with `--dist loadfile`.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not for runs in one process

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            if not file.startswith(SPARK):
                return file
            return f"{SPARK}*/" if "/" in file.removeprefix(SPARK) else SPARK

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[object]:
    """Read the plugins of installed distributions once per state of the search path, not for each of 4000 drivers.

    Not a fixture: pytest would look it up for each test.
    """

    @cache
    def read(group: str, state: tuple[tuple[str, int], ...]) -> Iterable[object]:
        return entry_points(group=group)

    def found(*, group: str) -> Iterable[object]:
        folders = [(folder, Path(folder or ".")) for folder in sys.path]
        return read(
            group, tuple((name, path.stat().st_mtime_ns if path.exists() else 0) for name, path in folders)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entry_points", found)
        return (yield)


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
