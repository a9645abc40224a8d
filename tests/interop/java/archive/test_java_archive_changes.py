"""Our client changes recordings of the real Aeron Archive, and copies them to another one."""

from __future__ import annotations

import pytest
from archive_sessions import (
    COUNT,
    IPC,
    SEGMENT_LENGTH,
    SIDES,
    TIMEOUT_S,
    attached,
    has,
    ipc,
    purged,
    record,
    recording_of,
    replayed,
    send,
    truncated,
)
from messages import expected_checksum
from party_facts import await_true

from aeron_core.archive import (
    RecordingSignal,
    ReplayParams,
    ReplicationParams,
)
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import (
    ArchiveErrorCode,
    ArchiveRefusedError,
)

pytestmark = pytest.mark.interop


@pytest.mark.compatible("Aeron Archive, extend", SIDES[0])
def test_a_recording_is_extended(archive, client, site):
    recording_id = record(archive, 100, COUNT // 2)
    aeron = client(site.directory)
    stopped = archive.list_recording(recording_id)
    publication = aeron.add_exclusive_publication(stopped.extension_channel(IPC), 100)
    archive.extend_recording(recording_id, f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)

    send(publication, COUNT - COUNT // 2, COUNT // 2)
    await_true(lambda: archive.recording_position(recording_id) == publication.position, "the recording")
    archive.stop_recorded_publication(publication)

    assert replayed(archive, recording_id) == expected_checksum(COUNT)
    with pytest.raises(ArchiveRefusedError) as caught:
        archive.extend_recording(99, IPC, 100)
    assert caught.value.code is ArchiveErrorCode.UNKNOWN_RECORDING


@pytest.mark.compatible("Aeron Archive, truncate and purge", SIDES[0])
def test_a_recording_is_truncated_and_purged(client, site):
    signals = []
    archive = ipc(client(site.directory), on_recording_signal=signals.append)
    recording_id = record(archive, 100)
    position = 3 * SEGMENT_LENGTH // 2
    replay = archive.replay(recording_id, IPC, 900, ReplayParams(length=position))
    ends = []
    assembler = FragmentAssembler(lambda _, header: ends.append(header.position))
    while not ends or ends[-1] < position - 40_000:
        replay.poll(assembler, 100)
    replay.close()
    archive.stop_all_replays(recording_id)
    kept = next(index for index, end in enumerate(ends) if end > SEGMENT_LENGTH) + 1

    await_true(lambda: truncated(archive, recording_id, ends[kept - 1]), "the end of the replay")
    assert archive.stop_position(recording_id) == ends[kept - 1]
    assert replayed(archive, recording_id, kept, 901) == expected_checksum(kept)

    await_true(lambda: purged(archive, recording_id), "the end of the replay")
    assert archive.list_recordings() == []
    await_true(lambda: has(archive, signals, RecordingSignal.DELETE), "the signal")
    with pytest.raises(ArchiveRefusedError, match="UNKNOWN_RECORDING"):
        archive.start_position(recording_id)


@pytest.mark.compatible("Aeron Archive, segments", SIDES[0])
def test_segments_are_detached_attached_purged_and_deleted(archive):
    recording_id = record(archive, 100)
    second = archive.list_recording(recording_id).segment_base_position(SEGMENT_LENGTH + 32)

    archive.detach_segments(recording_id, second)
    assert archive.start_position(recording_id) == second == SEGMENT_LENGTH
    assert archive.attach_segments(recording_id) == 1
    assert archive.start_position(recording_id) == 0
    archive.detach_segments(recording_id, second)
    assert archive.delete_detached_segments(recording_id) == 1
    await_true(lambda: attached(archive, recording_id) == 0, "the end of the deletion")
    assert archive.purge_segments(recording_id, 2 * second) == 1
    assert archive.start_position(recording_id) == 2 * SEGMENT_LENGTH


@pytest.mark.compatible("Aeron Archive, segments", SIDES[0])
def test_segments_are_migrated_to_a_recording_that_continues(archive, client, site):
    recording_id = record(archive, 100)
    archive.truncate_recording(recording_id, 2 * SEGMENT_LENGTH)
    first = archive.list_recording(recording_id)
    aeron = client(site.directory)
    publication = aeron.add_exclusive_publication(first.extension_channel(IPC), 100)
    archive.start_recording(f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 10)
    second_id = recording_of(archive, publication)
    archive.stop_recorded_publication(publication)

    assert archive.migrate_segments(recording_id, second_id) == 2

    assert archive.start_position(second_id) == 0
    assert archive.stop_position(recording_id) == 0
    archive.update_channel(second_id, "aeron:ipc?alias=whole")
    assert archive.list_recording(second_id).original_channel == "aeron:ipc?alias=whole"


@pytest.mark.compatible("Aeron Archive, replicate", SIDES[0])
def test_a_recording_is_replicated_between_two_archives(launch, client):
    source, target = launch(name="source"), launch(name="target")
    recording_id = record(ipc(client(source.directory)), 100)
    signals = []
    archive = ipc(client(target.directory), on_recording_signal=signals.append)
    tags = ReplicationParams(channel_tag_id=11, subscription_tag_id=12)

    archive.replicate(recording_id, source.control)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end of the replication")
    first = [event.signal for event in signals]
    signals.clear()
    replication_id = archive.replicate(recording_id, source.control, params=tags)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end of the replication")

    assert first[0] is RecordingSignal.REPLICATE
    assert {RecordingSignal.EXTEND, RecordingSignal.SYNC} <= set(first)
    assert not archive.stop_replication(replication_id)
    copies = archive.list_recordings()
    assert len(copies) == 2
    for copy in copies:
        assert replayed(archive, copy.recording_id, stream_id=900 + copy.recording_id) == expected_checksum(
            COUNT
        )
