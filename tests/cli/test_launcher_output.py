"""`aeron-core driver` whose output is closed, full, or not read."""

import fcntl
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.system

SMALL = {"AERON_COUNTERS_BUFFER_LENGTH": "1m", "AERON_TERM_BUFFER_LENGTH": "64k"}


def test_a_reader_that_does_not_read_does_not_delay_the_shutdown(launch):
    process, directory = launch(AERON_EVENT_LOG="admin", AERON_DRIVER_TERMINATION_VALIDATOR="allow")
    fcntl.fcntl(process.popen.stdout, fcntl.F_SETPIPE_SZ, 4096)

    with suppress(AeronError), aeron_core.connect(directory) as client:
        for stream_id in range(100):
            client.add_publication("aeron:ipc?term-length=64k", stream_id)
        client.terminate_driver()
        code = process.popen.wait(timeout=60)

    assert code == 0


def test_a_reader_that_was_killed_is_logged_once_and_the_driver_goes_on(launch):
    process, directory = launch(AERON_EVENT_LOG="admin")
    for stream in (process.popen.stdout, process.popen.stderr):
        stream.close()

    with aeron_core.connect(directory) as client:
        for number in range(100):
            client.add_counter(1001, label=str(number))
    records = list(read_errors(CncFile.open(directory / CNC_FILE, read_only=True).error_log))
    process.popen.terminate()

    assert process.popen.wait(timeout=60) == signal.SIGTERM
    ((count, text),) = [(record.observation_count, record.text) for record in records]
    assert (count, "Broken pipe" in text) == (1, True)
    process.popen.stdout, process.popen.stderr = open(os.devnull), open(os.devnull)  # noqa: SIM115 - the fixture closes


def test_it_runs_without_standard_output_and_error(tmp_path):
    environment = {**os.environ, "AERON_DIR": str(tmp_path / "driver"), **SMALL}
    command = f"exec {sys.executable} -m aeron_core driver >&- 2>&-"
    process = subprocess.Popen(["/bin/sh", "-c", command], env=environment)
    try:
        with aeron_core.connect(tmp_path / "driver") as client:
            client.add_counter(1001, label="served")
        process.terminate()

        assert process.wait(timeout=60) == signal.SIGTERM
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("full", ["stdout", "stderr"])
def test_it_runs_if_the_disk_of_its_output_is_full(tmp_path, full):
    """Warnings and the configuration are written at the start, and the end is announced."""
    directory = tmp_path / "driver"
    environment = {"AERON_DIR": str(directory), **SMALL, "AERON_PRINT_CONFIGURATION": "true"}
    command = [sys.executable, "-m", "aeron_core", "driver", "-Daeron.mtu.length=x", "-Dno.such=1"]
    directory.mkdir()
    with open("/dev/full", "w") as device:
        outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, full: device}
        process = subprocess.Popen(
            command, env={**os.environ, **environment, "AERON_DIR_WARN_IF_EXISTS": "true"}, **outputs
        )
    try:
        with aeron_core.connect(directory) as client:
            client.add_counter(1001, label="served")
        process.terminate()

        assert process.wait(timeout=60) == signal.SIGTERM
    finally:
        process.kill()
        process.wait()


def test_a_closed_pipe_does_not_disturb_the_shutdown(launch):
    process, directory = launch(AERON_DIR_DELETE_ON_SHUTDOWN="1")
    process.popen.stdout.close()
    process.popen.terminate()

    assert process.popen.wait(timeout=60) == signal.SIGTERM
    assert process.popen.stderr.read() == ""
    assert not directory.exists()
    process.popen.stdout = open(os.devnull)  # noqa: SIM115 - the fixture reads and closes it
