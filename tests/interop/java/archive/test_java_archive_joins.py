"""The Java archive and ours copy a recording of each other, and join its live stream."""

from __future__ import annotations

import pytest
from messages import message
from party_facts import await_true
from served_sites import COUNT, IPC, TIMEOUT_S

import aeron_core
from aeron_core.archive import AeronArchive, RecordingSignal, ReplicationParams
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop

OPTIONS = {"control_request_channel": IPC, "control_response_channel": IPC}


def join(recording, copying, control, channel, live):
    """Record a stream at the driver of one client, copy it at that of the other, and join it without a gap."""
    signals, errors = [], []
    source = AeronArchive.connect(recording, **OPTIONS)
    target = AeronArchive.connect(
        copying, **OPTIONS, on_recording_signal=signals.append, on_error=errors.append
    )
    publication = source.add_recorded_exclusive_publication(channel, 100)
    for index in range(COUNT):
        publication.send(message(index), timeout=TIMEOUT_S)

    target.replicate(0, control, params=ReplicationParams(live_destination=live))

    def is_merged() -> bool:
        target.poll_for_recording_signals()
        publication.offer(b"")  # the live stream continues meanwhile
        return bool(errors) or RecordingSignal.MERGE in [each.signal for each in signals]

    await_true(is_merged, "the merge")
    assert errors == []
    for index in range(COUNT):
        publication.send(message(index), timeout=TIMEOUT_S)
    await_true(lambda: target.recording_position(0) == publication.position, "the copy")
    source.close()
    target.close()


@pytest.mark.compatible("archive of ours, replicate and join the live stream", "Java archive ← our archive")
def test_a_java_archive_joins_a_live_stream_that_ours_records(serve, java, tmp_path, free_port):
    site, address = serve(), f"127.0.0.1:{free_port()}"
    archive = java.call("archive", tmp_path / "java", tmp_path / "java-archive")
    channel = f"aeron:udp?control-mode=dynamic|control={address}|term-length=256k|ssc=true"
    live = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={address}"
    with aeron_core.connect(site.directory) as ours, aeron_core.connect(tmp_path / "java") as theirs:
        join(ours, theirs, site.control, channel, live)
    java.call("close", archive)
    (copy,) = Archive.open(tmp_path / "java-archive").recordings()
    found = [each.payload for each in messages(copy, copy.start_position, copy.position)]
    assert found[:COUNT] == found[-COUNT:] == [message(index) for index in range(COUNT)]


@pytest.mark.compatible("archive of ours, replicate and join the live stream", "our archive ← Java archive")
def test_our_archive_joins_a_live_stream_that_a_java_archive_records(serve, java, tmp_path, free_port):
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    archive = java.call("archive", tmp_path / "java", tmp_path / "java-archive", f"control={control}")
    site, address = serve(), f"127.0.0.1:{free_port()}"
    channel = f"aeron:udp?control-mode=dynamic|control={address}|term-length=256k"
    live = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={address}"
    with aeron_core.connect(tmp_path / "java") as theirs, aeron_core.connect(site.directory) as ours:
        join(theirs, ours, control, channel, live)
    java.call("close", archive)
    site.stop()
    (copy,) = Archive.open(site.folder).recordings()
    found = [each.payload for each in messages(copy, copy.start_position, copy.position)]
    assert found[:COUNT] == found[-COUNT:] == [message(index) for index in range(COUNT)]
