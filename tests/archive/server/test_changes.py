"""Recordings that are extended, shortened, moved and replicated by an archive that is served, with our client."""

from __future__ import annotations

import contextlib

import pytest
from served_archives import (
    ALL,
    IPC,
    SEGMENT_LENGTH,
    TERM,
    TIMEOUT_S,
    await_true,
    connect,
    expected,
    messages_of,
    record,
    recording_of,
    send,
)

from aeron_core._native.wire import DATA_HEADER_LENGTH
from aeron_core.archive import RecordingSignal, ReplicationParams
from aeron_core.errors import ArchiveErrorCode, ArchiveRefusedError


def extended(archive, aeron, recording_id: int, count: int, begin: int) -> None:
    """Continue a recording with messages from index `begin` on, and stop it."""
    channel = archive.list_recording(recording_id).extension_channel(IPC)
    publication = aeron.add_exclusive_publication(channel, 100)
    archive.extend_recording(recording_id, f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, count, begin)
    await_true(lambda: archive.recording_position(recording_id) == publication.position, "the recording")
    archive.stop_recorded_publication(publication)
    publication.close()


def has(archive, signals, kind: RecordingSignal) -> bool:
    archive.poll_for_recording_signals()
    return any(event.signal is kind for event in signals)


def bases(folder, recording_id: int) -> list[int]:
    """Return the positions at which the files of a recording begin."""
    return sorted(int(path.stem.partition("-")[2]) for path in folder.glob(f"{recording_id}-*.rec"))


def test_a_recording_is_extended(serve, aeron):
    serve()
    archive = connect(aeron)
    recording_id = record(archive, 500)

    extended(archive, aeron, recording_id, 500, 500)

    assert messages_of(archive.replay(recording_id, IPC, 900, ALL), 1000) == expected(1000)


def test_a_stream_that_does_not_continue_a_recording_is_refused(serve, aeron):
    errors = []
    serve()
    archive = connect(aeron, on_error=errors.append)
    recording_id = record(archive, 10)
    archive.extend_recording(recording_id, IPC, 100)
    publication = aeron.add_exclusive_publication(TERM, 100)

    await_true(lambda: archive.poll_for_recording_signals() or errors, "the error")

    assert errors[0].code is ArchiveErrorCode.INVALID_EXTENSION
    assert publication.position == 0
    with pytest.raises(ArchiveRefusedError, match="UNKNOWN_RECORDING"):
        archive.extend_recording(recording_id, IPC, 101)


def test_a_recording_is_truncated_and_extended_again(serve, aeron):
    served = serve()
    signals = []
    archive = connect(aeron, on_recording_signal=signals.append)
    recording_id = record(archive)
    ends: list[int] = []
    stop = archive.stop_position(recording_id)
    assert stop > 3 * SEGMENT_LENGTH
    subscription = archive.replay(recording_id, IPC, 900, ALL)
    counted: list[int] = []
    await_true(
        lambda: (
            subscription.poll(
                lambda buffer, header: (ends.append(header.position), counted.append(header.flags)), 100
            )
            >= 0
            and ends[-1:] == [stop]
        ),
        "the end",
    )
    subscription.close()
    # After the first message that ends in the second segment, and before a whole one.
    index = next(i for i, end in enumerate(ends) if end > SEGMENT_LENGTH + 1000 and counted[i] & 0x40)
    kept = sum(1 for flags in counted[: index + 1] if flags & 0x40)

    files = len(bases(served.folder, recording_id))

    assert archive.truncate_recording(recording_id, ends[index]) == files - 2

    await_true(lambda: has(archive, signals, RecordingSignal.DELETE), "the signal")
    assert archive.stop_position(recording_id) == ends[index]
    assert bases(served.folder, recording_id) == [0, SEGMENT_LENGTH]
    extended(archive, aeron, recording_id, 100, kept)
    assert messages_of(archive.replay(recording_id, IPC, 901, ALL), kept + 100) == expected(kept + 100)
    with pytest.raises(ArchiveRefusedError, match="INVALID_POSITION"):
        archive.truncate_recording(recording_id, 2**40)
    assert archive.truncate_recording(recording_id, 0) > 0
    await_true(lambda: bases(served.folder, recording_id) == [], "the deletion")


def test_a_recording_is_purged_and_its_id_is_not_used_again(serve, aeron):
    served = serve()
    signals = []
    archive = connect(aeron, on_recording_signal=signals.append)
    recording_id = record(archive)
    files = len(bases(served.folder, recording_id))

    assert archive.purge_recording(recording_id) == files

    await_true(lambda: has(archive, signals, RecordingSignal.DELETE), "the signal")
    assert bases(served.folder, recording_id) == []
    assert archive.list_recordings() == []
    assert record(archive, 10) == recording_id + 1


