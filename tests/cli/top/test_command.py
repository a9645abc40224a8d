"""The command `aeron-core top`: what it refuses, and how it ends on a terminal."""

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest

pytest.importorskip("textual")


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ([], 2, "top needs a terminal"),
        (["--interval", "0"], 2, "--interval=0.0: must be more than 0"),
        (["--history", "a", "--aeron-dir", "b"], 2, "--history and --aeron-dir=b: only one of them"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(aeron, options, code, text):
    outcome = aeron("top", *options)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1)
    assert text in outcome.err


def test_the_refusal_without_a_terminal_names_other_commands(aeron):
    assert "`aeron-core streams` or `aeron-core stat`" in aeron("top").err


def test_without_textual_the_extra_is_named(aeron, monkeypatch):
    monkeypatch.setattr("aeron_core.cli.top.top._check_terminal", lambda: None)
    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith(("textual.", "aeron_core.cli.top.app"))]:
        monkeypatch.delitem(sys.modules, name)

    outcome = aeron("top")

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "pip install 'aeron-core[top]'" in outcome.err


def test_a_history_that_cannot_be_read_is_reported_in_one_line(aeron, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("aeron_core.cli.top.top._check_terminal", lambda: None)
    (tmp_path / "history.arrows").write_bytes(b"nonsense")

    outcome = aeron("top", "--history", tmp_path / "history.arrows")

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)


@pytest.mark.system
@pytest.mark.parametrize("ending", [b"q", b"\x03", signal.SIGTERM])
def test_on_a_terminal_it_ends_by_a_key_or_a_signal_and_restores_the_terminal(tmp_path, ending):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "aeron_core", "top", "-d", str(tmp_path)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    output = b""
    try:
        while b"STREAMS" not in output:
            output += os.read(leader, 65_536)
        if isinstance(ending, bytes):
            os.write(leader, ending)
        else:
            process.send_signal(ending)
        # A terminal whose last process has ended reports an error.
        with contextlib.suppress(OSError):
            while data := os.read(leader, 65_536):
                output += data
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert b"Traceback" not in output
    # Source: xterm control sequences: leave the alternate screen, show the cursor.
    assert b"\x1b[?1049l" in output
    assert b"\x1b[?25h" in output


@pytest.mark.system
@pytest.mark.parametrize("has_session", [True, False], ids=["SIGHUP", "no signal"])
@pytest.mark.parametrize("keys", [b"", b"?" + b"\t" * 200], ids=["tables", "unread output"])
def test_it_ends_when_its_terminal_is_closed(tmp_path, has_session, keys):
    leader, follower = pty.openpty()
    # Each moment writes, so that the event loop would soon wait for the thread that writes.
    session = ["setsid", *(["--ctty"] if has_session else [])]
    command = [*session, sys.executable, "-m", "aeron_core", "top", "-d", str(tmp_path), "--interval", "0.05"]
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    try:
        output = b""
        while b"STREAMS" not in output:
            output += os.read(leader, 65_536)
        for key in keys:
            os.write(leader, bytes([key]))
        os.close(leader)

        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
