"""The C client of Aeron Archive with the archive that `aeron-core archive` serves.

No row of the compatibility table: a run without AERON_SOURCES would write that it was not tried.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import c_archive_client
import pytest

import aeron_core
from aeron_core.archive import AeronArchive

pytestmark = pytest.mark.interop

TIMEOUT_S = 100
IPC = "aeron:ipc"


@pytest.fixture(scope="module")
def program():
    """Return the compiled client."""
    if missing := c_archive_client.missing():
        pytest.skip(f"the C client of Aeron Archive is not tested: {', '.join(missing)} missing")
    return c_archive_client.client()


@pytest.fixture
def serve(tmp_path):
    """Start archives of ours, each with a driver of its own; return its directory and its control channel."""
    processes = []

    def start(name: str) -> tuple[str, str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            control = f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"
        directory = str(tmp_path / f"driver-{name}")
        command = [
            *(sys.executable, "-m", "aeron_core", "archive", str(tmp_path / name), "--embedded"),
            *("--aeron-dir", directory, "--control-channel", control, "--segment-length", "256k"),
        ]
        environment = {
            **os.environ,
            "AERON_THREADING_MODE": "SHARED",
            "AERON_IPC_TERM_BUFFER_LENGTH": "256k",
            "AERON_DIR_DELETE_ON_SHUTDOWN": "true",
        }
        processes.append(subprocess.Popen(command, env=environment))
        with aeron_core.connect(directory) as aeron:
            AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC).close()
        return directory, control

    yield start
    for process in processes:
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0


def run(program, *arguments: str) -> list[str]:
    """Run the client and return what it prints."""
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_c_client_records_replays_changes_and_replicates(program, serve):
    directory, control = serve("source")
    lines = run(program, directory, IPC, IPC, "-")
    assert [line for line in lines if line.startswith("replayed")] == [
        "replayed 1000",
        "replayed 2000",
        "replayed 1000",
    ]
    target, _ = serve("target")

    assert run(program, target, IPC, IPC, control)[-2:] == ["replayed 1000", "done"]