def test_an_active_recording_or_one_that_is_replayed_is_not_purged(serve, aeron):
    serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 10)
    recording_id = recording_of(archive, publication)
    for request in (archive.purge_recording, lambda each: archive.truncate_recording(each, 0)):
        with pytest.raises(ArchiveRefusedError, match="ACTIVE_RECORDING"):
            request(recording_id)
    archive.start_replay(recording_id, IPC, 900)
    archive.stop_recorded_publication(publication)
    with pytest.raises(ArchiveRefusedError, match="active replay"):
        archive.purge_recording(recording_id)


def test_segments_are_detached_attached_purged_and_deleted(serve, aeron):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive)
    whole = bases(served.folder, recording_id)

    archive.detach_segments(recording_id, SEGMENT_LENGTH)
    assert archive.start_position(recording_id) == SEGMENT_LENGTH
    assert archive.attach_segments(recording_id) == 1
    assert archive.start_position(recording_id) == 0
    archive.detach_segments(recording_id, SEGMENT_LENGTH)
    assert archive.delete_detached_segments(recording_id) == 1
    await_true(lambda: bases(served.folder, recording_id) == whole[1:], "the deletion")
    await_true(lambda: attached(archive, recording_id) == 0, "the end of the deletion")
    assert archive.purge_segments(recording_id, 2 * SEGMENT_LENGTH) == 1
    assert archive.start_position(recording_id) == 2 * SEGMENT_LENGTH
    for position in (SEGMENT_LENGTH, 2 * SEGMENT_LENGTH, 3 * SEGMENT_LENGTH - 32, -SEGMENT_LENGTH, 2**40):
        with pytest.raises(ArchiveRefusedError, match="begin of a segment"):
            archive.detach_segments(recording_id, position)


def test_segments_that_are_being_deleted_are_not_attached(serve, aeron, monkeypatch):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive)
    archive.detach_segments(recording_id, SEGMENT_LENGTH)
    monkeypatch.setattr("aeron_core.archive.server.deletion._FILE_LIMIT", 0)
    archive.delete_detached_segments(recording_id)

    with pytest.raises(ArchiveRefusedError, match="another deletion is in progress"):
        archive.attach_segments(recording_id)

    monkeypatch.undo()
    await_true(lambda: not served.server._archive.deletions, "the deletion")
    assert archive.start_position(recording_id) == SEGMENT_LENGTH


def test_frames_behind_the_end_do_not_return_after_an_extension_and_a_crash(serve, aeron):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive, 10)
    lengths = [len(each) + DATA_HEADER_LENGTH for each in expected(5)]
    position = sum(-(-length // 32) * 32 for length in lengths)
    file = served.folder / f"{recording_id}-0.rec"
    before = file.read_bytes()
    archive.truncate_recording(recording_id, position)
    served.stop()
    file.write_bytes(before)  # as after a crash between the changes of catalogue and file
    served = serve(clock_ms=lambda: 2**41)
    archive = connect(aeron)
    channel = archive.list_recording(recording_id).extension_channel(IPC)
    publication = aeron.add_exclusive_publication(channel, 100)
    archive.extend_recording(recording_id, f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 1, 5)
    await_true(lambda: archive.recording_position(recording_id) == publication.position, "the recording")
    end = publication.position
    served.stop(is_killed=True)

    serve(clock_ms=lambda: 2**42)

    assert connect(aeron).stop_position(recording_id) == end


def attached(archive, recording_id: int) -> int | None:
    with contextlib.suppress(ArchiveRefusedError):
        return archive.attach_segments(recording_id)
    return None


def test_segments_are_migrated_to_a_recording_that_continues(serve, aeron):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive)
    archive.truncate_recording(recording_id, 2 * SEGMENT_LENGTH)
    first = archive.list_recording(recording_id)
    publication = aeron.add_exclusive_publication(first.extension_channel(IPC), 100)
    archive.start_recording(f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 10)
    second_id = recording_of(archive, publication)
    archive.stop_recorded_publication(publication)
    await_true(lambda: not served.server._archive.deletions, "the deletion")

    assert archive.migrate_segments(recording_id, second_id) == 2

    assert archive.start_position(second_id) == 0
    assert archive.stop_position(recording_id) == 0
    assert bases(served.folder, second_id) == [0, SEGMENT_LENGTH, 2 * SEGMENT_LENGTH]
    with pytest.raises(ArchiveRefusedError, match="to itself"):
        archive.migrate_segments(second_id, second_id)


def test_the_channel_of_a_recording_is_replaced_by_a_longer_one(serve, aeron):
    serve()
    archive = connect(aeron)
    first, second = record(archive, 10), record(archive, 10, 101)
    channel = f"aeron:ipc?alias={'x' * 500}"

    archive.update_channel(first, channel)

    assert archive.list_recording(first).original_channel == channel
    assert archive.list_recording(second).stream_id == 101
    assert record(archive, 10, 102) == second + 1
    assert [each.recording_id for each in archive.list_recordings()] == [first, second, second + 1]


@pytest.fixture
def pair(serve, free_port):
    """Serve a source over the network and a target."""
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    serve("source", control_channel=control)
    target = serve("target", local_control_stream_id=11)
    return control, target


def test_a_recording_is_replicated_whole_with_tags_and_in_part(pair, aeron):
    control, _ = pair
    source = connect(aeron)
    recording_id = record(source)
    signals = []
    archive = connect(aeron, control_request_stream_id=11, on_recording_signal=signals.append)

    for params in (ReplicationParams(), ReplicationParams(channel_tag_id=11, subscription_tag_id=12)):
        signals.clear()
        archive.replicate(recording_id, control, params=params)
        await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end")
        kinds = [event.signal for event in signals]
        assert kinds[0] is RecordingSignal.REPLICATE
        assert kinds[-1] is RecordingSignal.REPLICATE_END
        assert {RecordingSignal.EXTEND, RecordingSignal.SYNC} <= set(kinds)

    copies = archive.list_recordings()
    assert len(copies) == 2
    for copy in copies:
        replay = archive.replay(copy.recording_id, IPC, 900 + copy.recording_id, ALL)
        assert messages_of(replay, 1000) == expected(1000)
        assert copy.original_channel == source.list_recording(recording_id).original_channel
    signals.clear()
    archive.replicate(recording_id, control, params=ReplicationParams(dst_recording_id=0))
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end")
    assert [event.signal for event in signals] == [RecordingSignal.SYNC, RecordingSignal.REPLICATE_END]


def test_a_live_recording_is_replicated_until_it_stops(pair, aeron):
    control, _ = pair
    source = connect(aeron)
    publication = source.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 500)
    recording_id = recording_of(source, publication)
    signals = []
    archive = connect(aeron, control_request_stream_id=11, on_recording_signal=signals.append)
    archive.replicate(recording_id, control)
    await_true(lambda: has(archive, signals, RecordingSignal.EXTEND), "the copy")

    send(publication, 500, 500)
    recording_of(source, publication)
    source.stop_recorded_publication(publication)

    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end")
    assert messages_of(archive.replay(0, IPC, 900, ALL), 1000) == expected(1000)


