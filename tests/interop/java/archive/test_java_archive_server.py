"""The Java client and tools of Aeron Archive with the archive that `aeron-core archive` serves."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from archive_scenario import SEGMENT_LENGTH
from java_peer import JavaError, JavaPeer
from messages import Checksum, expected_checksum, message
from party_facts import await_true
from served_sites import COUNT, IPC, TIMEOUT_S, purged

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop

JAVA_TO_OURS = "Java client → our archive"
JAVA_OVER_UDP = "Java client, Java driver → our archive"
OURS_FROM_JAVA = "our archive ← Java archive"
JAVA_FROM_OURS = "Java archive ← our archive"


def ends_of(folder: Path, recording_id: int) -> list[int]:
    """Return the positions after each message of a stopped recording."""
    recording = Archive.open(folder).recording(recording_id)
    return [each.position for each in messages(recording, recording.start_position, recording.position)]


@pytest.mark.compatible("archive of ours, record, list and replay", JAVA_TO_OURS)
def test_a_java_client_records_lists_and_replays(serve, connect):
    client = connect(serve().directory)
    first, second = client.record(100), client.record(101, 10)

    assert (first, second) == (0, 1)
    listed = client("list").split(";")[:-1]
    assert [line.split()[0] for line in listed] == ["0", "1"]
    assert client("list-from", 1, 5).split()[0] == "1"
    assert [client("list-one", each) for each in (0, 9)] == ["1", "0"]
    assert [client("list-uri", "ipc", each) for each in (100, 101, 102)] == ["1", "1", "0"]
    start, active, stop, most = client("positions", first).split()
    assert (start, active, stop) == ("0", "-1", most)
    assert client.replayed(first) == expected_checksum(COUNT)
    assert client.replayed(second, 10) == expected_checksum(10)
    assert client.replayed(first, length=-1) == expected_checksum(COUNT)
    with pytest.raises(JavaError, match="unknown recording id"):
        client("positions", 9)


@pytest.mark.compatible("archive of ours, record, list and replay", JAVA_OVER_UDP)
def test_a_java_client_of_another_driver_records_and_replays_over_udp(
    serve, connect, java, shared_drivers, free_port
):
    site = serve()
    directory = shared_drivers.directory("java")
    client = connect(directory, site.control, "aeron:udp?endpoint=127.0.0.1:0")
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription_id = client("start-remote", channel, 100)
    publisher = java.call("connect", directory)
    publication = java.call("publication", publisher, "exclusive", channel, 100)
    java.call("await-connected", publication)
    java.call("send", publication, COUNT)
    java.call("close", publication)
    await_true(lambda: client("list-subscriptions", "udp", 100) == "0", "the end of the stream")

    assert client("stop-subscription", subscription_id) == "false"
    replay = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    assert client.replayed(0, channel=replay) == expected_checksum(COUNT)
    java.call("close", publisher)


@pytest.mark.compatible("archive of ours, record, list and replay", "Java client, Java driver ← our archive")
def test_our_archive_runs_beside_a_java_driver(connect, java, shared_drivers, tmp_path):
    directory = shared_drivers.directory("java", name="-with-archive")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "aeron_core", "archive", str(tmp_path / "archive")),
            *("--aeron-dir", str(directory), "--segment-length", "1m"),
        ]
    )
    try:
        client = connect(directory)
        recording_id = client.record(100)
        assert client.replayed(recording_id) == expected_checksum(COUNT)
        client.close()
        client.handle = client.simple = None
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0


@pytest.mark.compatible("archive of ours, replay merged with the live stream", JAVA_TO_OURS)
def test_a_java_client_merges_a_replay_with_the_live_stream(serve, connect, free_port):
    site = serve()
    client = connect(site.directory)

    assert client("merge", free_port(), free_port(), COUNT) == "merged"


@pytest.mark.compatible("archive of ours, extend, truncate, purge and segments", JAVA_TO_OURS)
def test_a_java_client_extends_truncates_and_purges(serve, connect):
    site = serve()
    client = connect(site.directory)
    recording_id = client.record(100)

    client("truncate", recording_id, ends_of(site.folder, recording_id)[499])
    assert client.replayed(recording_id, 500) == expected_checksum(500)
    assert client.extend(recording_id, 100, 300) == recording_id
    both = Checksum()
    for index in [*range(500), *range(300)]:
        both.add(message(index))
    assert client.replayed(recording_id, 800) == both.hexdigest()
    client("detach", recording_id, SEGMENT_LENGTH)
    assert client("attach", recording_id) == "1"
    client("detach", recording_id, SEGMENT_LENGTH)
    assert client("delete-detached", recording_id) == "1"
    assert client("positions", recording_id).split()[0] == str(SEGMENT_LENGTH)
    await_true(lambda: purged(client, recording_id), "the purge")
    assert client("list") == ""


@pytest.mark.compatible("archive of ours, replicate", OURS_FROM_JAVA)
@pytest.mark.parametrize("tag", [-1, 11])
def test_our_archive_replicates_from_a_java_archive(serve, connect, java, tmp_path, free_port, tag):
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    archive = java.call("archive", tmp_path / "java", tmp_path / "java-archive", f"control={control}")
    try:
        source = connect(tmp_path / "java")
        recording_id = source.record(100)
        target = connect(serve().directory)

        signals = target("replicate", recording_id, control, tag).split()

        assert signals[0] == "REPLICATE"
        assert {"EXTEND", "SYNC", "REPLICATE_END"} <= set(signals)
        assert target.replayed(0) == expected_checksum(COUNT)
        source.close()
        source.handle = source.simple = None
    finally:
        java.call("close", archive)


@pytest.mark.compatible("archive of ours, replicate", JAVA_FROM_OURS)
@pytest.mark.parametrize("tag", [-1, 11])
def test_a_java_archive_replicates_from_ours(serve, connect, java, tmp_path, tag):
    site = serve()
    source = connect(site.directory)
    recording_id = source.record(100)
    archive = java.call("archive", tmp_path / "java", tmp_path / "java-archive")
    try:
        target = connect(tmp_path / "java")

        signals = target("replicate", recording_id, site.control, tag).split()

        assert {"REPLICATE", "EXTEND", "SYNC", "REPLICATE_END"} <= set(signals)
        assert target.replayed(0) == expected_checksum(COUNT)
        target.close()
        target.handle = target.simple = None
    finally:
        java.call("close", archive)


@pytest.mark.compatible("archive of ours, ArchiveTool", "our archive → Java tool")
def test_archive_tool_describes_and_verifies_our_folder(serve, connect, java):
    site = serve()
    client = connect(site.directory)
    recording_id = client.record(100)
    client.record(101, 10)

    described = java.call("archive-tool", site.folder, "describe")
    client.close()
    client.handle = client.simple = None
    site.stop()

    assert f"recordingId={recording_id}" in described
    assert "verified true" in java.call("archive-tool", site.folder, "verify")
    assert "streamId=100" in java.call("archive-tool", site.folder, "dump")


@pytest.mark.compatible("archive of ours, taken over", "our archive → Java archive → our archive")
def test_either_archive_continues_with_the_folder_of_the_other(serve, connect, java, tmp_path):
    site = serve()
    ours = connect(site.directory)
    first = ours.record(100)
    ours.close()
    ours.handle = ours.simple = None
    site.stop()

    archive = java.call("archive", tmp_path / "java", site.folder, f"segment-length={SEGMENT_LENGTH}")
    try:
        theirs = connect(tmp_path / "java")
        assert theirs.replayed(first) == expected_checksum(COUNT)
        assert theirs.extend(first, 100, 100) == first
        second = theirs.record(101, 200)
        assert second == first + 1
        theirs.close()
        theirs.handle = theirs.simple = None
    finally:
        java.call("close", archive)

    again = connect(serve("again", site.folder).directory)
    both = Checksum()
    for index in [*range(COUNT), *range(100)]:
        both.add(message(index))
    assert again.replayed(first, COUNT + 100) == both.hexdigest()
    assert again.replayed(second, 200) == expected_checksum(200)
    assert again.extend(second, 101, 10) == second
    assert again.record(102, 10) == second + 1


@pytest.mark.compatible("archive of ours, taken over", "our archive, killed → Java archive")
def test_a_java_archive_continues_after_ours_was_killed(serve, connect, java, tmp_path):
    site = serve()
    client = connect(site.directory)
    publication = java.call("archive-record", client.simple, IPC, 100)
    java.call("send", publication, COUNT)
    recording_id = int(java.call("archive-await", client.simple, publication))
    site.process.kill()
    site.process.wait()
    # A mark file keeps others out for ten seconds.
    (site.folder / "archive-mark.dat").unlink()

    archive = java.call("archive", tmp_path / "java", site.folder, f"segment-length={SEGMENT_LENGTH}")
    try:
        theirs = connect(tmp_path / "java")
        assert theirs.replayed(recording_id) == expected_checksum(COUNT)
        theirs.close()
        theirs.handle = theirs.simple = None
    finally:
        java.call("close", archive)


@pytest.mark.compatible("archive of ours, taken over", "Java archive, killed → our archive")
def test_our_archive_continues_after_a_java_archive_was_killed(serve, connect, tmp_path):
    folder, jvm = tmp_path / "archive", JavaPeer()
    try:
        jvm.call("archive", tmp_path / "java", folder, f"segment-length={SEGMENT_LENGTH}")
        client = jvm.call("archive-client", tmp_path / "java")
        publication = jvm.call("archive-record", client, IPC, 100)
        jvm.call("send", publication, COUNT)
        recording_id = int(jvm.call("archive-await", client, publication))
    finally:
        jvm.process.kill()
        jvm.process.wait()
    # A mark file keeps others out for ten seconds.
    (folder / "archive-mark.dat").unlink()

    ours = connect(serve(folder=folder).directory)

    assert ours.replayed(recording_id) == expected_checksum(COUNT)
    assert ours.extend(recording_id, 100, 10) == recording_id
