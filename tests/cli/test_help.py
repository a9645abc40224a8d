import pytest

GROUPS = ["plugins", "settings", "recordings", "pipeline"]


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


def test_the_help_names_every_command(aeron):
    out = aeron("--help").out

    for name in ("driver", "pub", "log-inspect", "recordings", "pipeline"):
        assert f"\n  {name} " in out


def test_help_names_values_and_not_their_types(aeron):
    out = aeron("record", "--help").out

    assert out.startswith("Usage: aeron-core record [OPTIONS] CHANNEL STREAM_ID...\n")
    assert "--timeout SECONDS" in out
    assert "<" not in out


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
        ("pl", ["plugins"]),
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
