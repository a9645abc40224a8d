"""Completion of values, through the protocol that the scripts of shells speak with the program."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from functools import cache

import pytest
import typer
from observed import records_of, snapshot

import aeron_core
from aeron_core.cli.completion import _COMPLETERS
from aeron_core.cli.program import make_core_app
from aeron_core.observation import CounterHistoryWriter
from aeron_core.testing.recordings import RecordingUnderTest

LONG = "aeron:ipc?alias=completed"


@pytest.fixture(scope="module")
def directory():
    """The directory of a driver with one stream."""
    with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        aeron.add_subscription(LONG, 4711)
        aeron.add_exclusive_publication(LONG, 4711)
        yield driver.aeron_dir


@pytest.fixture
def complete(aeron, monkeypatch):
    """Return a function that completes the last value of a command line."""

    def call(*words, aeron_dir="/nowhere", shell="bash"):
        line = " ".join(["aeron-core", *(f"'{word}'" for word in words)])
        monkeypatch.setenv("AERON_DIR", str(aeron_dir))
        monkeypatch.setenv("_AERON_CORE_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", "-1")
        with pytest.raises(SystemExit):
            aeron()
        return call.capfd.readouterr().out.split()

    return call


@pytest.fixture(autouse=True)
def _output(complete, capfd):
    complete.capfd = capfd


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sub", "aeron:"], ["aeron:ipc", "aeron:lumberjack?", "aeron:sp?", "aeron:udp?"]),
        (["pub", "aeron:u"], ["aeron:udp?"]),
        (["ping", "--ping-channel", "aeron:udp?endpoi"], ["aeron:udp?endpoint="]),
        (["sub", "aeron:udp?control=x|control"], ["aeron:udp?control=x|control-mode="]),
        (["sub", "aeron:udp?control-mode=d"], ["aeron:udp?control-mode=dynamic"]),
        (["pub", "aeron:udp?fc=m"], ["aeron:udp?fc=max", "aeron:udp?fc=min"]),
        (["sub", "aeron:lumberjack?compress"], ["aeron:lumberjack?compression="]),
        (["sub", "aeron:udp?compress"], []),
        (["sub", "aeron:udp?endpoint=lo"], []),
        (["driver", "-Daeron.threading"], ["-Daeron.threading.mode="]),
        (["driver", "-D", "aeron.threading.mode=D"], ["aeron.threading.mode=DEDICATED"]),
        (["settings", "show", "-D", "aeron.mtu"], ["aeron.mtu.length="]),
        (["driver", "-D", "aeron.mtu.length=1"], []),
        (["stat", "--format", "p"], ["prometheus"]),
        (["stat", "--type", ""], []),
        (["streams", "--stream", ""], []),
        (["sub", "aeron:ipc", ""], []),
        (["pipeline", ""], ["check", "demo", "plot", "run"]),
        (
            ["pipeline", "run", "numbers.toml", "--m"],
            ["--master", "--metrics", "--metrics-open", "--metrics-token-file"],
        ),
        (["pipeline", "plot", "progress.log", "--"], ["--help", "--to"]),
        (["pipeline", "demo", "--min"], ["--min-lines"]),
    ],
)
def test_values_are_completed_without_a_driver(complete, words, expected):
    assert sorted(complete(*words)) == sorted(expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sub", "aeron:ipc?"], LONG),
        (["sub", LONG, ""], "4711"),
        (["streams", "--stream", "47"], "4711"),
        (["stat", "--type", "sub"], "sub-pos"),
        (["stat", "--type", ""], "0"),
        (["stat", "--match", "Bytes"], "Bytes.sent"),
    ],
)
def test_channels_streams_and_counters_of_a_running_driver_are_completed(
    complete, directory, words, expected
):
    assert expected in complete(*words, aeron_dir=directory)


def test_the_driver_of_the_command_line_is_read(complete, directory):
    words = ["streams", "--aeron-dir", directory, "--session", ""]

    (session_id,) = complete(*words)

    assert int(session_id)


def test_counters_and_streams_of_a_history_are_completed_for_its_plot(complete, directory, tmp_path):
    pytest.importorskip("pyarrow")
    records = records_of("aeron:udp?endpoint=recorded:1", pub_pos=5, pub_lmt=9)
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        writer.write(snapshot(*records))

    # The driver that runs has other counters.
    assert complete("plot", writer.path, "--counter", "", aeron_dir=directory) == [
        "pub-pos.concurrent.",
        "pub-lmt",
    ]
    assert complete("plot", writer.path, "--stream", "", aeron_dir=directory) == ["1001"]
    assert complete("plot", tmp_path / "missing.arrows", "--counter", "", aeron_dir=directory) == []


def test_recordings_of_an_archive_on_this_machine_are_completed(complete, tmp_path):
    RecordingUnderTest.begin(tmp_path / "archive").stop()

    assert complete("recordings", "export", tmp_path / "archive", "") == ["0"]
    assert complete("recordings", "purge", tmp_path / "archive", "") == ["0"]
    assert complete("replay", "--from", tmp_path / "archive", "") == ["0"]
    assert complete("recordings", "export", "s3://bucket/archive", "") == []
    assert complete("recordings", "export", tmp_path, "") == []


HOSTILE = (
    r"aeron:ipc?alias=\$(touch x)",
    "aeron:ipc?alias=`id`",
    "aeron:ipc?alias=a;b",
    "aeron:ipc?alias=a\x1b[2J",
)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_channel_or_a_label_that_a_shell_would_interpret_is_not_passed_on(complete, monkeypatch, shell):
    with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        for channel in (*HOSTILE, "aeron:ipc?alias=[/b]", "aeron:ipc?alias=plain"):
            aeron.add_subscription(channel, 1)
            aeron.add_exclusive_publication(channel, 1)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        typed = (["sub", "aeron:ipc?alias="], ["streams", "--session", ""], ["stat", "--match", ""])
        replies = [" ".join(complete(*words, aeron_dir=driver.aeron_dir, shell=shell)) for words in typed]

    assert "alias=plain" in replies[0]
    assert all(replies)
    assert not set("".join(replies)) & set("$`;\x1b")


def test_directories_of_drivers_are_completed(complete, directory):
    assert str(directory) in complete("stat", "--aeron-dir", f"{directory.parent}/")
    assert str(directory) in complete("stat", "--aeron-dir", "", aeron_dir=directory)


def test_a_damaged_driver_completes_nothing(complete, tmp_path):
    (tmp_path / "cnc.dat").write_bytes(b"\xff" * 8192)

    assert complete("streams", "--stream", "", aeron_dir=tmp_path) == []


def test_every_name_of_a_value_that_is_completed_is_one_of_an_option():
    def names(group):
        for command in group.commands.values():
            if getattr(command, "commands", None):
                yield from names(command)
            else:
                yield from (param.metavar for param in command.params)

    assert set(_COMPLETERS) <= set(names(typer.main.get_command(make_core_app())))


@cache
def script_of(shell):
    """Return what the program shows for a shell, which 60 tests begin with."""
    return subprocess.run(
        [sys.executable, "-m", "aeron_core", "--show-completion", shell],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.mark.system
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o default -F _aeron_core_completion aeron-core"),
        ("zsh", "compdef _aeron_core_completion aeron-core"),
        ("fish", "complete --command aeron-core --no-files"),
    ],
)
def test_the_script_of_a_shell_is_shown(shell, line):
    assert line in script_of(shell)


@pytest.mark.system
def test_the_script_of_bash_is_installed(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "aeron_core", "--install-completion", "bash"],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=60,
    )

    script = (tmp_path / ".bash_completions" / "aeron-core.sh").read_text()
    assert script == script_of("bash").rstrip("\n")


@pytest.mark.system
@pytest.mark.parametrize(
    ("typed", "parts", "replies"),
    [
        ("sub aeron:u", ["sub", "aeron", ":", "u"], ["udp?"]),
        ("sub aeron:", ["sub", "aeron", ":"], ["udp?", "ipc", "lumberjack?", "sp?"]),
        ("sub ae", ["sub", "ae"], ["aeron:udp?", "aeron:ipc", "aeron:lumberjack?", "aeron:sp?"]),
        ("sub 'aeron:udp?fc=ma", ["sub", "'aeron:udp?fc=ma"], ["aeron:udp?fc=max"]),
        ("pub aeron:udp?fc=ma", ["pub", "aeron", ":", "udp?fc", "=", "ma"], ["max"]),
        (
            r"sub aeron:udp?control=x\|control-mo",
            ["sub", "aeron", ":", "udp?control", "=", r"x\|control-mo"],
            [r"x\|control-mode="],
        ),
        ("sub 'aeron:udp?fc=max|inter", ["sub", "'aeron:udp?fc=max|inter"], ["aeron:udp?fc=max|interface="]),
        ("ping --ping-channel=aeron:ip", ["ping", "--ping-channel", "=", "aeron", ":", "ip"], ["ipc"]),
        ("stat --format ", ["stat", "--format", ""], ["text", "json", "prometheus"]),
        ("recor", ["recor"], ["record", "recordings"]),
    ],
)
def test_bash_completes_what_follows_its_last_break(tmp_path, typed, parts, replies):
    words = ["aeron-core", *parts]
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    line = f"aeron-core {typed}".replace("'", "'\\''")
    command = tmp_path / "aeron-core"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m aeron_core "$@"\n')
    command.chmod(0o755)
    program = f"""
{script_of("bash")}
COMP_LINE='{line}' COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
COMP_POINT=${{#COMP_LINE}}
_aeron_core_completion aeron-core 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

    done = subprocess.run(
        ["bash", "--norc", "-c", program],
        env=os.environ | {"AERON_DIR": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert sorted(done.stdout.splitlines()) == sorted(replies), done.stderr


#: How a shell is started, and set up to complete the commands of a script.
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set enable-bracketed-paste off'; source {script}",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -d {shared}/dump; source {script}",
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        "function fish_prompt; printf '(%s) ' ready; end; source {script}",
    ),
}


class Terminal:
    """A shell on a terminal; its output is read until a text comes."""

    def __init__(self, command, environment, folder):
        self._main, side = pty.openpty()
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *command], stdin=side, stdout=side, stderr=side, env=environment, cwd=folder
        )
        os.close(side)

    def type(self, text):
        os.write(self._main, text.encode())

    def read_to(self, pattern):
        """Return the match of `pattern` in the output; fail after a minute."""
        output, deadline_s = "", time.monotonic() + 60
        while not (found := re.search(pattern, output)):
            assert time.monotonic() < deadline_s, output
            if select.select([self._main], [], [], 1)[0]:
                output += os.read(self._main, 65536).decode(errors="replace")
        return found

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._main)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a folder where zsh keeps what its functions complete, which takes longer to find than a completion."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(params=SHELLS)
def shell(request, tmp_path, shared, directory):
    """Return a function that types a command line with tabs, and returns the arguments of the command."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    command = tmp_path / "bin" / "aeron-core"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m aeron_core "$@"\n')
    command.chmod(0o755)
    show = tmp_path / "bin" / "show"
    show.write_text("#!/bin/sh\nshift\nprintf '<%s>' \"$@\"\nprintf '.\\n'\n")
    show.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(script_of(request.param))
    start, setup = SHELLS[request.param]
    environment = os.environ | {
        "AERON_DIR": str(directory),
        "HOME": str(tmp_path),
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "TERM": "dumb" if request.param != "fish" else "xterm",
        "PS1": "(ready) ",
    }
    terminal = Terminal(start, environment, tmp_path)
    terminal.type(f"{setup.format(script=script, shared=shared)}; echo set''up\r")
    terminal.read_to(r"setup\r(?s:.*)\(ready\) ")

    def call(typed):
        terminal.type(f"aeron-core {typed}\x01show \r")
        return re.findall("<(.*?)>", terminal.read_to(r"((?:<[^<>]*>)+)\.\r")[1])

    yield call
    terminal.close()


@pytest.mark.system
@pytest.mark.parametrize(
    ("typed", "arguments"),
    [
        ("sub aeron:u\tZ", ["sub", "aeron:udp?Z"]),
        ("sub 'aeron:udp?endp\tZ'", ["sub", "aeron:udp?endpoint=Z"]),
        ("sub aeron:udp\\?endp\tZ", ["sub", "aeron:udp?endpoint=Z"]),
        ("ping --ping-channel=aeron:u\tZ", ["ping", "--ping-channel=aeron:udp?Z"]),
        ("driver -Daeron.threading\tZ", ["driver", "-Daeron.threading.mode=Z"]),
        ("driver -D aeron.threading\tZ", ["driver", "-D", "aeron.threading.mode=Z"]),
    ],
)
def test_no_space_follows_the_beginning_of_a_value(shell, typed, arguments, request):
    if "bash" in request.node.name:
        # Bash has closed the quotes.
        typed = typed.removesuffix("'")

    assert shell(typed) == arguments


@pytest.mark.system
@pytest.mark.parametrize(
    ("typed", "arguments"),
    [
        ("sub 'aeron:ipc?al\tcom\tZ", ["sub", LONG, "Z"]),
        (f"sub '{LONG}' 4\tZ", ["sub", LONG, "4711", "Z"]),
        ("stat --match Bytes.s\tZ", ["stat", "--match", "Bytes.sent", "Z"]),
        ("stat --type=pub-l\tZ", ["stat", "--type=pub-lmt", "Z"]),
        ("driver -Daeron.threading.mode=D\tZ", ["driver", "-Daeron.threading.mode=DEDICATED", "Z"]),
        ("recordings verif\tZ", ["recordings", "verify", "Z"]),
        ("settings show ./scri\tZ", ["settings", "show", "./script", "Z"]),
    ],
)
def test_a_space_follows_a_complete_value(shell, typed, arguments):
    assert shell(typed) == arguments
