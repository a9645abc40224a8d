"""Every command imports few modules beside those of `aeron-core --help`, which `test_start_up.py` counts.

Commands that need a driver, a terminal or Spark show their help; the others run.
"""

import json
import subprocess
import sys

import pytest
import typer

from aeron_core.cli.program import make_core_app
from aeron_core.registry import Registry
from aeron_core.testing.recordings import RecordingUnderTest

pytestmark = pytest.mark.system

#: Slack for changes, and for the standard library of another Python; a few modules for commands that import few.
SLACK = 1.05 if sys.version_info[:2] == (3, 11) else 1.2
FEW = 5
HELP = ("--help",)
PEER = ("list", "ann", "ab" * 32)
#: Commands with their arguments and the modules that each adds with CPython 3.11, in stages: the first command of a
#: stage is run in a fork of a process that has shown the help of the program, the others in forks of the first one,
#: because they share most of their modules. They find the files that commands before them have written.
STAGES = [
    {"driver": (HELP, 246), "settings show": ((), 349), "doctor": ((), 475)},
    {"pub": (HELP, 203), "sub": (HELP, 206), "ping": (HELP, 206), "pong": (HELP, 207)},
    {"bench": (HELP, 415)},
    {"record": (HELP, 387), "replay": (HELP, 399), "archive": (HELP, 609)},
    {"ship": (HELP, 384), "device": (HELP, 390), "demo": (HELP, 390)},
    {
        "stat": (HELP, 40),
        "streams": (HELP, 40),
        "backlog": (HELP, 41),
        "errors": (HELP, 41),
        "loss": (HELP, 41),
        "log-inspect": (HELP, 45),
    },
    {"terminate": (HELP, 39)},
    {"clean": (HELP, 67)},
    {"plot": (HELP, 52)},
    {"top": (HELP, 13)},
    {"dashboard": (HELP, 13)},
    {"man": (("pub",), 756)},
    {"plugins list": ((), 11)},
    {"plugins new": (("mine", "--kind", "medium"), 8)},
    {
        "recordings list": (("archive",), 206),
        "recordings verify": (("archive",), 212),
        "recordings export": (("archive", "0", "--output", "messages"), 212),
        "recordings convert": (("archive", "foreign"), 241),
        "recordings purge": (("archive", "--all"), 208),
    },
    {
        "keys generate": (("key",), 478),
        "keys show": (("key",), 478),
        "keys allow": (PEER, 478),
        "keys revoke": (PEER[:2], 478),
        "keys check": ((), 478),
        "pipeline demo": (HELP, 478),
        "pipeline run": (HELP, 478),
        "pipeline check": (HELP, 478),
        "pipeline plot": (HELP, 478),
    },
]
BOUNDS = {command: count for stage in STAGES for command, (_, count) in stage.items()}
PROGRAM = """
import json, os, sys
from aeron_core.cli.main import run

report, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)
run(["--help"])
before = set(sys.modules)

def fork(command, arguments, others):
    if (child := os.fork()) == 0:
        code = run([*command.split(), *arguments])
        found = {"command": command, "code": code, "modules": sorted(set(sys.modules) - before)}
        os.write(report, json.dumps(found).encode() + b"\\n")
        for other in others:
            fork(*other, [])
        os._exit(0)
    os.waitpid(child, 0)

for stage in json.loads(sys.argv[1]):
    fork(*stage[0], stage[1:])
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run all commands; return the exit code of each and the modules that it has added."""
    folder = tmp_path_factory.mktemp("commands")
    recording = RecordingUnderTest.begin(folder / "archive")
    recording.append(b"a", b"b")
    recording.stop()
    stages = [[(command, arguments) for command, (arguments, _) in stage.items()] for stage in STAGES]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(stages)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return {found["command"]: found for found in map(json.loads, done.stdout.splitlines())}


def commands_of(command, path=()):
    """Yield the words of each command below a group."""
    if not hasattr(command, "commands"):
        yield " ".join(path)
        return
    for name, each in command.commands.items():
        yield from commands_of(each, (*path, name))


def test_every_command_has_a_bound():
    app = make_core_app()
    Registry.load().add_commands(app)

    assert set(commands_of(typer.main.get_command(app))) == set(BOUNDS)


@pytest.mark.parametrize(("command", "count"), BOUNDS.items())
def test_a_command_adds_few_modules(command, count, results):
    found = results[command]

    # The doctor returns 1 if this machine has a problem.
    assert found["code"] == 0 or command == "doctor"
    assert len(found["modules"]) <= count * SLACK + FEW, found["modules"]
