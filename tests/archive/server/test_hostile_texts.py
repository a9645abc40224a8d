"""Long and foreign texts: of requests, of catalogues that other programs have written, and of the source of a copy."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from served_archives import IPC, TIMEOUT_S, await_true, connect, record

from aeron_core.archive import REPLAY_ALL_AND_STOP, ReplayParams
from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.errors import ArchiveRefusedError
from aeron_core.protocol.archive import requests


def test_a_channel_that_is_not_ascii_is_refused_because_it_would_grow_in_the_catalogue(serve, aeron):
    serve()
    errors: list[Exception] = []
    archive = connect(aeron, on_error=errors.append)
    recording_id = record(archive, 10)
    [before] = archive.list_recordings()
    channel = (b"aeron:ipc?alias=" + b"\xff" * 1900).decode("ascii", "surrogateescape")

    request = requests.UpdateChannelRequest(archive.control_session_id, 5, recording_id, channel)
    archive._session._publication.send(request.encode(), timeout=TIMEOUT_S)

    assert archive.list_recordings() == [before]
    assert "ASCII" in str(errors[0])


def test_texts_of_a_foreign_catalogue_that_exceed_a_message_are_cut_in_lists(serve, aeron, tmp_path):
    served = serve()
    recording_id = record(connect(aeron), 10)
    served.stop()
    catalog = Catalog(served.folder, 1)
    long = "aeron:ipc?alias=" + "x" * 300_000
    catalog.replace(replace(catalog.entries[recording_id], channel=long, source_identity="y" * 9000))
    catalog.close()

    serve()
    archive = connect(aeron)

    [found] = archive.list_recordings()
    assert found.original_channel.startswith("aeron:ipc?alias=xxx")
    assert long.startswith(found.original_channel)
    assert archive.list_recording(recording_id) == found


def test_a_list_of_many_recordings_passes_over_those_that_do_not_match(serve, aeron):
    served = serve()
    recording_id = record(connect(aeron), 10)
    served.stop()
    catalog = Catalog(served.folder, 1)
    other = replace(catalog.entries[recording_id], stream_id=7)
    for _ in range(3000):
        catalog.add(other)
    last = catalog.add(catalog.entries[recording_id]).recording_id
    catalog.delete(recording_id + 1)
    catalog.close()

    serve()
    archive = connect(aeron)

    found = archive.list_recordings_for_uri("aeron:ipc", 100)
    assert [each.recording_id for each in found] == [recording_id, last]
    assert len(archive.list_recordings(recording_id, 5000)) == 3001


def test_a_pipe_instead_of_a_segment_fails_its_replay_alone(serve, aeron):
    served = serve()
    archive = connect(aeron)
    broken, sound = record(archive, 10), record(archive, 10, 101)
    [segment] = [each for each in os.listdir(served.folder) if each.startswith(f"{broken}-")]
    (served.folder / segment).unlink()
    os.mkfifo(served.folder / segment)

    with pytest.raises(ArchiveRefusedError, match="regular file"):
        archive.start_replay(broken, IPC, 950, ReplayParams(length=REPLAY_ALL_AND_STOP))

    assert archive.start_replay(sound, IPC, 951, ReplayParams(length=REPLAY_ALL_AND_STOP))


def test_a_request_that_is_too_long_for_any_is_dropped_before_it_is_read(serve, aeron):
    served = serve()
    archive = connect(aeron)
    publication = aeron.add_exclusive_publication("aeron:ipc?term-length=1m", 10)
    publication.await_connected(timeout=TIMEOUT_S)

    publication.send(bytes(100_000), timeout=TIMEOUT_S)
    assert archive.list_recordings() == []
    assert served.errors == []

    publication.send(bytes(10_000), timeout=TIMEOUT_S)
    await_true(lambda: served.errors, "the report of a request that cannot be read")


def test_a_recording_whose_texts_are_too_long_is_not_copied(serve, aeron, free_port):
    source = serve("source")
    recording_id = record(connect(aeron), 10)
    source.stop()
    catalog = Catalog(source.folder, 1)
    catalog.replace(replace(catalog.entries[recording_id], source_identity="y" * 3000))
    catalog.close()
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    serve("source", control_channel=control)
    serve("target", local_control_stream_id=11)
    errors: list[Exception] = []
    archive = connect(aeron, control_request_stream_id=11, on_error=errors.append)

    archive.replicate(recording_id, control)

    await_true(lambda: archive.list_recordings() == [] and errors, "the refusal")
    assert "source_identity of the source of 3000 bytes" in str(errors[0])
