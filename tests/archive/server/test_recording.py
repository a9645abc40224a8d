"""Recordings and lists of an archive that is served, with our client."""

from __future__ import annotations

import os
import struct

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

from aeron_core.archive import (
    RecordingEvents,
    RecordingProgress,
    RecordingSignal,
    RecordingStarted,
    RecordingStopped,
    ReplayParams,
    SourceLocation,
)
from aeron_core.errors import (
    ArchiveErrorCode,
    ArchiveInUseError,
    ArchiveRefusedError,
    ConfigurationError,
    RecordingError,
)
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages


def test_a_recorded_publication_is_listed_and_replayed(serve, aeron):
    serve()
    archive = connect(aeron)
    recording_id = record(archive)

    (listed,) = archive.list_recordings()

    assert listed == archive.list_recording(recording_id)
    assert archive.list_recordings_for_uri("ipc", 100) == [listed]
    assert archive.list_recordings_for_uri("ipc", 101) == []
    assert archive.list_recording(99) is None
    assert archive.recording_position(recording_id) is None
    assert listed.stop_position == archive.max_recorded_position(recording_id)
    assert (listed.start_position, listed.source_identity) == (0, IPC)
    assert messages_of(archive.replay(recording_id, IPC, 900, ALL), 1000) == expected(1000)


def test_a_network_stream_is_recorded_from_the_network_and_from_a_spy(serve, aeron, free_port):
    serve()
    archive = connect(aeron)
    remote, local = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k" for _ in range(2))
    subscription_id = archive.start_recording(remote, 100, SourceLocation.REMOTE)
    from_network = aeron.add_exclusive_publication(remote, 100)
    from_network.await_connected(TIMEOUT_S)
    send(from_network, 300)
    archive.start_recording(local, 101)
    from_spy = aeron.add_exclusive_publication(f"{local}|ssc=true", 101)
    from_spy.await_connected(TIMEOUT_S)
    send(from_spy, 300)

    ids = [recording_of(archive, from_network), recording_of(archive, from_spy)]
    (listed,) = archive.list_recording_subscriptions("udp", 100)
    assert listed.subscription_id == subscription_id
    assert len(archive.list_recording_subscriptions()) == 2
    assert archive.list_recording_subscriptions("udp", 102) == []
    assert archive.stop_recording_subscription(subscription_id)
    assert not archive.stop_recording_subscription(subscription_id)
    assert archive.stop_recording(local, 101)
    assert not archive.stop_recording(local, 101)

    for recording_id in ids:
        assert messages_of(archive.replay(recording_id, IPC, 900 + recording_id, ALL), 300) == expected(300)


def test_each_publication_of_a_stream_is_a_recording_and_the_limits_of_lists_hold(serve, aeron):
    serve()
    archive = connect(aeron)
    archive.start_recording(IPC, 100)
    publications = [aeron.add_exclusive_publication(TERM, 100) for _ in range(5)]
    for publication in publications:
        publication.await_connected(TIMEOUT_S)
        send(publication, 10)
    ids = sorted(recording_of(archive, publication) for publication in publications)

    assert ids == [0, 1, 2, 3, 4]
    assert [each.recording_id for each in archive.list_recordings(1, 3)] == [1, 2, 3]
    assert [each.recording_id for each in archive.list_recordings(4)] == [4]
    assert archive.list_recordings(5) == []
    assert [each.recording_id for each in archive.list_recordings_for_uri("", 100, 3, 1)] == [3]
    assert archive.stop_recording_by_identity(2)
    assert not archive.stop_recording_by_identity(2)
    assert archive.recording_position(3) == publications[3].position
    for recording_id in (0, 1, 3, 4):
        assert archive.stop_recording_by_identity(recording_id)


def test_a_recording_with_auto_stop_ends_with_its_stream(serve, aeron):
    serve()
    signals = []
    archive = connect(aeron, on_recording_signal=signals.append)
    archive.start_recording(IPC, 100, auto_stop=True)
    publication = aeron.add_exclusive_publication(TERM, 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 100)
    end = publication.position
    publication.close()

    await_true(lambda: archive.stop_position(0) == end, "the end")
    await_true(lambda: archive.list_recording_subscriptions() == [], "the subscription's end")

    archive.poll_for_recording_signals()
    assert [(each.signal, each.position) for each in signals] == [
        (RecordingSignal.START, 0),
        (RecordingSignal.STOP, end),
    ]
    assert messages_of(archive.replay(0, IPC, 900, ALL), 100) == expected(100)


