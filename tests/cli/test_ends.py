"""The commands `terminate` and `clean`."""

import json

import pytest

from aeron_core._native import wire
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.system


def test_a_driver_that_allows_termination_shuts_down(running_driver, aeron):
    process, directory = running_driver

    outcome = aeron("terminate", "-d", directory)

    assert outcome.code == 0
    assert "has shut down" in outcome.err
    assert process.ended().code == 0


def test_a_driver_that_denies_termination_stays_alive_and_the_reason_is_reported(
    start, aeron, await_driver, tmp_path
):
    directory = tmp_path / "driver"
    process = start("driver", f"-Daeron.dir={directory}", "-Daeron.counters.buffer.length=1m")
    await_driver(process, directory)

    outcome = aeron("terminate", "-d", directory, "--timeout", "0.5")

    assert outcome.code == 1
    assert "AERON_DRIVER_TERMINATION_VALIDATOR" in outcome.err
    assert process.popen.poll() is None


def test_the_shutdown_of_the_driver_is_reported_without_a_traceback(running_driver, start, aeron, tmp_path):
    _, directory = running_driver
    lines = tmp_path / "lines"
    lines.write_text("line\n" * 100_000)
    subscriber = start("sub", "aeron:ipc", 7, "-d", directory)
    publisher = start("pub", "aeron:ipc", 7, "--input", lines, "--rate", 100, "-d", directory)
    assert subscriber.popen.stdout.readline() == "line\n"

    assert aeron("terminate", "-d", directory).code == 0

    received, published = subscriber.ended(timeout=30), publisher.ended(timeout=30)
    assert (received.code, published.code) == (1, 1)
    assert "error: disconnected from the media driver" in received.err
    assert "error: disconnected from the media driver" in published.err
    for outcome in (received, published):
        assert all(line.startswith("aeron-core: ") for line in outcome.err.splitlines())


def test_a_ping_ends_when_its_driver_shuts_down(running_driver, start, aeron):
    _, directory = running_driver
    channels = ("--ping-channel", "aeron:ipc", "--pong-channel", "aeron:ipc", "-d", directory)
    pong = start("pong", *channels)
    ping = start("ping", "--messages", 10**9, "--timeout", 3600, *channels)
    while not any(
        record.label.startswith("pub-pos") and record.value > 0
        for record in DriverFiles.open(directory).counters
    ):
        assert ping.popen.poll() is None

    assert aeron("terminate", "-d", directory).code == 0

    for outcome, command in ((ping.ended(), "ping"), (pong.ended(), "pong")):
        assert outcome.code == 1
        assert "error: disconnected from the media driver after" in outcome.err
        assert f"then run {command} again" in outcome.err


def test_a_token_file_is_sent_without_its_line_end(aeron, tmp_path):
    (tmp_path / "token").write_text("open sesame\n")
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with MediaDriver(settings, invoker=True) as driver:
        driver.do_work()

        outcome = aeron(
            "terminate", "-d", driver.aeron_dir, "--token-file", tmp_path / "token", "--timeout", "0.01"
        )
        commands = driver._assembly.cnc.to_driver.get_bytes(0, 4096)

    assert outcome.code == 1
    assert b"open sesame" in commands
    assert b"sesame\n" not in commands


def test_a_token_and_a_token_file_exclude_each_other(aeron, dead_directory, tmp_path):
    (tmp_path / "token").write_text("open")

    outcome = aeron("terminate", "-d", dead_directory, "--token", "a", "--token-file", tmp_path / "token")

    assert outcome.code == 2
    assert "--token and --token-file" in outcome.err


def test_terminating_a_dead_driver_fails(aeron, dead_directory):
    outcome = aeron("terminate", "-d", dead_directory)

    assert outcome.code == 1
    assert f"`aeron-core clean --aeron-dir {dead_directory}`" in outcome.err


def test_the_directory_of_a_dead_driver_is_deleted(aeron, dead_directory):
    assert aeron("clean", "--dry-run", "-d", dead_directory).code == 0
    assert dead_directory.exists()

    document = json.loads(aeron("clean", "--json", "-d", dead_directory).out)

    assert document["is_deleted"]
    assert document["bytes"] > 0
    assert not dead_directory.exists()


def test_the_directory_of_a_living_driver_is_kept(running_driver, aeron):
    _, directory = running_driver

    outcome = aeron("clean", "-d", directory)

    assert outcome.code == 1
    assert "active media driver" in outcome.err
    assert directory.exists()


def test_a_directory_with_anything_else_in_it_is_kept(aeron, dead_directory):
    (dead_directory / "letters.txt").write_text("dear")

    outcome = aeron("clean", "-d", dead_directory)

    assert outcome.code == 1
    assert "letters.txt" in outcome.err
    assert (dead_directory / "letters.txt").exists()


def test_a_directory_without_a_driver_is_not_deleted(aeron, tmp_path):
    outcome = aeron("clean", "-d", tmp_path)

    assert outcome.code == 1
    assert tmp_path.exists()


def test_the_directory_of_another_version_is_kept_because_its_driver_may_be_alive(aeron, dead_directory):
    with (dead_directory / "cnc.dat").open("r+b") as file:
        file.seek(wire.CNC_VERSION_OFFSET)
        file.write((1 << 16).to_bytes(4, "little"))

    outcome = aeron("clean", "-d", dead_directory)

    assert outcome.code == 1
    assert "1.0.0" in outcome.err
    assert dead_directory.exists()
