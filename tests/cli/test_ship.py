"""The command `ship`: start, stop, kill and restart."""

import errno
import json
import signal
import socket
import time

import pytest
from recorded_messages import DEADLINE_S, until

import aeron_core
from aeron_core import MediaDriver
from aeron_core.shipping import file_watcher
from aeron_core.shipping.followed_file import FollowedFile


class Reader:
    """A Lumberjack subscriber that reads on request."""

    def __init__(self, driver, aeron):
        self.subscription = aeron.add_subscription("aeron:lumberjack?endpoint=127.0.0.1:0", 7)
        (address,) = until(self.subscription.local_addresses)
        self.channel = f"aeron:lumberjack?endpoint={address}"
        self.messages = []

    def poll(self):
        self.subscription.poll(lambda buffer, header: self.messages.append(json.loads(bytes(buffer))), 1000)
        return [message["message"] for message in self.messages]


@pytest.fixture
def reader():
    with MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        yield Reader(driver, aeron)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "app.log"
    path.write_text("one\ntwo\n")
    return path


def append(path, text):
    with path.open("a") as file:
        file.write(text)


@pytest.mark.system
def test_lines_reach_a_lumberjack_reader_and_continue_after_a_restart(start, reader, log, tmp_path):
    arguments = ("ship", log, "--to", reader.channel, "--state", tmp_path / "state", "--embedded", "--json")
    process = start(*arguments)
    until(lambda: reader.poll() == ["one", "two"])
    append(log, "three\n")
    until(lambda: reader.poll() == ["one", "two", "three"])

    process.popen.send_signal(signal.SIGTERM)
    while process.popen.poll() is None:
        reader.poll()
    outcome = process.ended()

    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["lines"] == 3
    append(log, "four\n")
    process = start(*arguments, "--once")
    until(lambda: reader.poll()[3:] == ["four"])
    while process.popen.poll() is None:
        reader.poll()
    assert json.loads(process.ended().out)["lines"] == 1
    assert reader.messages[-1]["log"] == {"offset": 14, "file": {"path": str(log)}}


@pytest.mark.system
def test_a_kill_loses_nothing(start, reader, log, tmp_path):
    lines = [f"{number:06}" for number in range(20_000)]
    log.write_text("".join(f"{line}\n" for line in lines))
    arguments = ("ship", log, "--to", reader.channel, "--state", tmp_path / "state", "--embedded")
    for count in (1_000, 8_000, 15_000):
        process = start(*arguments)
        until(lambda count=count: len(set(reader.poll())) >= count)
        process.popen.kill()
        process.popen.wait(DEADLINE_S)

    start(*arguments)
    until(lambda: reader.poll() and reader.messages[-1]["message"] == lines[-1])
    assert sorted(set(reader.poll())) == lines


def test_once_ships_the_present_content(aeron, driver, log, tmp_path):
    with aeron_core.connect(driver.aeron_dir) as client:
        subscription = client.add_subscription("aeron:ipc", 5)
        arguments = ("ship", log, "--to", "aeron:ipc", "--stream-id", 5, "--state", tmp_path / "state")

        outcome = aeron(*arguments, "--once", "--raw", "-d", driver.aeron_dir)

        messages = []
        until(
            lambda: subscription.poll(lambda buffer, header: messages.append(bytes(buffer))) and messages[1:]
        )
    assert outcome.code == 0
    assert "shipped 2 lines of 8 bytes from 1 file" in outcome.err
    assert messages == [b"one", b"two"]


def test_a_missing_peer_is_reported(aeron, driver, log, tmp_path):
    arguments = ("ship", log, "--to", "aeron:ipc", "--state", tmp_path / "state", "-d", driver.aeron_dir)

    outcome = aeron(*arguments, "--once", "--timeout", 0.2, "--drain", 0.1)

    assert outcome.code == 1
    assert outcome.err == (
        "aeron-core: error: nothing was confirmed on aeron:ipc for 0.2 s: start its receiver, "
        "and its media driver if none runs, or raise --timeout\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.system
def test_shipping_continues_with_the_next_driver(start, reader, log, tmp_path, monkeypatch, number):
    # A directory is free one second after its driver was killed.
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "1000")
    directory = tmp_path / "driver"

    def start_driver():
        made = start("driver", f"-Daeron.dir={directory}", "-Daeron.term.buffer.length=256k", is_forked=True)
        until((directory / "cnc.dat").exists)
        return made

    driver = start_driver()
    arguments = (
        "ship",
        log,
        "--to",
        reader.channel,
        "--state",
        tmp_path / "state",
        "-d",
        directory,
        "--json",
    )
    process = start(*arguments)
    until(lambda: reader.poll() == ["one", "two"])
    driver.popen.send_signal(number)
    driver.popen.wait(DEADLINE_S)
    stderr = iter(process.popen.stderr.readline, "")
    assert any(f"disconnected from the media driver of {directory}" in line for line in stderr)
    append(log, "three\n")
    if number == signal.SIGKILL:
        time.sleep(1.2)

    start_driver()

    until(lambda: set(reader.poll()) == {"one", "two", "three"})
    process.popen.send_signal(signal.SIGTERM)
    while process.popen.poll() is None:
        reader.poll()
    outcome = process.ended()
    assert outcome.code == 0
    assert json.loads(outcome.out)["lines"] >= 3


