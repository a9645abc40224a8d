"""Every parameter of every command with absurd values: one line of error or success, never a traceback or a hang."""

import shutil
import signal
from pathlib import Path
from typing import get_args, get_origin

import pytest
import typer
from pyspark_aeron.pipeline.progress import BatchProgress

from aeron_core.cli import connecting, program
from aeron_core.cli.groups import ProgramGroup, make_lazy_group
from aeron_core.cli.index import COMMANDS
from aeron_core.concurrent.mapped_file import create_mapped_file
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.registry import Registry
from aeron_core.testing.recordings import RecordingUnderTest

#: What no user means, but shells and scripts pass.
ANY = (
    "",
    "\udcff",  # a byte that is no UTF-8
    "a" * 5000,
    "{}%s\n",
    "\x01\x1b[2J\r\u202e",  # what a terminal would execute
)
NUMBERS = (
    "-1",
    "0",
    "99999999999",
    "9" * 5000,
    "nan",
    "-inf",
    "\u0661",  # a digit to `str.isdigit`
)
PATHS = ("(", "~nosuchuser/x", "s3://", "file://[", "file:///%00")
#: Values of options that a command parses itself.
TEXTS = (*NUMBERS, *PATHS, "0001-01-01", "a..b:9100")
#: Arguments with which a command ends soon: there is no driver, a dead one, or nothing to do.
BASES = {
    "driver": ["driver"],
    "pub": ["pub", "aeron:ipc", "1"],
    "sub": ["sub", "aeron:ipc", "1"],
    "record": ["record", "aeron:ipc", "1", "--to", "archive"],
    "replay": ["replay", "0", "--from", "archive", "--to", "aeron:ipc"],
    "ship": ["ship", "one-line.log", "--to", "aeron:ipc", "--state", "state", "--once"],
    "device": ["device", "aeron:ipc", "aeron:ipc", "--aeron-dir", "no-driver"],
    "stat": ["stat", "-d", "dead"],
    "streams": ["streams", "-d", "dead"],
    "backlog": ["backlog", "-d", "dead"],
    "log-inspect": ["log-inspect", "dead/3.logbuffer"],
    # Everything is checked before a log that has no lines.
    "demo": ["demo", "--input", "empty.log"],
    # It serves other hosts with a token only; drivers and archives may appear later.
    "dashboard": ["dashboard", "--listen", "0.0.0.0:0"],
    "recordings list": ["recordings", "list", "archive"],
    "recordings verify": ["recordings", "verify", "archive", "0"],
    "recordings export": ["recordings", "export", "archive", "0"],
    "recordings purge": ["recordings", "purge", "archive", "0"],
    "pipeline demo": ["pipeline", "demo", "--input", "empty.log"],
    "pipeline run": ["pipeline", "run", "wrong.toml"],
    "pipeline check": ["pipeline", "check", "wrong.toml"],
    "pipeline plot": ["pipeline", "plot", "progress.log"],
}


#: A batch of a pipeline's progress log.
PROGRESS = BatchProgress("events", 0, "2026-11-21T19:30:00Z", 10, 5.0, 20).to_json() + "\n"
#: Characters of a line on stderr: a value is not echoed in full, however long it is.
MAX_LINE = 2020


class Hang(BaseException):
    """A command did not end."""


def all_parameters():
    """Return path, position, option and values of each parameter that takes a value, also of plugins' commands."""
    app = program.make_core_app()
    Registry.load().add_commands(app)
    return list(parameters(typer.main.get_command(app)))


def parameters(command, path=()):
    """Yield path, position, option and values of each parameter; the position is -1 for an option."""
    for name, child in command.commands.items():
        here = (*path, name)
        if hasattr(child, "commands"):
            yield from parameters(child, here)
            continue
        arguments = [param for param in child.params if param.param_type_name == "argument"]
        for param in child.params:
            if getattr(param, "is_flag", False):
                continue
            is_argument = param in arguments
            position = arguments.index(param) if is_argument else -1
            yield pytest.param(
                " ".join(here),
                position,
                param.opts[-1],
                values_of(param),
                id=f"{' '.join(here)} {param.opts[-1]}",
            )


def values_of(param):
    """Return the values for a parameter: those that differ for the conversion of its type."""
    annotation = param.type_descriptor.annotation
    kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return (*ANY, *(PATHS if kind is Path else TEXTS if kind is str else NUMBERS))


def command_line(command, position, option, value):
    base = list(BASES.get(command, command.split()))
    if position < 0:
        return [*base, option, value]
    begin = len(command.split())
    if begin + position < len(base):
        base[begin + position] = value
        return base
    return [*base, value]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The directory of a dead driver, with a log buffer in it, and an archive."""
    folder = tmp_path_factory.mktemp("files")
    with MediaDriver({"aeron_dir": folder / "dead", "counters_buffer_length": "1m"}, invoker=True) as driver:
        driver.do_work()
    params = LogBufferParams(
        initial_term_id=-5, term_length=65536, mtu_length=1408, session_id=7, stream_id=1001
    )
    log = create_mapped_file(folder / "dead" / "3.logbuffer", params.log_length, sparse=True)
    LogBuffer.initialize(log, params)
    written = RecordingUnderTest.begin(folder / "archive")
    written.append(b"a", b"b")
    written.stop()
    return folder


@pytest.fixture(scope="module")
def program_group():
    """The program, built once: that takes most of the time of a command that does nothing."""
    return make_lazy_group(COMMANDS, "", program._program, ProgramGroup)


@pytest.fixture
def sandbox(monkeypatch, tmp_path, files, program_group):
    """A directory with one file, an archive, and a dead driver, in which there is no driver and cannot be one."""

    def on_alarm(_number, _frame):
        raise Hang

    (tmp_path / "one-line.log").write_text("one line\n")
    (tmp_path / "empty.log").touch()
    (tmp_path / "progress.log").write_text(PROGRESS)
    (tmp_path / "dead").symlink_to(files / "dead")
    shutil.copytree(files / "archive", tmp_path / "archive")
    (tmp_path / "wrong.toml").write_text("no table\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connecting, "_DRIVER_WAIT_S", 0)
    monkeypatch.setattr(program, "make_lazy_group", lambda *_: program_group)
    before = signal.signal(signal.SIGALRM, on_alarm)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("command", "position", "option", "values"), all_parameters())
def test_an_absurd_value_ends_in_a_line(aeron, sandbox, monkeypatch, command, position, option, values):
    if command == "driver":
        # A driver cannot start: its directory is a file, or its settings are no TOML.
        monkeypatch.setenv("AERON_DIR", "one-line.log")
        if option == "-d":
            monkeypatch.setitem(BASES, "driver", ["driver", "wrong.toml"])

    for value in values:
        arguments = command_line(command, position, option, value)
        signal.alarm(20)
        outcome = aeron(*arguments)
        signal.alarm(0)

        assert outcome.code in {0, 1, 2}, arguments
        assert "Traceback" not in outcome.err, arguments
        assert outcome.err.replace("\n", "").isprintable(), arguments
        assert max(map(len, outcome.err.splitlines()), default=0) <= MAX_LINE, arguments
        if outcome.code:
            errors = [line for line in outcome.err.splitlines() if line.startswith("aeron-core: error: ")]
            assert len(errors) == 1, (arguments, outcome.err)
