"""Drivers and a publication for recorders."""

import socket
import time

import pytest
from recorded_messages import until

import aeron_core
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CncFile

STREAM_ID = 1001


@pytest.fixture
def patient_driver(start, tmp_path):
    """A driver that keeps what a dead client had for longer than a test lasts; returns its directory."""
    directory = tmp_path / "driver"
    start(
        "driver",
        f"-Daeron.dir={directory}",
        "-Daeron.threading.mode=SHARED",
        "-Daeron.term.buffer.length=256k",
        "-Daeron.ipc.term.buffer.length=256k",
        "-Daeron.counters.buffer.length=1m",
        "-Daeron.client.liveness.timeout=120s",
        "-Daeron.publication.unblock.timeout=150s",
        "-Daeron.dir.delete.on.shutdown=true",
        is_forked=True,
    )
    until((directory / "cnc.dat").exists)
    return directory


@pytest.fixture(params=["ipc", "udp"])
def publication(request, patient_driver):
    channel = "aeron:ipc"
    if request.param == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))  # a port that was free a moment ago
            channel = f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"
    with aeron_core.connect(patient_driver) as client:
        yield client.add_exclusive_publication(channel, STREAM_ID)


@pytest.fixture
def start_driver(start, tmp_path, monkeypatch):
    """Start consecutive drivers in one directory, which is free three seconds after a kill."""
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "3000")
    directory = tmp_path / "driver"

    def call(*arguments):
        return start_one_driver(start, directory, *arguments), directory

    return call


def start_one_driver(start, directory, *arguments):
    while True:
        process = start(
            "driver",
            f"-Daeron.dir={directory}",
            "-Daeron.threading.mode=SHARED",
            "-Daeron.ipc.term.buffer.length=256k",
            "-Daeron.counters.buffer.length=1m",
            *arguments,
            is_forked=True,
        )
        if until(lambda process=process: process.popen.poll() or is_ready(process, directory)) is True:
            return process
        assert "active media driver" in process.popen.communicate()[1]
        time.sleep(0.1)


def is_ready(process, directory):
    try:
        return CncFile.open(directory / "cnc.dat", read_only=True).pid == process.popen.pid
    except AeronError:
        return False
