import errno
import gc
import sys

import pytest

from aeron_core.cli.main import main
from aeron_core.cli.outcome import exit_code_of, message_of, print_stderr
from aeron_core.errors import (
    ActiveDriverError,
    ChannelUriError,
    CncNotReadyError,
    ErrorCode,
    PluginError,
    RegistrationError,
    StorageError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ChannelUriError("wrong"), 2),
        (PluginError("broken"), 2),
        (RegistrationError("bad channel", ErrorCode.INVALID_CHANNEL), 2),
        (RegistrationError("port in use", ErrorCode.GENERIC_ERROR), 1),
        (ActiveDriverError("there is one"), 1),
        (CncNotReadyError("there is none"), 1),
        (StorageError(errno.ENOSPC, "disk full"), 1),
        (PermissionError(errno.EACCES, "not allowed"), 1),
        (ZeroDivisionError("a fault of ours"), None),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error, code):
    assert exit_code_of(error) == code


def test_a_long_message_has_its_cause_and_its_remedy(capsys):
    print_stderr(f"error: cause: {'x' * 5000}: remedy")

    line = capsys.readouterr().err
    assert line.startswith("aeron-core: error: cause: xxx")
    assert line.endswith("xxx: remedy\n")
    assert 2000 < len(line) < 2100
    print_stderr("y" * 2000)
    assert capsys.readouterr().err == f"aeron-core: {'y' * 2000}\n"


def test_a_message_is_one_line_without_an_errno_in_front():
    assert message_of(StorageError(errno.ENOSPC, "disk full:\n free some")) == "disk full: free some"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["stat", "--bogus"],
        ["stat", "--match", "("],
        ["stat", "--match", "a{99999999999999999999}"],
        ["stat", "--interval", "0"],
        ["stat", "--interval", "nan"],
        ["stat", "--json", "--format", "prometheus"],
        ["terminate", "--timeout", "nan"],
        ["log-inspect", "any.logbuffer", "--dump", "-1"],
        ["pub", "aeron:ipc"],
        ["pub", "aeron:ipc", "one"],
        ["pub", "aeron:ipc", "1", "--input", "no-such-file"],
        ["pub", "aeron:ipc", "1", "--rate", "0"],
        ["pub", "aeron:ipc", "1", "--count", "0"],
        ["device", "aeron:ipc", "aeron:ipc", "--linger", "-1"],
        ["ping", "--messages", "0"],
        ["ping", "--size", "7"],
        ["ping", "--size", "1t"],
        ["demo", "--loss", "1"],
        ["settings", "show", "-Dnothing"],
        ["settings", "show", "no-such-file.properties"],
        ["settings", "show", "http://localhost:1/driver.properties"],
    ],
)
def test_a_usage_error_ends_in_one_line_and_code_2(aeron, arguments):
    outcome = aeron(*arguments)

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("aeron-core: error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("pub", "aeron:ipc", "1", "--count", "-1"), "--count=-1: must be a whole number from 1 to 2^63 - 1"),
        (
            ("sub", "aeron:ipc", "1", "--timeout", "soon"),
            "--timeout=soon: must be a whole number with a unit ns, us, ms, s, min, h or d, or a number of seconds",
        ),
        (
            ("sub", "aeron:ipc", "1", "--timeout", "-inf"),
            "--timeout=-inf: must be a whole number with a unit ns, us, ms, s, min, h or d, or a number of seconds",
        ),
        (
            ("device", "aeron:ipc", "aeron:ipc", "--linger", "-1"),
            "--linger=-1: must be a whole number with a unit ns, us, ms, s, min, h or d, or a number of seconds",
        ),
        (
            ("driver", "--metrics", "here:port"),
            "--metrics=here:port: must be host:port or [ipv6]:port with a port ",
        ),
    ],
)
def test_the_message_for_a_wrong_number_or_address_has_the_allowed_range(aeron, arguments, allowed):
    assert aeron(*arguments).err.startswith(f"aeron-core: error: {allowed}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-Dnothing"],
        ["-Daeron.mtu.length=1"],
        ["-Daeron.conductor.idle.strategy=no-such-strategy"],
        ["--bogus"],
        ["no-such-file.properties"],
        ["http://localhost:1/driver.properties"],
    ],
)
def test_a_usage_error_of_the_driver_has_code_1_because_2_means_sigint(aeron, arguments):
    outcome = aeron("driver", *arguments)

    assert outcome.code == 1
    assert outcome.err.startswith("aeron-core: error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["stat"], ["errors"], ["loss"]])
def test_a_directory_without_a_driver_ends_in_one_line_and_code_1(aeron, arguments):
    outcome = aeron(*arguments)

    assert outcome.code == 1
    assert "no-driver" in outcome.err
    assert "AERON_DIR" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_driver_directory_that_is_a_file_ends_in_one_line(aeron, tmp_path):
    (tmp_path / "file").touch()

    outcome = aeron("driver", f"-Daeron.dir={tmp_path / 'file'}")

    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_the_version_is_shown(aeron):
    outcome = aeron("--version")

    assert outcome.code == 0
    assert outcome.out.startswith("aeron-core ")


def test_the_driver_shows_its_version_as_aeronmd_does(aeron):
    outcome = aeron("driver", "-v")

    assert outcome.code == 0
    assert "version=" in outcome.out


def test_a_command_ends_without_a_collection_of_all_objects(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["aeron-core", "--version"])
    before = gc.get_freeze_count()

    try:
        with pytest.raises(SystemExit):
            main()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_control_characters_of_a_value_are_escaped(aeron):
    outcome = aeron("pub", "aeron:ipc", "\x1b[2J\u202e1")

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "STREAM_ID=\\x1b[2J\\u202e1: must be a whole number" in outcome.err


@pytest.mark.parametrize(
    ("command", "name"),
    [(("pipeline", "check"), "FILE"), (("pipeline", "plot"), "LOG"), (("stat", "-d"), "--aeron-dir")],
)
def test_a_path_that_no_file_can_have_is_not_repeated_in_full(aeron, command, name):
    outcome = aeron(*command, "a" * 5000)

    assert outcome.code == 2
    allowed = "must be a path with a length of at most 4095 (in bytes)"
    assert outcome.err == f"aeron-core: error: {name}={'a' * 100}...: {allowed}\n"
