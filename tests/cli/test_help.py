import re

import pytest
import typer

from aeron_core.cli.program import make_core_app
from aeron_core.registry import Registry

GROUPS = ["plugins", "settings", "recordings", "keys", "pipeline"]


def test_the_program_without_arguments_shows_its_help(aeron):
    outcome = aeron()

    assert outcome.code == 0
    assert outcome.out == aeron("--help").out
    assert outcome.out.startswith("Usage: aeron-core [OPTIONS] COMMAND [ARGS]...\n")
    assert outcome.err == ""


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_shows_its_help_as_an_error(aeron, group):
    outcome = aeron(group)

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith(f"Usage: aeron-core {group} [OPTIONS] COMMAND [ARGS]...\n")
    assert "error" not in outcome.err


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_of_a_group_is_no_error(aeron, group):
    outcome = aeron(group, "--help")

    assert outcome.code == 0
    assert outcome.out.startswith(f"Usage: aeron-core {group} [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize("group", GROUPS)
def test_no_line_of_the_help_of_a_group_is_cut(aeron, group):
    assert "...\n" not in aeron(group, "--help").out.partition("\nCommands:")[2]


def test_the_help_names_every_command(aeron):
    out = aeron("--help").out

    for name in ("driver", "pub", "log-inspect", "recordings", "pipeline"):
        assert f"\n  {name} " in out


def test_help_names_values_and_not_their_types(aeron):
    out = aeron("record", "--help").out

    assert out.startswith("Usage: aeron-core record [OPTIONS] CHANNEL STREAM_ID...\n")
    assert "--timeout DURATION" in out
    assert "<" not in out


def commands(path, group):
    for name, command in getattr(group, "commands", {}).items():
        if getattr(command, "commands", None):
            yield from commands((*path, name), command)
        else:
            yield pytest.param((*path, name), command, id=" ".join((*path, name)))


def all_commands():
    app = make_core_app()
    Registry.load().add_commands(app)
    return list(commands((), typer.main.get_command(app)))


@pytest.mark.parametrize(("path", "command"), all_commands())
def test_every_value_of_every_command_has_a_name_in_capitals(aeron, path, command):
    out = aeron(*path, "--help").out

    for option in command.params:
        if option.param_type_name == "option" and not option.is_flag:
            assert re.search(rf"{max(option.opts, key=len)} [A-Z][A-Z_:=]+\b", out), option.name
    assert not re.search(r"<\w+>|\b(INTEGER|FLOAT|TEXT|PATH|FILENAME)\b", out)
    assert out.startswith(f"Usage: aeron-core {' '.join(path)} [OPTIONS]")
    assert "{" not in out.splitlines()[0]


def test_a_rate_names_its_unit(aeron):
    assert "--rate MESSAGES_PER_SECOND" in aeron("pub", "--help").out
    assert "--rate BYTES_PER_SECOND" in aeron("replay", "--help").out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["stta"], "aeron-core: error: no command 'stta': did you mean stat?\n"),
        (["recordings", "lst"], "aeron-core: error: no command 'lst': did you mean list?\n"),
        (["qqq"], "aeron-core: error: no command 'qqq': see aeron-core --help\n"),
    ],
)
def test_a_misspelt_command_is_answered_with_a_near_one(aeron, arguments, hint):
    outcome = aeron(*arguments)

    assert (outcome.code, outcome.err) == (2, hint)


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("plu", ["plugins"]),
        ("recordings l", ["list"]),
        ("rec", ["record", "recordings"]),
        ("stat --on", ["--once"]),
    ],
)
def test_a_shell_completes_commands_and_options(start, monkeypatch, typed, completions):
    monkeypatch.setenv("_AERON_CORE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"aeron-core {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))

    outcome = start().ended()

    assert outcome.out.split() == completions


#: Commands that print no table and no result, and why they have no --json.
WITHOUT_JSON = {
    ("archive",): "serves clients, and prints nothing",
    ("dashboard",): "serves a page",
    ("driver",): "prints what aeronmd prints",
    ("man",): "prints a page for the program man",
    ("pipeline", "plot"): "writes a file",
    ("plot",): "writes a file",
    ("plugins", "new"): "writes files",
    ("top",): "is a view on a terminal",
    ("terminate",): "prints nothing but a message",
}


def test_every_other_command_prints_json():
    without = {path for path, command in map(tuple_of, all_commands()) if not has_json(command)}

    assert without == set(WITHOUT_JSON)


def tuple_of(parameter):
    return parameter.values


def has_json(command):
    return any("--json" in param.opts for param in command.params)
