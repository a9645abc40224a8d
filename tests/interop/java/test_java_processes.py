"""Java clients and drivers that are killed, and Java tools on our driver."""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from java_client import JavaClient
from java_peer import JavaError, JavaPeer
from our_client import OurClient
from parties import exchange
from party_facts import DRIVER_TIMEOUT_MS, QUICK, await_true
from tool_checks import check_tools, open_stream, run_tool

import aeron_core
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

COUNT = 5000


@pytest.mark.compatible("a party dies", "Java client killed, our driver (IPC and UDP unicast)")
def test_our_driver_removes_the_streams_of_a_killed_java_client(further_drivers, tmp_path, udp_channel):
    directory = further_drivers.start_ours(tmp_path / "driver", **QUICK)
    killed = JavaPeer()
    ours = OurClient(directory)
    try:
        java = JavaClient(killed, directory)
        subscriptions = [ours.subscription(channel) for channel in ("aeron:ipc", udp_channel)]
        for channel in ("aeron:ipc", udp_channel):
            java.publication(channel)
        java.add_counter(1080, b"", "a counter of the killed")
        for subscription in subscriptions:
            subscription.await_images(1)

        killed.process.kill()

        for subscription in subscriptions:
            subscription.await_images(0)
        await_true(
            lambda: all(record.type_id != 1080 for record in ours.aeron.counters_reader),
            "the release of the counter",
        )
    finally:
        ours.close()
        killed.process.kill()
        killed.process.wait()


@pytest.mark.compatible("a party dies", "Java driver killed, our driver and our client")
def test_our_driver_and_our_client_detect_a_killed_java_driver(
    further_drivers, tmp_path, free_port, stream_id
):
    ours = OurClient(further_drivers.start_ours(tmp_path / "ours", **QUICK))
    there, here = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2))
    killed = JavaPeer()
    try:
        killed.call("driver", tmp_path / "java")
        java = JavaClient(killed, tmp_path / "java")
        settings = aeron_core.ClientSettings(driver_timeout_ms=DRIVER_TIMEOUT_MS)
        watching = aeron_core.connect(tmp_path / "java", settings, error_handler=lambda error: None)
        java.subscription(there, stream_id)
        java.publication(here, stream_id)
        publication = ours.publication(there, stream_id)
        subscription = ours.subscription(here, stream_id)
        publication.await_connected()
        subscription.await_images(1)

        killed.process.kill()

        subscription.await_images(0)
        await_true(lambda: not publication.is_connected, "the disconnection of the publication")
        await_true(lambda: watching.is_closed, "our client to close itself")
    finally:
        ours.close()
        killed.process.kill()
        killed.process.wait()


@pytest.mark.compatible("a party dies", "our driver killed, Java client")
def test_a_java_client_closes_itself_after_our_driver_was_killed_and_another_works_with_its_successor(
    further_drivers, clients, java, tmp_path, stream_id
):
    directory = further_drivers.start_ours(tmp_path / "driver")
    client = JavaClient(java, directory, driver_timeout_ms=DRIVER_TIMEOUT_MS)
    client.subscription("aeron:ipc", stream_id)

    os.kill(CncFile.open(directory / CNC_FILE, read_only=True).pid, signal.SIGKILL)

    client.await_closed()
    # Otherwise clients could still map the files of the dead driver.
    shutil.rmtree(directory)
    further_drivers.start_ours(directory)
    successor = clients("java", directory)
    subscription = successor.subscription("aeron:ipc", stream_id)
    exchange(successor.publication("aeron:ipc", stream_id), subscription, count=COUNT)


@pytest.mark.compatible("tools of Java, of a live driver", "our driver")
def test_java_tools_read_the_files_of_our_driver(at, java, shared_drivers, udp_channel, stream_id):
    client = at("java/ours")
    subscription = client.subscription(udp_channel, stream_id)
    publication = client.publication(udp_channel, stream_id)
    subscription.await_images(1)
    with pytest.raises(JavaError, match="mtu"):
        client.publication("aeron:udp?endpoint=127.0.0.1:1|mtu=70000")

    pid = CncFile.open(shared_drivers.directory("ours") / CNC_FILE, read_only=True).pid
    counters, streams, backlogs, errors, losses = (
        java.call("tool", name, shared_drivers.directory("ours"))
        for name in ("AeronStat", "StreamStat", "BacklogStat", "ErrorStat", "LossStat")
    )

    assert f"Aeron Stat (CnC v0.2.0), pid {pid}" in counters
    assert f"{publication.session_id} {stream_id} {udp_channel}" in counters
    assert f"streamId={stream_id}" in streams
    assert str(publication.session_id) in streams
    assert str(publication.session_id) in backlogs
    assert "mtu" in errors
    assert losses.startswith("#OBSERVATION_COUNT")


@pytest.fixture
def java_driver(java, tmp_path):
    """Start a Java driver in a JVM of its own; return its directory and that JVM."""
    peer = JavaPeer()
    peer.call("driver", tmp_path / "java")
    yield tmp_path / "java", peer
    peer.process.kill()
    peer.process.wait()


@pytest.mark.compatible("tools, of a live and of a killed driver", "Java driver")
def test_our_tools_read_the_directory_of_a_live_and_a_killed_java_driver(java_driver, udp_channel):
    directory, peer = java_driver
    for publication in open_stream(directory, udp_channel):
        check_tools(directory, publication)
        alive = run_tool("clean", directory=directory)
        peer.process.kill()
        check_tools(directory, publication)

    assert (alive.returncode, "active media driver" in alive.stderr) == (1, True)


@pytest.mark.compatible("terminate, denied by default", "Java driver")
def test_a_java_driver_ignores_a_termination_request_by_default(java_driver):
    directory, _ = java_driver

    outcome = run_tool("terminate", "--timeout", 1, directory=directory)

    assert (outcome.returncode, "TERMINATION_VALIDATOR" in outcome.stderr) == (1, True)
    with aeron_core.connect(directory) as aeron:
        assert not aeron.is_closed
