"""Commands as processes."""

import json
import os
import signal
import subprocess

import pytest

import aeron_core

pytestmark = pytest.mark.system


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_driver_in_order(running_driver, number):
    process, directory = running_driver

    process.popen.send_signal(number)

    assert process.ended().code == number
    assert not directory.exists()


def test_a_client_may_terminate_the_driver_if_the_settings_allow_it(running_driver):
    process, directory = running_driver

    with aeron_core.connect(directory) as client:
        client.terminate_driver()

        assert process.ended().code == 0


def test_a_driver_without_threads_of_its_own_serves_clients(start, await_driver, tmp_path):
    directory = tmp_path / "driver"
    process = start(
        "driver",
        f"-Daeron.dir={directory}",
        "-Daeron.threading.mode=INVOKER",
        "-Daeron.counters.buffer.length=1m",
    )
    await_driver(process, directory)

    with aeron_core.connect(directory) as client:
        assert client.add_counter(1001, label="here").label == "here"

    process.popen.terminate()
    assert process.ended().code == signal.SIGTERM


def test_a_second_driver_in_a_directory_is_refused_in_one_line(running_driver, start):
    _, directory = running_driver

    outcome = start("driver", f"-Daeron.dir={directory}").ended(timeout=30)

    assert outcome.code == 1
    assert "active media driver" in outcome.err
    assert outcome.err.count("\n") == 1


def test_lines_go_from_pub_to_sub(running_driver, start, tmp_path):
    _, directory = running_driver
    lines = "".join(f"line {number}\n" for number in range(50_000))
    output = tmp_path / "received"
    arguments = ("--count", 50_000, "--timeout", 30, "--output", output, "-d", directory)
    subscriber = start("sub", "aeron:ipc", 7, *arguments)

    publisher = start("pub", "aeron:ipc", 7, "--json", "-d", directory, stdin=subprocess.PIPE)
    published = publisher.ended(lines)

    assert (published.code, subscriber.ended().code) == (0, 0)
    assert output.read_text() == lines
    assert json.loads(published.out)["messages"] == 50_000


def test_random_messages_are_counted(running_driver, start, tmp_path):
    _, directory = running_driver
    arguments = ("aeron:ipc", 7, "--count", 100, "--timeout", 30, "--json", "-d", directory)
    subscriber = start("sub", *arguments, "--output", tmp_path / "received")

    published = start("pub", *arguments, "--size", 5000).ended()

    received = subscriber.ended()
    assert json.loads(published.out)["bytes"] == json.loads(received.out)["bytes"] == 500_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_subscriber_prints_a_summary_and_succeeds(running_driver, start, number):
    _, directory = running_driver
    subscriber = start("sub", "aeron:ipc", 7, "-d", directory)
    publisher = start("pub", "aeron:ipc", 7, "-d", directory, stdin=subprocess.PIPE)
    assert publisher.ended("one\ntwo\nthree\n").code == 0
    assert [subscriber.popen.stdout.readline() for _ in range(3)] == ["one\n", "two\n", "three\n"]

    subscriber.popen.send_signal(number)

    outcome = subscriber.ended()
    assert outcome.code == 0
    assert "received 3 messages" in outcome.err


def test_an_interrupted_pong_prints_a_summary_and_succeeds(running_driver, start):
    _, directory = running_driver
    channels = ("--ping-channel", "aeron:ipc", "--pong-channel", "aeron:ipc", "-d", directory)
    pong = start("pong", *channels)
    assert start("ping", "--messages", 5, "--warm-up", 5, "--timeout", 30, *channels).ended().code == 0

    pong.popen.send_signal(signal.SIGINT)

    outcome = pong.ended()
    assert outcome.code == 0
    assert "returned 10 messages" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("pub", "aeron:ipc", 8, "--size", 1, "--timeout", 0.2), 1, "was not connected within 0.2 s"),
        (("sub", "aeron:ipc", 8, "--timeout", 0.2), 1, "no message"),
        (("sub", "hello", 8), 2, "hello"),
        (
            ("ping", "--ping-channel", "aeron:ipc", "--pong-channel", "aeron:ipc", "--timeout", 0.2),
            1,
            "was not connected within 0.2 s",
        ),
    ],
)
def test_a_failure_ends_in_one_line(running_driver, start, arguments, code, text):
    _, directory = running_driver

    outcome = start(*arguments, "-d", directory).ended()

    assert outcome.code == code
    error = [line for line in outcome.err.splitlines() if "error: " in line]
    assert len(error) == 1
    assert text in error[0]
    assert "Traceback" not in outcome.err


def test_a_secured_channel_that_is_not_connected_names_the_command_that_shows_refused_peers(
    start, await_driver, tmp_path
):
    key, directory = tmp_path / "orders.key", tmp_path / "driver"
    assert start("keys", "generate", key).ended().code == 0
    profile = f"-Daeron.security.profiles=orders,secret_file={key}"
    await_driver(start("driver", profile, "-d", directory), directory)
    channel = "aeron:udp?endpoint=127.0.0.1:20129|security=orders"

    outcome = start("pub", channel, 8, "--size", 1, "--timeout", 0.2, "-d", directory).ended()

    assert outcome.code == 1
    assert "`aeron-core errors` on both hosts has the peers that security refuses" in outcome.err


def test_without_a_driver_a_command_ends_within_seconds(start, tmp_path):
    outcome = start("sub", "aeron:ipc", 8, "-d", tmp_path / "nothing").ended(timeout=20)

    assert outcome.code == 1
    assert "no media driver" in outcome.err


def test_a_missing_driver_is_reported_before_a_fifo_has_a_writer(start, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    outcome = start("pub", "aeron:ipc", 7, "--input", fifo, "-d", tmp_path / "none").ended()

    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert f"start one with `aeron-core driver --aeron-dir {tmp_path / 'none'}`" in outcome.err


def test_ping_measures_round_trips_to_pong(running_driver, start):
    _, directory = running_driver
    channels = ("--ping-channel", "aeron:ipc", "--pong-channel", "aeron:ipc", "-d", directory, "--json")
    pong = start("pong", "--once", *channels)

    ping = start("ping", "--messages", 200, "--warm-up", 20, "--timeout", 30, *channels).ended()

    assert ping.code == 0, ping.err
    assert json.loads(ping.out)["round_trip"]["count"] == 200
    assert json.loads(pong.ended().out)["messages"] == 220
