"""Man pages, generated from the same help texts as the reference of commands."""

import os
import pty
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from aeron_core.cli.tools.man_pages import formatted, man_pages

ROOT = Path(__file__).parents[1]
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = dict(man_pages(typer.main.get_command(GENERATOR["program"]())))


def test_every_command_of_the_reference_has_a_page():
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = re.findall(r"^## (aeron-core .*)$", reference, re.M)

    assert len(commands) > 20
    assert {f"{command.replace(' ', '-')}.1" for command in commands} <= PAGES.keys()
    assert PAGES["aeron-core.1"].count("\n.TP\n") > 20


def test_a_page_has_its_arguments_options_and_exit_codes():
    page = PAGES["aeron-core-sub.1"]

    assert ".SH NAME\naeron\\-core\\-sub \\- Write received messages, one per line\n" in page
    assert "\\fBaeron\\-core sub\\fP [OPTIONS] CHANNEL STREAM_ID\n" in page
    assert "\n.TP\n\\fBCHANNEL\\fP\n" in page
    assert "\n.TP\n\\fB\\-\\-count COUNT\\fP\nNumber of messages" in page
    assert "\n.TP\n\\fB128+n\\fP\nsignal number n" in page


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("a `-x` of [a page](page.md)", "a \\fB\\-x\\fP of a page"),
        (".SH injected", "\\&.SH injected"),
        ("C:\\path", "C:\\epath"),
        ("s3://…", "s3://\\[u2026]"),
    ],
)
def test_text_is_escaped(text, roff):
    assert formatted(text) == roff


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
@pytest.mark.parametrize("name", PAGES)
def test_groff_has_no_warning(name):
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-z"],
        input=PAGES[name],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stderr == ""


def run(*arguments, **options):
    command = [sys.executable, "-m", "aeron_core", "man", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


@pytest.mark.system
@pytest.mark.parametrize(
    ("names", "page"),
    [
        ((), "aeron-core.1"),
        (("pub",), "aeron-core-pub.1"),
        (("recordings", "list"), "aeron-core-recordings-list.1"),
    ],
)
def test_the_command_writes_the_page_of_a_command_into_a_pipe(names, page):
    done = run(*names)

    assert (done.returncode, done.stderr) == (0, "")
    # The page of the program has the commands of other plugins too, if some are installed.
    assert (
        done.stdout == PAGES[page] if names else PAGES[page].splitlines()[:6] == done.stdout.splitlines()[:6]
    )


@pytest.mark.system
def test_the_command_writes_the_pages_of_all_commands_those_of_plugins_included(tmp_path):
    done = run("--write", "--to", tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "man1").iterdir()} >= PAGES.keys()
    assert {"aeron-core-pipeline-run.1", "aeron-core-keys-show.1"} <= PAGES.keys()


@pytest.mark.system
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nope"], "no command 'nope'"),
        (["pub", "more"], "no command 'pub more'"),
        (["--to", "x"], "--to=x: only allowed with --write"),
        (["--write", "pub"], "--write and pub: the pages of all commands are written"),
    ],
)
def test_what_has_no_page_is_refused_in_one_line(arguments, text):
    done = run(*arguments)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert text in done.stderr


@pytest.mark.system
@pytest.mark.skipif(None in (shutil.which("man"), shutil.which("groff")), reason="no man, or no groff")
def test_on_a_terminal_the_page_is_shown_by_man():
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "aeron_core", "man", "pub"]
    environment = os.environ | {"MANPAGER": "cat", "TERM": "dumb"}
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    output = b""
    try:
        while data := os.read(leader, 65_536):
            output += data
    except OSError:  # the last writer has closed the terminal
        pass
    os.close(leader)

    assert process.wait(60) == 0
    assert b"Publish the lines of the standard input" in output
    assert b".TH" not in output