def test_a_recording_is_replicated_over_a_response_channel(pair, aeron, free_port):
    control, _ = pair
    recording_id = record(connect(aeron))
    signals, errors = [], []
    archive = connect(
        aeron, control_request_stream_id=11, on_recording_signal=signals.append, on_error=errors.append
    )
    replay, response = (f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}" for _ in range(2))
    params = ReplicationParams(replication_channel=replay, src_response_channel=response)

    archive.replicate(recording_id, control, params=params)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end")

    assert errors == []
    assert messages_of(archive.replay(0, IPC, 900, ALL), 1000) == expected(1000)
    tagged = ReplicationParams(replication_channel=replay, channel_tag_id=1)
    with pytest.raises(ArchiveRefusedError, match="neither a live destination nor tags"):
        archive.replicate(recording_id, control, params=tagged)


def test_a_replication_joins_the_live_stream(pair, aeron, free_port):
    control, _ = pair
    source = connect(aeron)
    live = f"aeron:udp?control-mode=dynamic|control=127.0.0.1:{free_port()}|term-length=64k"
    publication = source.add_recorded_exclusive_publication(f"{live}|ssc=true", 100)
    send(publication, 500)
    recording_id = recording_of(source, publication)
    signals, errors = [], []
    archive = connect(
        aeron, control_request_stream_id=11, on_recording_signal=signals.append, on_error=errors.append
    )
    control_address = live.partition("control=")[2].partition("|")[0]
    params = ReplicationParams(
        live_destination=f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={control_address}"
    )
    archive.replicate(recording_id, control, params=params)
    sent = 500

    def is_merged() -> bool:
        nonlocal sent
        if sent < 1000 and publication.offer(b"") >= 0:
            sent += 1
        return has(archive, signals, RecordingSignal.MERGE) or bool(errors)

    await_true(is_merged, "the merge")
    assert errors == []
    await_true(lambda: archive.recording_position(0) == publication.position, "the copy")


def test_a_replication_that_fails_has_an_error_and_an_end(pair, aeron, free_port):
    control, _ = pair
    signals, errors = [], []
    archive = connect(
        aeron, control_request_stream_id=11, on_recording_signal=signals.append, on_error=errors.append
    )

    archive.replicate(99, control)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end")
    assert errors[0].code is ArchiveErrorCode.UNKNOWN_RECORDING
    replication_id = archive.replicate(0, f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    assert archive.stop_replication(replication_id)
    assert not archive.stop_replication(replication_id)
    with pytest.raises(ArchiveRefusedError, match="UNKNOWN_RECORDING"):
        archive.replicate(0, control, params=ReplicationParams(dst_recording_id=77))
