"""Fixtures: archives of both kinds, each with a driver of its own, and clients of both."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from archive_scenario import SEGMENT_LENGTH as SERVED_LENGTH
from archive_sessions import IPC, SEGMENT_LENGTH, JavaSite, ipc
from java_peer import JavaPeer
from served_sites import ENVIRONMENT, Requester, ServedSite

import aeron_core
from aeron_core.archive import AeronArchive
from aeron_core.errors import ArchiveAuthenticationError


@pytest.fixture
def launch(java, free_port, tmp_path):
    """Start archives, each with a driver and a folder of its own."""
    sites: list[JavaSite] = []

    def start(*options: str, name: str = "a", jvm: JavaPeer | None = None) -> JavaSite:
        control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        directory = tmp_path / f"driver-{name}"
        handle = (jvm or java).call(
            "archive",
            directory,
            tmp_path / f"archive-{name}",
            f"segment-length={SEGMENT_LENGTH}",
            f"control={control}",
            *options,
        )
        site = JavaSite(directory, control, handle)
        if jvm is None:
            sites.append(site)
        return site

    yield start
    for site in sites:
        java.call("close", site.handle)


@pytest.fixture
def client():
    """Connect clients to drivers."""
    with contextlib.ExitStack() as stack:
        yield lambda directory: stack.enter_context(aeron_core.connect(directory))


@pytest.fixture
def site(launch):
    return launch()


@pytest.fixture
def archive(client, site):
    return ipc(client(site.directory))


@pytest.fixture
def serve(java, free_port, tmp_path):
    """Start archives of ours, each with a driver of its own."""
    sites: list[ServedSite] = []

    def start(name: str = "a", folder: Path | None = None, *options: str) -> ServedSite:
        control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        directory, folder = tmp_path / f"driver-{name}", folder or tmp_path / f"archive-{name}"
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "aeron_core", "archive", str(folder), "--embedded"),
                *("--aeron-dir", str(directory), "--control-channel", control),
                *("--segment-length", str(SERVED_LENGTH), *options),
            ],
            env=ENVIRONMENT,
        )
        sites.append(ServedSite(directory, folder, control, process))
        # Refused without credentials: it runs.
        with aeron_core.connect(directory) as aeron, contextlib.suppress(ArchiveAuthenticationError):
            AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC).close()
        return sites[-1]

    yield start
    for site in sites:
        if site.process.poll() is None:
            site.stop()


@pytest.fixture
def connect(java):
    """Connect Java clients."""
    clients: list[Requester] = []

    def start(*arguments) -> Requester:
        clients.append(Requester(java, *arguments))
        return clients[-1]

    yield start
    for client in reversed(clients):
        client.close()
