"""Man pages, generated from the same help texts as the reference of commands."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).parents[1]
MAN = runpy.run_path(str(ROOT / "docs" / "man_pages.py"))
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = dict(MAN["man_pages"](typer.main.get_command(GENERATOR["program"]())))


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
    assert "\n.TP\n\\fB130\\fP\n" in page


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
    assert MAN["formatted"](text) == roff


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
