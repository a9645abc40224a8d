"""What a driver refuses: 2 if the channel is wrong in itself, 1 if it cannot be had."""

import pytest

from aeron_core.cli import connecting
from aeron_core.cli.channel_faults import check_for_any_driver, is_wrong_channel
from aeron_core.errors import ConfigurationError

WRONG = [
    "no-scheme",
    "aeron:unknown?endpoint=localhost:20121",
    "aeron:udp?endpoint=localhost",
    "aeron:udp?endpoint=localhost:99999",
    "aeron:udp?control=localhost|control-mode=dynamic",
    "aeron:udp?endpoint=localhost:20121|mtu=1401",
    "aeron:udp?endpoint=localhost:20121|fc=foo",
    "aeron:udp?endpoint=localhost:20121|term-length=1000",
    "aeron:lumberjack",
    "aeron:lumberjack?endpoint=localhost",
    "aeron:lumberjack?endpoint=localhost:5044|compression=10",
    "aeron:lumberjack?endpoint=localhost:5044|window=many",
    "aeron:lumberjack?endpoint=localhost:5044|backoff-init=5x",
    "aeron:lumberjack?endpoint=localhost:5044|max-nesting=1000",
    "aeron:lumberjack?endpoint=localhost:5044|ca=/ca.pem",
    "aeron:lumberjack?endpoint=localhost:5044|tls=true|ca=/no/such/ca.pem",
    "aeron:sp?endpoint=localhost:5555",
    "aeron:sp?endpoint=localhost:5555|mode=call",
    "aeron:sp?mode=dial",
    "aeron:sp?endpoint=localhost:5555|mode=dial|ttl=0",
    "aeron:sp?endpoint=localhost:5555|mode=dial|max-message=1t",
    "aeron:sp?path=/tmp/one|mode=dial|transport=tcp|endpoint=localhost:5555",
]
WRONG_SUBSCRIPTIONS = [
    "aeron:lumberjack?endpoint=localhost:5044,localhost:5045",
    "aeron:lumberjack?endpoint=localhost:5044|tls=true",
    "aeron:sp?endpoint=localhost:5555|mode=dial|rcv-wnd=64k",
]
_LONGEST_MESSAGE = "must be from 1 to 32768 (in bytes), an eighth of term-length=, at most 16m: lower it"


@pytest.mark.parametrize("channel", [*WRONG, "aeron:udp?endpoint=localhost:20121|cc=foo"])
def test_a_fault_of_a_channel_is_found_without_a_driver(channel):
    assert is_wrong_channel(channel, is_publication=True)


@pytest.mark.parametrize("channel", WRONG_SUBSCRIPTIONS)
def test_a_fault_of_one_direction_is_no_fault_of_the_other(channel):
    assert is_wrong_channel(channel, is_publication=False)
    assert not is_wrong_channel(channel, is_publication=True)


@pytest.mark.parametrize(
    "channel",
    [
        "aeron:ipc",
        "aeron:udp?endpoint=localhost:20121|fc=min,g:/3|cc=cubic",
        "aeron:udp?endpoint=no.such.host.invalid:20121",
        "aeron:lumberjack?endpoint=no.such.host.invalid:5044|ttl=5s|max-event=1m|window=100",
        "aeron:sp?endpoint=no.such.host.invalid:5555|mode=dial|ttl=3",
        "aeron:sp?path=/tmp/one|mode=listen|transport=ipc",
    ],
)
def test_a_sound_channel_is_not_wrong(channel):
    assert not is_wrong_channel(channel, is_publication=True)
    assert not is_wrong_channel(channel, is_publication=False)


def test_a_sound_spy_is_not_wrong():
    assert not is_wrong_channel("aeron-spy:aeron:udp?endpoint=localhost:20121", is_publication=False)


def commands(channel):
    return (
        ["pub", channel, "1"],
        ["sub", channel, "1"],
        ["ping", "--ping-channel", channel],
        ["pong", "--pong-channel", channel],
        ["record", channel, "1", "--to", "archive"],
        ["ship", "one.log", "--to", channel, "--state", "state"],
        ["device", channel, channel],
    )


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("udp?endpoint=localhost:20121", "Aeron URIs must start with 'aeron:' or 'aeron-spy:aeron:'"),
        ("aeron:udp?endpoint=localhost", "must be host:port"),
    ],
)
def test_a_wrong_channel_is_a_usage_error_without_a_driver(aeron, monkeypatch, tmp_path, channel, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connecting, "_DRIVER_WAIT_S", 0)

    for command in commands(channel):
        outcome = aeron(*command, "--aeron-dir", tmp_path / "no-driver")

        assert outcome.code == 2, command
        assert text in outcome.err