@pytest.mark.system
def test_shipping_continues_with_a_driver_that_is_slow_after_a_loss(
    start, running_driver, slow_driver, reader, log, tmp_path
):
    _, directory = running_driver
    arguments = ("ship", log, "--to", reader.channel, "--state", tmp_path / "state", "-d", directory)
    process = start(*arguments, AERON_DRIVER_TIMEOUT="1000")
    # On a busy machine, the driver may be slow already here, and what was not acknowledged is sent again.
    until(lambda: set(reader.poll()) == {"one", "two"})

    slow_driver(process)
    append(log, "three\n")

    until(lambda: set(reader.poll()) == {"one", "two", "three"})
    process.popen.send_signal(signal.SIGTERM)
    while process.popen.poll() is None:
        reader.poll()
    assert process.ended().code == 0


@pytest.mark.system
def test_end_with_driver_ends_the_command(start, reader, log, tmp_path):
    directory = tmp_path / "driver"
    driver = start("driver", f"-Daeron.dir={directory}", "-Daeron.term.buffer.length=256k", is_forked=True)
    until((directory / "cnc.dat").exists)
    process = start(
        "ship",
        log,
        "--to",
        reader.channel,
        "--state",
        tmp_path / "state",
        "-d",
        directory,
        "--end-with-driver",
    )
    until(lambda: reader.poll() == ["one", "two"])

    driver.popen.send_signal(signal.SIGTERM)

    outcome = process.ended()
    assert outcome.code == 1
    assert "was closed" in outcome.err


def test_raw_lines_that_a_channel_refuses_are_reported(aeron, driver, reader, log, tmp_path):
    arguments = ("ship", log, "--raw", "--once", "--state", tmp_path / "state", "-d", driver.aeron_dir)

    outcome = aeron(*arguments, "--to", reader.channel)

    assert outcome.code == 2
    assert f"the line at byte 0 of {log} is not a JSON object" in outcome.err
    assert "wrap=true" in outcome.err


def test_a_single_run_fails_if_a_file_cannot_be_read(aeron, driver, log, tmp_path, monkeypatch):
    def follow(path, *arguments):
        if path == str(log):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return FollowedFile(path, *arguments)

    monkeypatch.setattr(file_watcher, "FollowedFile", follow)
    other = tmp_path / "other.log"
    other.write_text("three\n")
    arguments = ("ship", log, other, "--once", "--to", "aeron:ipc", "--state", tmp_path / "state")

    with aeron_core.connect(driver.aeron_dir) as client, client.add_subscription("aeron:ipc", 1):
        outcome = aeron(*arguments, "-d", driver.aeron_dir)

    assert outcome.code == 1
    assert f"warning: {log}: Permission denied\n" in outcome.err
    assert "shipped 1 line of 6 bytes from 1 file" in outcome.err
    assert "error: 1 file could not be read: " in outcome.err


@pytest.mark.system
def test_raw_lines_that_are_json_or_are_wrapped_are_shipped(start, reader, log, tmp_path):
    log.write_text('{"message":"one"}\n  {"message":"two"} \n')
    options = ("--raw", "--embedded")

    start("ship", log, *options, "--to", reader.channel, "--state", tmp_path / "a")
    until(lambda: reader.poll() == ["one", "two"])
    other = tmp_path / "other.log"
    other.write_text("three\n")
    start("ship", other, *options, "--to", f"{reader.channel}|wrap=true", "--state", tmp_path / "b")
    until(lambda: len(reader.poll()) == 3)

    assert reader.poll() == ["one", "two", "three"]


def test_usage_errors_are_reported(aeron, log):
    assert aeron("ship", log, "--to", "aeron:ipc", "--window", "0").code == 2
    assert aeron("ship", log).code == 2


@pytest.mark.system
def test_connection_errors_of_an_embedded_driver_are_reported(start, log, tmp_path):
    # A bound socket that does not listen: connections are refused.
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        channel = "aeron:lumberjack?endpoint={}:{}".format(*bound.getsockname())
        process = start(
            "ship", log, "--to", channel, "--state", tmp_path / "state", "--embedded", "--timeout", 5
        )
        outcome = process.ended()

    assert outcome.code == 1
    assert outcome.err.count("Connection refused") == 1
    assert "warning: (0) connection on aeron:lumberjack" in outcome.err
    assert "; last peer 127.0.0.1:" in outcome.err