def test_a_recording_with_auto_stop_ends_all_streams_of_its_subscription(serve, aeron):
    serve()
    archive = connect(aeron)
    archive.start_recording(IPC, 100, auto_stop=True)
    publications = [aeron.add_exclusive_publication(TERM, 100) for _ in range(2)]
    for publication in publications:
        publication.await_connected(TIMEOUT_S)
        send(publication, 10)
    ids = [recording_of(archive, publication) for publication in publications]

    publications[0].close()

    await_true(lambda: archive.list_recording_subscriptions() == [], "the subscription's end")
    assert None not in [archive.stop_position(recording_id) for recording_id in ids]


def test_a_stream_without_a_name_does_not_stop_a_later_one_of_the_same_channel(serve, aeron):
    served = serve()
    archive = connect(aeron)
    archive.start_recording(IPC, 100)
    publications = [aeron.add_exclusive_publication(TERM, 100) for _ in range(2)]
    for publication in publications:
        publication.await_connected(TIMEOUT_S)
        send(publication, 10)
    first, second = (recording_of(archive, publication) for publication in publications)
    archive.stop_recording_by_identity(first)
    archive.start_recording(IPC, 100)

    archive.stop_recording_by_identity(second)

    assert len(archive.list_recording_subscriptions()) == 1
    await_true(lambda: not served.server._archive.detached_streams, "the end of the first subscription")
    assert archive.stop_recording(IPC, 100)


def test_a_recording_whose_file_cannot_be_opened_is_empty_and_stopped(serve, aeron):
    served = serve()
    (served.folder / "0-0.rec").mkdir()
    archive = connect(aeron)
    archive.start_recording(IPC, 100)
    publication = aeron.add_exclusive_publication(TERM, 100)

    await_true(lambda: served.errors and archive.list_recording(0) is not None, "the report")

    assert archive.stop_position(0) == 0
    publication.close()
    assert archive.purge_recording(0) == 1


def test_requests_that_cannot_be_carried_out_have_an_error(serve, aeron):
    serve(max_recordings=1)
    archive = connect(aeron)
    archive.start_recording(IPC, 100)

    def code_of(request, *args) -> ArchiveErrorCode:
        with pytest.raises(ArchiveRefusedError) as caught:
            request(*args)
        return caught.value.code

    codes = ArchiveErrorCode
    assert code_of(archive.start_recording, IPC, 101) is codes.MAX_RECORDINGS
    assert code_of(archive.start_position, 9) is codes.UNKNOWN_RECORDING
    assert code_of(archive.start_replay, 9, IPC, 900) is codes.UNKNOWN_RECORDING
    assert code_of(archive.extend_recording, 9, IPC, 100) is codes.UNKNOWN_RECORDING
    assert code_of(archive.purge_recording, 9) is codes.UNKNOWN_RECORDING
    archive.stop_recording(IPC, 100)
    assert code_of(archive.start_recording, "aeron:udp?endpoint=127.0.0.1", 100) is codes.GENERIC
    assert code_of(archive.start_recording, "nothing", 100) is codes.GENERIC
    assert archive.list_recording_subscriptions() == []


def test_a_recording_needs_space_and_is_started_once(serve, aeron):
    serve(low_space=2**62)
    serve("other", local_control_stream_id=11)
    with pytest.raises(ArchiveRefusedError, match="STORAGE_SPACE"):
        connect(aeron).start_recording(IPC, 100)
    archive = connect(aeron, control_request_stream_id=11)
    archive.start_recording(IPC, 100)
    with pytest.raises(ArchiveRefusedError, match="ACTIVE_SUBSCRIPTION"):
        archive.start_recording(IPC, 100)