@pytest.mark.parametrize(
    "channel",
    [
        "aeron:udp?endpoint=localhost:20121|pub-wnd=32m",  # right if the driver's terms have 64 MiB
        "aeron:udp?endpoint=localhost:20121|pub-wnd=1k",  # right if its frames have at most that
        "aeron:udp?endpoint=localhost:20121|rcv-wnd=1m|so-rcvbuf=0",
        "aeron:udp?endpoint=localhost:20121|fc=strategy-of-a-plugin|cc=strategy-of-a-plugin",
        "aeron:medium-of-a-plugin?endpoint=anything",
        "aeron:lumberjack?endpoint=localhost:5044|ca=/ca.pem",
        "aeron:udp?endpoint=no.such.host.invalid:20121|session-id=tag:5",
    ],
)
def test_without_a_driver_a_channel_that_some_driver_accepts_is_not_wrong(channel):
    check_for_any_driver(channel, is_publication=True)
    check_for_any_driver(channel, is_publication=False)


@pytest.mark.parametrize(
    "channel",
    [each for each in WRONG if ("udp" in each or "scheme" in each) and "fc=" not in each],
)
def test_without_a_driver_a_channel_that_every_driver_refuses_is_wrong(channel):
    with pytest.raises(ConfigurationError):
        check_for_any_driver(channel, is_publication=True)


@pytest.mark.system
def test_a_wrong_channel_is_a_usage_error_of_every_command(aeron, running_driver, monkeypatch, tmp_path):
    _, directory = running_driver
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.log").write_text("one line\n")

    for command in commands("aeron:udp?endpoint=localhost"):
        outcome = aeron(*command, "--aeron-dir", directory)

        assert outcome.code == 2, command
        assert "localhost" in outcome.err
        assert "must be host:port" in outcome.err


@pytest.mark.system
@pytest.mark.parametrize("channel", WRONG)
def test_each_kind_of_wrong_channel_is_a_usage_error(aeron, running_driver, channel):
    _, directory = running_driver

    assert aeron("pub", channel, "1", "--timeout", "5", "--aeron-dir", directory).code == 2


@pytest.mark.system
@pytest.mark.parametrize("channel", WRONG_SUBSCRIPTIONS)
def test_a_channel_that_is_wrong_for_subscriptions_only_is_a_usage_error_of_sub(
    aeron, running_driver, channel
):
    _, directory = running_driver

    assert aeron("sub", channel, "1", "--timeout", "5", "--aeron-dir", directory).code == 2


@pytest.mark.system
def test_a_host_that_is_unknown_is_a_failure(aeron, running_driver):
    _, directory = running_driver

    outcome = aeron("sub", "aeron:udp?endpoint=no.such.host.invalid:20121", "1", "--aeron-dir", directory)

    assert outcome.code == 1
    assert "unknown host" in outcome.err


@pytest.mark.system
@pytest.mark.parametrize("size", ["8388609", "99999999999"])
def test_a_message_longer_than_the_term_allows_is_a_usage_error(aeron, running_driver, size):
    _, directory = running_driver

    outcome = aeron("pub", "aeron:ipc", "1", "--size", size, "-d", directory)

    assert (outcome.code, outcome.err) == (2, f"aeron-core: error: --size={size}: {_LONGEST_MESSAGE}\n")


@pytest.mark.system
def test_the_size_of_a_message_may_have_a_unit(aeron, running_driver):
    _, directory = running_driver

    outcome = aeron("pub", "aeron:ipc", "1", "--size", "33k", "-d", directory)

    assert (outcome.code, outcome.err) == (2, f"aeron-core: error: --size=33792: {_LONGEST_MESSAGE}\n")


@pytest.mark.system
def test_shipping_no_file_once_is_a_failure(aeron, running_driver, tmp_path):
    _, directory = running_driver
    pattern = tmp_path / "nope" / "*.log"

    outcome = aeron(
        "ship", pattern, "--once", "--to", "aeron:ipc", "--state", tmp_path / "state", "-d", directory
    )

    assert outcome.code == 1
    assert outcome.err.endswith(
        f"aeron-core: error: no file matches {pattern}: check the patterns, or omit --once to wait for files\n"
    )
