"""What a command imports before it does its work."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.system

#: Packages that take 50 ms of a processor and more to import.
HEAVY = ("numpy", "prometheus_client", "pyarrow", "pydantic", "pyspark", "rich")
PROGRAM = """
import json, sys
from aeron_core.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(name for name in sys.modules if "." not in name)]), file=sys.stderr)
"""


def imported_by(*arguments):
    """Run a command in a process of its own; return its exit code and the top-level modules that it has imported."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(process.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("--version",),
        ("plugins",),
        ("plugins", "list"),
        ("plugins", "list", "--json"),
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