def test_events_report_the_progress_of_a_recording(serve, aeron, free_port):
    serve(events_channel=IPC)
    found = []
    subscription = aeron.add_subscription(IPC, 30)
    subscription.await_connected(TIMEOUT_S)
    events = RecordingEvents(subscription, found.append)
    archive = connect(aeron)
    recording_id = record(archive, 100)
    stop = archive.stop_position(recording_id)

    await_true(
        lambda: events.poll() == 0 and any(isinstance(event, RecordingStopped) for event in found), "the end"
    )

    assert isinstance(found[0], RecordingStarted)
    assert found[0].recording_id == recording_id
    assert RecordingProgress(recording_id, 0, stop) in found
    assert found[-1] == RecordingStopped(recording_id, 0, stop)


def test_the_folder_is_one_of_aeron_archive(serve, aeron):
    served = serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 1000)
    recording_id = recording_of(archive, publication)

    recording = Archive.open(served.folder).recording(recording_id)

    found = [each.payload for each in messages(recording, recording.start_position, recording.position)]
    assert found == expected(1000)
    assert recording.position == publication.position


def test_an_archive_has_its_folder_for_itself(serve, aeron, tmp_path):
    served = serve()
    with pytest.raises(ArchiveInUseError, match="another archive"):
        serve(local_control_stream_id=11)
    served.stop()
    again = serve()
    assert connect(aeron).list_recordings() == []
    again.stop()
    Archive.create(tmp_path / "ours")
    with pytest.raises(ConfigurationError, match="recordings of aeron-core"):
        serve("ours")


@pytest.mark.parametrize("name", ["archive.catalog", "archive-mark.dat"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_folder_whose_files_are_of_another_kind_is_refused(serve, tmp_path, name, kind):
    serve().stop()
    path, target = tmp_path / "archive" / name, tmp_path / "target"
    path.rename(target)
    content = target.read_bytes()
    if kind == "link":
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()

    with pytest.raises(RecordingError, match=name):
        serve()

    assert target.read_bytes() == content


def test_a_recording_of_a_killed_archive_ends_after_its_last_frame(serve, aeron):
    served = serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 1000)
    recording_id = recording_of(archive, publication)
    end = publication.position
    served.stop(is_killed=True)
    publication.close()

    serve(clock_ms=lambda: 2**41)  # past the liveness timeout
    archive = connect(aeron)

    assert archive.stop_position(recording_id) == end
    assert messages_of(archive.replay(recording_id, IPC, 900, ALL), 1000) == expected(1000)
    assert record(archive, 10) == recording_id + 1


def test_channels_that_no_driver_accepts_are_refused_and_do_not_stop_the_archive(serve, aeron):
    served = serve(connect_timeout_ms=500)
    archive = connect(aeron)
    session = archive._session
    channels = [b"aeron:ipc?alias=\xff", b"", b"aeron:udp?endpoint=\xff:1", b"a" * 5000, b"aeron:ipc?mtu=0"]
    for number, channel in enumerate(channels):
        text = struct.pack("<I", len(channel)) + channel
        connects = struct.pack("<HHHHqii", 16, 58, 101, 14, number, 20, 1 << 16) + text + bytes(8)
        records = (
            struct.pack("<HHHHqqiii", 28, 63, 101, 14, archive.control_session_id, number, 100, 0, 0) + text
        )
        for data in (connects, records):
            session._publication.send(data, timeout=TIMEOUT_S)

    await_true(lambda: archive.list_recordings() == [] and len(served.errors) >= 3, "the reports")
    await_true(lambda: len(served.server._archive.sessions) == 1, "the end of the sessions")
    assert archive.list_recording_subscriptions("nothing") == []


def test_segments_of_a_live_recording_are_purged_while_it_is_replayed(serve, aeron):
    served = serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 1000)
    recording_id = recording_of(archive, publication)
    subscription = archive.replay(recording_id, IPC, 900, ReplayParams(position=2 * SEGMENT_LENGTH))
    await_true(lambda: subscription.poll(lambda *_: None, 100) > 0, "the replay")

    assert archive.purge_segments(recording_id, 2 * SEGMENT_LENGTH) == 2

    await_true(lambda: not (served.folder / f"{recording_id}-0.rec").exists(), "the deletion")
    archive.stop_all_replays()
