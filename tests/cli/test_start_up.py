"""What a command imports before it does its work."""

import json
import signal
import subprocess
import sys

import pytest

import aeron_core

pytestmark = pytest.mark.system

#: Packages that take 50 ms of a processor and more to import.
HEAVY = ("numpy", "prometheus_client", "pyarrow", "pydantic", "pyspark", "rich")
PROGRAM = """
import sys
before = set(sys.modules)
from aeron_core.cli.main import run
code = run(sys.argv[1:])
imported = sorted(set(sys.modules) - before)
import json
print(json.dumps([code, imported]), file=sys.stderr)
"""


class Command:
    """A command in a process of its own, which reports what it has imported."""

    def __init__(self, *arguments, program=PROGRAM):
        self.popen = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self):
        """Wait for the end of the command; return what its program printed last, as JSON."""
        try:
            _, err = self.popen.communicate(timeout=60)
        finally:
            self.popen.kill()
        return json.loads(err.splitlines()[-1])


def imported_by(*arguments):
    return Command(*arguments).result()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("--version",),
        ("plugins",),
        ("plugins", "list"),
        ("plugins", "list", "--json"),
        ("plugins", "new", "-h"),
        ("plugins", "new", "json", "--kind", "medium"),
        ("stat", "-h"),
        ("driver", "-v"),
    ],
)
def test_what_needs_no_driver_imports_nothing_heavy(arguments):
    _, modules = imported_by(*arguments)

    assert set(modules).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "arguments",
    [
        ("stat", "--once"),
        ("stat", "--json"),
        ("errors",),
        ("errors", "--json"),
        ("loss",),
        ("streams",),
        ("streams", "--session", "1"),
        ("backlog", "--once"),
    ],
)
def test_tools_import_nothing_heavy(arguments, dead_directory):
    code, modules = imported_by(*arguments, "--aeron-dir", dead_directory)

    assert code == 0
    assert set(modules).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    ("option", "expected"), [("-Daeron.mtu.length=1", False), ("--metrics=nowhere", True)]
)
def test_a_driver_with_settings_alone_starts_without_the_command_line_library(option, expected):
    code, modules = imported_by("driver", option)

    assert code == 1
    assert ("typer" in modules) is expected


def test_the_modules_of_a_command_are_imported_when_it_is_named():
    _, modules = imported_by("settings", "show")

    assert "pydantic" in modules


#: Slack for changes, and for the standard library of another Python.
SLACK = 1.05 if sys.version_info[:2] == (3, 11) else 1.2
#: Commands and the modules that each imports with CPython 3.11, without those of the interpreter.
ALONE = {
    (): 174,
    ("--help",): 174,
    ("--version",): 125,
    ("plugins", "list"): 185,
    ("settings", "show"): 379,
    ("stat", "-h"): 171,
    ("driver", "-v"): 374,
    ("driver", "-Daeron.mtu.length=1"): 333,
}
#: The same for the directory of a dead driver.
OF_DEAD_DRIVER = {
    ("stat", "--once"): 170,
    ("stat", "--json"): 170,
    ("errors",): 156,
    ("loss",): 158,
    ("streams",): 167,
    ("backlog", "--once"): 168,
    ("clean",): 302,
}
#: The same at a live driver, with a publication and a subscription of aeron:ipc.
OF_LIVE_DRIVER = {
    ("pub", "aeron:ipc", "1001", "--size", "32", "--count", "1"): 340,
    ("sub", "aeron:ipc", "1001", "--timeout", "0.01"): 431,
    ("record", "aeron:ipc", "1001", "--timeout", "0.01", "--to", "archive"): 559,
    ("terminate",): 164,
}


@pytest.mark.parametrize(("arguments", "count"), ALONE.items())
def test_a_command_without_a_driver_imports_few_modules(arguments, count):
    _, modules = imported_by(*arguments)

    assert len(modules) <= count * SLACK, modules


@pytest.mark.parametrize(("arguments", "count"), OF_DEAD_DRIVER.items())
def test_a_command_of_a_dead_driver_imports_few_modules(arguments, count, dead_directory):
    _, modules = imported_by(*arguments, "--aeron-dir", dead_directory)

    assert len(modules) <= count * SLACK, modules


@pytest.mark.parametrize(("arguments", "count"), OF_LIVE_DRIVER.items())
def test_a_command_of_a_live_driver_imports_few_modules(
    arguments, count, running_driver, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    _, directory = running_driver

    with aeron_core.connect(directory) as aeron:
        aeron.add_publication("aeron:ipc", 1001)
        aeron.add_subscription("aeron:ipc", 1001)
        _, modules = imported_by(*arguments, "--aeron-dir", directory)

    assert len(modules) <= count * SLACK, modules


def test_a_driver_imports_few_modules(await_driver, tmp_path):
    process = Command("driver", f"-Daeron.dir={tmp_path / 'driver'}")
    try:
        await_driver(process, tmp_path / "driver")
        process.popen.send_signal(signal.SIGTERM)
        _, modules = process.result()
    finally:
        process.popen.kill()

    assert len(modules) <= 335 * SLACK, modules


COLLECTION = """
import atexit, gc, json, sys
from aeron_core.cli.main import main
atexit.register(lambda: print(json.dumps([gc.isenabled(), gc.get_freeze_count()]), file=sys.stderr))
main()
"""


def test_a_driver_collects_garbage_once_it_has_started(await_driver, tmp_path):
    process = Command("driver", f"-Daeron.dir={tmp_path / 'driver'}", program=COLLECTION)
    try:
        await_driver(process, tmp_path / "driver")
        process.popen.send_signal(signal.SIGTERM)
        is_enabled, frozen = process.result()
    finally:
        process.popen.kill()

    assert is_enabled
    assert frozen > 10_000
