"""Sessions of an archive that is served: versions, credentials, damaged requests, and their ends."""

from __future__ import annotations

import struct

import pytest
from served_archives import (
    IPC,
    TIMEOUT_S,
    await_true,
    connect,
    record,
)

from aeron_core.archive.server.authentication import shared_secret
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveDisconnectedError,
)


def test_a_request_of_an_unknown_template_has_an_error(serve, aeron):
    serve()
    archive = connect(aeron)
    session = archive._session
    template = struct.pack("<HHHHqq", 16, 999, 101, 14, archive.control_session_id, 123456)

    assert session._publication.offer(template) > 0

    found = []

    def has_error() -> bool:
        archive.poll_for_recording_signals()
        error = session.take_error()
        if error is not None:
            found.append(error)
        return bool(found)

    await_true(has_error, "the error")
    assert "template 999" in str(found[0])
    assert found[0].correlation_id == 123456


def test_damaged_requests_do_not_stop_the_archive(serve, aeron):
    served = serve()
    publication = aeron.add_exclusive_publication(IPC, 10)
    publication.await_connected(TIMEOUT_S)
    for data in (
        b"",
        b"\x01",
        struct.pack("<HHHH", 65535, 58, 101, 14),
        struct.pack("<HHHHqiiI", 16, 58, 101, 14, 1, 20, 1 << 16, 2**31),
        struct.pack("<HHHHqq", 16, 8, 101, 14, 1, 1),
        struct.pack("<HHHHq", 8, 3, 101, 14, 1),
        struct.pack("<HHHHqq", 16, 8, 55, 14, 1, 1),
    ):
        publication.send(data, timeout=TIMEOUT_S)

    assert connect(aeron).list_recordings() == []
    assert served.errors


def test_a_client_of_another_version_or_with_wrong_credentials_is_refused(serve, aeron):
    serve(authenticator=shared_secret(b"secret"))

    with pytest.raises(ArchiveAuthenticationError):
        connect(aeron, credentials=b"wrong")
    with pytest.raises(ArchiveAuthenticationError):
        connect(aeron)
    with connect(aeron, credentials=b"secret") as archive:
        assert archive.list_recordings() == []


def test_a_session_ends_with_its_client_and_other_sessions_continue(serve, aeron):
    served = serve()
    first, second = connect(aeron), connect(aeron)
    first.close()
    await_true(lambda: len(served.server._archive.sessions) == 1, "the end of the session")

    assert second.list_recordings() == []
    assert second.archive_id == served.server.archive_id
    served.stop()
    with pytest.raises(ArchiveDisconnectedError):
        second.list_recordings()


def test_a_client_acts_for_no_session_of_another(serve, aeron):
    served = serve()
    archive, other = connect(aeron), connect(aeron)
    recording_id = record(archive, 10)
    request = struct.pack(
        "<HHHHqqq", 24, 104, 101, 14, archive.control_session_id, 1, recording_id
    )  # purge the recording

    assert other._session._publication.offer(request) > 0

    await_true(lambda: served.errors, "the report")
    assert other.list_recording(recording_id) is not None
