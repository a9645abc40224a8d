"""Unknown keys of channels are warnings of every command that takes a channel."""

import pytest

from aeron_core.cli import connecting
from aeron_core.cli.channel_faults import warnings_of_keys
from aeron_core.testing.recordings import RecordingUnderTest
from aeron_core.uri.channel_uri import ChannelUri

CHANNEL = "aeron:udp?endpoint=localhost:20121|mtuu=1408"
WARNING = "aeron-core: warning: unknown channel key mtuu: did you mean mtu?\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(connecting, "_DRIVER_WAIT_S", 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("pub", CHANNEL, "1", "--size", "8"),
        ("sub", CHANNEL, "1"),
        ("ping", "--ping-channel", CHANNEL, "--pong-channel", CHANNEL),
        ("pong", "--pong-channel", CHANNEL),
        ("record", CHANNEL, "1", "2", "--to", "archive"),
        ("replay", "0", "--from", "archive", "--to", CHANNEL),
        ("ship", "one.log", "--to", CHANNEL, "--state", "state"),
        ("device", CHANNEL, CHANNEL, "--aeron-dir", "no-driver"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_warns_of_an_unknown_key_once(aeron, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    written = RecordingUnderTest.begin(tmp_path / "archive")
    written.append(b"a")
    written.stop()

    outcome = aeron(*arguments)

    assert outcome.code == 1
    assert outcome.err.startswith(f"{WARNING}aeron-core: error: no media driver is accessible in ")
    assert outcome.err.count("warning") == 1


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("aeron:ipc?alias=x", []),
        ("aeron-spy:aeron:udp?endpoint=localhost:1|gtag=1", []),
        ("aeron-spy:aeron:udp?endpoint=localhost:1|gatg=1", ["gatg: did you mean gtag?"]),
        ("aeron:udp?endpoint=localhost:1|poly=true|xyz=1", ["poly: it is ignored", "xyz: it is ignored"]),
        ("aeron:sp?endpoint=localhost:1|mode=dial|ploy=true", ["ploy: did you mean poly?"]),
        ("aeron:lumberjack?endpoint=localhost:1|window=1|pipline=2", ["pipline: did you mean pipeline?"]),
        ("aeron:no-such-medium?anything=1", []),
    ],
)
def test_the_keys_of_a_channel_are_those_of_its_medium(channel, expected):
    texts = [
        text.removeprefix("unknown channel key ") for text in warnings_of_keys(ChannelUri.parse(channel))
    ]

    assert texts == expected


@pytest.mark.system
def test_a_driver_reports_the_key_too(aeron, running_driver):
    _, directory = running_driver
    command = ("sub", "aeron:ipc?mtuu=1408", "1", "--timeout", "0.05", "-d", directory)

    assert aeron(*command).err.startswith(WARNING)
    assert "unknown channel key mtuu: did you mean mtu?" in aeron("errors", "-d", directory).out
