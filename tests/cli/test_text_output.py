"""What commands print as text: colours on a terminal, plain columns in a pipe, nouns that agree with their numbers."""

import re
from pathlib import Path

import pytest
from terminals import shown_on_a_terminal

import aeron_core
from aeron_core.cli.text_table import counted, print_table, table_lines
from aeron_core.testing.recordings import RecordingUnderTest

STYLE = re.compile(r"\x1b\[[0-9;]*m")
BORDERS = re.compile("[\u2500-\u257f]")
LONG_CHANNEL = "aeron:ipc?alias=" + "x" * 150


@pytest.fixture(scope="module")
def directory():
    """The directory of a driver with a stream, whose channel is longer than any terminal is wide."""
    with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription(LONG_CHANNEL, 7)
        publication = aeron.add_publication(LONG_CHANNEL, 7)
        publication.send(b"hello", timeout=10)
        subscription.await_connected(timeout=10)
        yield driver.aeron_dir


@pytest.mark.system
@pytest.mark.parametrize("command", ["stat", "streams", "backlog"])
def test_a_terminal_has_colours(command, directory):
    shown = shown_on_a_terminal(command, "--once", "-d", directory)

    assert len(set(STYLE.findall(shown))) >= 3
    assert "aeron:ipc" in STYLE.sub("", shown)


@pytest.mark.system
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_disabled(directory, environment):
    assert not STYLE.search(shown_on_a_terminal("stat", "--once", "-d", directory, **environment))


@pytest.mark.system
@pytest.mark.parametrize(
    "command",
    [
        ["stat", "--once", "-d"],
        ["streams", "--once", "-d"],
        ["backlog", "--once", "-d"],
        ["errors", "-d"],
        ["doctor", "-d"],
        ["settings", "show", "-Daeron.dir=none"],
        ["plugins", "list"],
        ["demo", "--min-lines", "1"],
        ["--help"],
    ],
)
def test_no_command_has_colours_or_bold_text_with_no_color(command, directory):
    arguments = [*command, directory] if command[-1] == "-d" else command

    shown = shown_on_a_terminal(*arguments, NO_COLOR="1")

    assert shown
    assert not STYLE.search(shown)


@pytest.mark.system
@pytest.mark.parametrize(("variables", "has_styles"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_progress_has_colours_unless_no_color_is_set(variables, has_styles):
    shown = shown_on_a_terminal("demo", "--min-lines", "200000", "--json", stream="stderr", **variables)

    assert "received" in shown
    assert bool(STYLE.search(shown)) == has_styles


@pytest.mark.parametrize("command", ["stat", "streams", "backlog"])
def test_a_pipe_has_neither_colours_nor_borders_nor_a_width(aeron, command, directory):
    out = aeron(command, "-d", directory).out

    assert not STYLE.search(out)
    assert not BORDERS.search(out)
    assert "x" * 150 in out


def test_a_terminal_and_a_pipe_show_the_same_columns(monkeypatch):
    header, rows = ("name", "bytes"), [("one", "1"), ("three", "1,000")]
    plain = list(table_lines(header, rows, right=("bytes",), styles={"bytes": "36"}))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", type("Terminal", (), {"closed": False, "isatty": lambda self: True})())

    coloured = list(table_lines(header, rows, right=("bytes",), styles={"bytes": "36"}))

    assert plain == ["name   bytes", "one        1", "three  1,000"]
    assert [STYLE.sub("", line) for line in coloured] == plain
    assert coloured[1] == "one    \x1b[36m    1\x1b[0m"


def test_settings_in_a_pipe_are_one_plain_line_each(aeron, monkeypatch):
    monkeypatch.setenv("AERON_EVENT_LOG_FILENAME", "/" + "y" * 400)

    lines = aeron("settings", "show").out.splitlines()

    assert lines[0].split() == ["setting", "value", "from", "environment", "variable", "note"]
    assert not BORDERS.search("".join(lines))
    assert any("y" * 400 in line and "AERON_EVENT_LOG_FILENAME" in line for line in lines)


def test_recordings_in_a_pipe_are_one_plain_line_each(aeron, tmp_path):
    RecordingUnderTest.begin(tmp_path / "archive").stop()

    lines = aeron("recordings", "list", tmp_path / "archive").out.splitlines()

    assert len(lines) == 2
    assert lines[0].startswith("id  state")
    assert not BORDERS.search("".join(lines))


def test_a_table_has_a_title_and_groups(capsys):
    print_table(
        ("", "sent"), [("lines", "1"), ("", ""), ("seconds", "2.5")], right=("sent",), title="log\nudp"
    )

    assert capsys.readouterr().out == "log\nudp\n         sent\nlines       1\n\nseconds   2.5\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, "byte"), "0 bytes"),
        ((1, "byte"), "1 byte"),
        ((2000, "byte"), "2,000 bytes"),
        ((1, "entry", "entries"), "1 entry"),
        ((2, "entry", "entries"), "2 entries"),
    ],
)
def test_a_noun_agrees_with_its_number(arguments, text):
    assert counted(*arguments) == text


def test_one_recording_is_no_plural(aeron, tmp_path):
    RecordingUnderTest.begin(tmp_path / "archive").stop()

    err = aeron("recordings", "verify", tmp_path / "archive").err

    assert (
        err == "aeron-core: verified 1 recording, 0 bytes, 0 frames, 0 bytes covered by checksums: 0 faults\n"
    )


def test_no_command_prints_a_literal_plural_after_a_number():
    """A number and its noun come from `counted`, except in the last line of `loss`, which is that of the C tool."""
    package = Path(aeron_core.__file__).parent
    nouns = "messages|recordings|files|bytes|lines|frames|errors|entries|observations|segments|streams|faults"

    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted((package / "cli").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(rf"\{{(?!counted)[^{{}}]*\}} (?:distinct )?({nouns})\b(?!/s| read\b)", line)
    ]

    assert found == []
