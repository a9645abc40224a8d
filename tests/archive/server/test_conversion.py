"""Conversion of recordings to the files of Aeron Archive, and from them."""

from __future__ import annotations

import os

import pytest
from served_archives import (
    ALL,
    IPC,
    TERM,
    TIMEOUT_S,
    await_true,
    connect,
    expected,
    messages_of,
    record,
    send,
)

from aeron_core.archive.server.conversion import convert
from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.testing.recordings import RecordingUnderTest


def contents(folder, recording_id: int = 0) -> list[bytes]:
    recording = Archive.open(folder).recording(recording_id)
    return [each.payload for each in messages(recording, recording.start_position, recording.position)]


def test_a_recording_of_ours_is_served_after_its_conversion(serve, aeron, tmp_path):
    made = RecordingUnderTest.begin(tmp_path / "ours")
    sent = [bytes([index % 256]) * (index * 37 % 500) for index in range(150)]
    made.append(*sent)
    made.stop()
    lengths: list[int] = []

    (converted,) = convert(Archive.open(tmp_path / "ours"), tmp_path / "archive", lengths.append)

    assert contents(tmp_path / "archive") == sent
    assert sum(lengths) == converted.stop_position - converted.start_position > 0
    serve()
    archive = connect(aeron)
    (listed,) = archive.list_recordings()
    assert (listed.start_position, listed.stop_position) == (
        converted.start_position,
        converted.stop_position,
    )
    assert messages_of(archive.replay(0, IPC, 900, ALL), 150) == sent


def test_an_extended_recording_of_aeron_archive_becomes_one_session_of_ours(serve, aeron, tmp_path):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive, 500)
    channel = archive.list_recording(recording_id).extension_channel(IPC)
    publication = aeron.add_exclusive_publication(channel, 100)
    archive.extend_recording(recording_id, f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 500, 500)
    await_true(lambda: archive.recording_position(recording_id) == publication.position, "the recording")
    archive.stop_recorded_publication(publication)
    assert archive.purge_recording(record(archive, 10, 101)) == 1
    record(archive, 20, 102)
    served.stop()

    converted = list(convert(Archive.open(served.folder), tmp_path / "ours", lambda _: None))

    assert [(each.recording_id, each.converted_id) for each in converted] == [(0, 0), (2, 1)]
    assert contents(tmp_path / "ours", 0) == expected(1000)
    assert contents(tmp_path / "ours", 1) == expected(20)
    for recording in Archive.open(tmp_path / "ours").recordings():
        assert recording.descriptor.stop_position == recording.position


def test_padding_survives_both_conversions(serve, aeron, tmp_path):
    served = serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(f"{TERM}|mtu=8k", 100)
    sent = [bytes([index]) * 8100 for index in range(40)]
    for each in sent:
        publication.send(each, timeout=TIMEOUT_S)
    await_true(lambda: archive.recording_position(0) == publication.position, "the recording")
    served.stop()

    list(convert(Archive.open(served.folder), tmp_path / "ours", lambda _: None))
    list(convert(Archive.open(tmp_path / "ours"), tmp_path / "again", lambda _: None))

    assert contents(tmp_path / "again") == sent
    originals = sorted(served.folder.glob("*.rec"))
    assert originals
    assert [path.read_bytes() for path in sorted((tmp_path / "again").glob("*.rec"))] == [
        path.read_bytes() for path in originals
    ]


def test_the_frames_of_a_copy_are_on_disk_before_the_catalogue_describes_them(tmp_path, monkeypatch):
    made = RecordingUnderTest.begin(tmp_path / "ours")
    made.append(*[bytes(200)] * 100)
    made.stop()
    events: list[str] = []
    fsync, update = os.fsync, Catalog.update

    def logged_fsync(fd: int) -> None:
        events.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    def logged_update(*args, **changes):
        events.append("catalogue")
        return update(*args, **changes)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(Catalog, "update", logged_update)

    list(convert(Archive.open(tmp_path / "ours"), tmp_path / "archive", lambda _: None))

    files = {path.name for path in (tmp_path / "archive").glob("*.rec")}
    assert files
    assert files < set(events[: events.index("catalogue")])


def test_a_conversion_needs_an_empty_folder(tmp_path):
    RecordingUnderTest.begin(tmp_path / "ours").stop()
    with pytest.raises(ConfigurationError, match="must be an empty folder"):
        convert(Archive.open(tmp_path / "ours"), tmp_path, lambda _: None)
