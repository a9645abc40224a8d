"""A chat: its demonstration, and a participant at a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from example_programs import EXAMPLES, in_half_a_minute, with_own_addresses

LINE = re.compile(r"^\d\d:\d\d:\d\d +(\S+)  (.+)$", re.M)
COLOURS = re.compile(r"\x1b\[\d*[mKA]")


def test_the_demonstration_shows_a_conversation(example, capsys):
    program = example("chat.py")

    with in_half_a_minute():
        program.main(["--demo"])

    lines = LINE.findall(capsys.readouterr().out)
    assert sorted(lines[:2]) == [("*", "ann joined"), ("*", "bob joined")]
    assert lines[2:-1] == program.SCRIPT
    assert lines[-1] == ("*", "bob left")


class Terminal:
    """An example that runs at a terminal of its own."""

    def __init__(self, path, *arguments):
        self._descriptor, terminal = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, path, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env=os.environ | {"TERM": "xterm"},
        )
        os.close(terminal)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while True:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # the program has ended
                return
            self.text += data.decode()

    def write(self, text):
        os.write(self._descriptor, text.encode())

    def await_text(self, text):
        deadline_s = time.monotonic() + 60
        while text not in COLOURS.sub("", self.text):
            assert time.monotonic() < deadline_s, self.text
            time.sleep(0.01)

    def close(self):
        self.process.kill()
        self.process.wait()
        self._thread.join()
        os.close(self._descriptor)


@pytest.mark.usefixtures("python_interrupts")
def test_a_participant_at_a_terminal_talks_and_sees_others(example, tmp_path):
    path = tmp_path / "chat.py"
    path.write_text(with_own_addresses((EXAMPLES / "chat.py").read_text(encoding="utf-8")), encoding="utf-8")
    shown = []
    terminal = Terminal(path, "ann")
    try:
        with example("chat.py").Chat(
            "bob", "127.0.0.1", lambda name, text: shown.append((name, text))
        ) as bob:
            terminal.await_text("bob joined")
            terminal.write("half a")
            terminal.await_text("half a")
            bob.publish("hello \x1b[2Jann")
            # What was typed so far is shown again below the message, which cannot clear the terminal.
            terminal.await_text("     bob  hello ?[2Jann\r\n> half a")
            terminal.write(" line\n")
            terminal.await_text("     ann  half a line")
            terminal.write("/names\n")
            terminal.await_text("here are ann, bob")
            assert ("ann", "half a line") in shown
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.process.wait(60) == 0
            while ("", "ann left") not in shown:
                time.sleep(0.01)
    finally:
        terminal.close()
    assert "Traceback" not in terminal.text


def test_what_is_no_message_of_a_chat_is_ignored(example):
    chat = example("chat.py").Chat
    shown = []
    with (
        chat("ann", "127.0.0.1", lambda *line: shown.append(line)) as ann,
        chat("bob", "127.0.0.1", lambda *_: None) as bob,
    ):
        deadline_s = time.monotonic() + 60
        while ann.names != ["ann", "bob"]:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        for data in (b"\xff", b"[]", b"{}", b"[" * 1300, b'{"name": 1, "event": "message", "text": "no"}'):
            bob._publication.send(data, timeout=60)
        bob.publish("still here")
        while ("bob", "still here") not in shown:
            assert time.monotonic() < deadline_s, shown
            assert ann._thread.is_alive()
            time.sleep(0.01)

    assert all(text != "no" for _, text in shown)


def test_an_interface_that_does_not_exist_is_reported_without_a_traceback(example):
    with pytest.raises(SystemExit, match=r"could not find matching interface='10\.98\.7\.0/24'"):
        example("chat.py").main(["ann", "--interface", "10.98.7.0/24"])
