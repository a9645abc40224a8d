"""Sessions of our client with the real Aeron Archive: admission, events, the guide, and ends."""

from __future__ import annotations

import asyncio
import re
import textwrap
import time
from pathlib import Path

import pytest
from archive_sessions import (
    COUNT,
    SIDES,
    TIMEOUT_S,
    JavaSite,
    ipc,
    record,
    replayed,
    udp,
)
from java_peer import JavaError, JavaPeer
from messages import expected_checksum
from party_facts import await_true

import aeron_core
from aeron_core.archive import (
    AsyncAeronArchive,
    RecordingEvents,
    RecordingProgress,
    RecordingSignal,
    RecordingStarted,
    RecordingStopped,
    SourceLocation,
)
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveDisconnectedError,
)

pytestmark = pytest.mark.interop

GUIDE = Path(__file__).parents[4] / "docs" / "how-to" / "use-aeron-archive.md"


@pytest.mark.compatible("Aeron Archive, authentication", SIDES[0])
@pytest.mark.parametrize("kind", ["token", "challenge"])
def test_only_clients_with_the_token_are_admitted(launch, client, kind):
    aeron = client(launch(f"{kind}=secret").directory)

    with pytest.raises(ArchiveAuthenticationError, match="AUTHENTICATION_REJECTED"):
        ipc(aeron, credentials=b"wrong")
    with ipc(aeron, credentials=b"secret") as archive:
        assert archive.list_recordings() == []
    if kind == "challenge":
        with ipc(aeron, on_challenge={b"token?": b"secret"}.__getitem__) as archive:
            assert archive.list_recordings() == []


@pytest.mark.compatible("Aeron Archive, recording events", SIDES[0])
def test_events_report_the_progress_of_a_recording(launch, client, free_port):
    channel = f"aeron:udp?control-mode=dynamic|control=127.0.0.1:{free_port()}"
    site = launch(f"events={channel}")
    aeron = client(site.directory)
    subscription = aeron.add_subscription(f"{channel}|endpoint=127.0.0.1:0", 30)
    subscription.await_connected(TIMEOUT_S)
    found = []
    events = RecordingEvents(subscription, found.append)
    archive = ipc(aeron)
    recording_id = record(archive, 100)

    await_true(
        lambda: events.poll() == 0 and any(isinstance(event, RecordingStopped) for event in found), "the end"
    )

    stop = archive.stop_position(recording_id)
    assert isinstance(found[0], RecordingStarted)
    assert (found[0].recording_id, found[0].stream_id, found[0].start_position) == (recording_id, 100, 0)
    assert RecordingProgress(recording_id, 0, stop) in found
    assert found[-1] == RecordingStopped(recording_id, 0, stop)


def test_an_archive_ends_the_session_of_a_client_that_does_not_read(launch, client):
    aeron = client(launch("impatient=true").directory)
    idle, busy = ipc(aeron), ipc(aeron)

    await_true(lambda: busy.poll_for_recording_signals() or not idle.is_connected, "the end of the session")

    with pytest.raises(ArchiveDisconnectedError, match="or the client did not read for some minutes"):
        idle.list_recordings()
    assert busy.list_recordings() == []


def test_the_examples_of_the_guide_run(launch, client, capsys, free_port):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    record_and_replay, connect, _spark, extend, replicate, in_loop = blocks[:6]
    source, target = launch(name="source"), launch(name="target")
    names = {
        "AsyncAeronArchive": AsyncAeronArchive,
        "RecordingSignal": RecordingSignal,
        "SourceLocation": SourceLocation,
    }

    exec(record_and_replay.replace("/dev/shm/aeron-archive", str(source.directory)), names)
    assert capsys.readouterr().out.endswith("b'message 0' b'message 999'\n")
    names |= {"aeron": client(source.directory), "recording_id": names["found"]}
    exec(
        connect.replace("aeron:udp?endpoint=archive:8010", source.control)
        .replace("client:0", "127.0.0.1:0")
        .replace("archive:20121", f"127.0.0.1:{free_port()}")
        .replace("AeronArchive.connect", "archive = AeronArchive.connect"),
        names,
    )
    exec(extend, names)
    names["publication"].await_connected(TIMEOUT_S)
    # A replication of an active recording would not end.
    assert names["archive"].stop_recorded_publication(names["publication"])
    names["aeron"] = client(target.directory)
    exec(replicate.replace("aeron:udp?endpoint=source:8010", source.control), names)
    names["recording_id"] = 0
    exec(
        "async def run():\n" + textwrap.indent(in_loop + "            break\n", "    "),
        names,
    )
    asyncio.run(asyncio.wait_for(names["run"](), TIMEOUT_S))
    assert capsys.readouterr().out.startswith("64 b'message 0'")


@pytest.mark.compatible("Aeron Archive, killed and restarted", SIDES[1])
def test_a_client_of_a_killed_archive_connects_to_its_successor(launch, client, tmp_path):
    settings = {"timer_interval_ns": "100ms", "image_liveness_timeout_ns": "1s"}
    first, second = JavaPeer(), JavaPeer()
    try:
        site = launch(name="killed", jvm=first)
        recording_id = record(ipc(client(site.directory)), 100)
        with aeron_core.MediaDriver.launch_embedded(settings) as driver:
            aeron = client(driver.aeron_dir)
            archive = udp(aeron, site)
            first.process.kill()
            await_true(lambda: not archive.is_connected, "the loss of the connection")
            with pytest.raises(ArchiveDisconnectedError, match="has ended: the archive stopped"):
                archive.poll_for_recording_signals()
            archive.close()

            successor = restarted(launch, second, tmp_path)
            again = udp(aeron, successor)
            (kept,) = again.list_recordings()
            again.close()

        assert kept.recording_id == recording_id
        assert replayed(ipc(client(successor.directory)), recording_id) == expected_checksum(COUNT)
    finally:
        first.process.kill()
        first.process.wait()
        second.stop()


def restarted(launch, jvm, tmp_path) -> JavaSite:
    """Start an archive in the folder of the killed one; its mark file keeps others out for ten seconds."""
    folder = tmp_path / "archive-killed"
    folder.rename(tmp_path / "archive-next")
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return launch(name="next", jvm=jvm)
        except JavaError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)
