"""Requests with absurd values and damaged bytes, of a client that has a session."""

from __future__ import annotations

import contextlib
import random
import typing
from dataclasses import fields

import pytest
from served_archives import ALL, IPC, TIMEOUT_S, connect, expected, messages_of, record

from aeron_core.archive import REPLAY_ALL_AND_STOP, ReplayParams
from aeron_core.errors import ArchiveRefusedError
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import SourceLocation
from aeron_core.protocol.archive.sbe import FixedField

#: Requests that end the session, or open others.
LEFT_OUT = (requests.CloseSessionRequest, requests.AuthConnectRequest, requests.ConnectRequest)
NUMBERS = (0, 1, -1, 2, 31, 32, 100, 65536, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63), 131072)
TEXTS = (
    "",
    "aeron:ipc",
    "aeron:udp?endpoint=127.0.0.1:0",
    "aeron:ipc?session-id=7",
    "x",
    "aeron:ipc?tags=1,2",
    "=|?",
)


def absurd(kind, chance: random.Random, session_id: int):
    """Return a request with values at the limits of their fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    values = []
    for each in fields(kind):
        of = hints[each.name].__metadata__[0]
        if each.name == "control_session_id":
            values.append(session_id)
        elif not isinstance(of, FixedField):
            text = chance.choice(TEXTS)
            values.append(text if of.is_text else text.encode())
        elif each.name in ("apply_stream_id", "auto_stop"):
            values.append(chance.random() < 0.5)
        elif each.name == "source_location":
            values.append(chance.choice(list(SourceLocation)))
        else:
            limit = 2**31 if of.code == "i" else 2**63
            values.append(max(min(chance.choice(NUMBERS), limit - 1), -limit))
    return kind(*values)


@pytest.mark.parametrize("seed", range(4))
def test_absurd_and_damaged_requests_do_not_stop_the_archive(serve, aeron, seed):
    served = serve(connect_timeout_ms=300, replication_timeout=0.3)
    archive, other = connect(aeron), connect(aeron)
    recording_id = record(other, 300)
    kinds = [kind for kind in requests.REQUESTS.values() if kind not in LEFT_OUT]
    # Those that delete what is compared afterwards have a test of their own.
    kinds = [
        kind for kind in kinds if not kind.__name__.startswith(("Purge", "Truncate", "Migrate", "Detach"))
    ]
    chance = random.Random(seed)
    for _ in range(400):
        data = bytearray(absurd(chance.choice(kinds), chance, archive.control_session_id).encode())
        if chance.random() < 0.3:
            # Not the header's template or the session: the request shall arrive.
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(16, len(data))] = chance.randrange(256)
        if chance.random() < 0.1:
            del data[chance.randrange(16, len(data) + 1) :]
        if not archive.is_connected:
            archive = connect(aeron)
        archive._session._publication.send(bytes(data), timeout=TIMEOUT_S)
        if chance.random() < 0.2:
            with contextlib.suppress(ArchiveRefusedError):  # of a list that is active
                archive.list_recording(recording_id)

    other = connect(aeron)
    other.stop_all_replays()
    stop = other.stop_position(recording_id)
    found = messages_of(
        other.replay(recording_id, IPC, 950, ReplayParams(position=0, length=stop or REPLAY_ALL_AND_STOP)),
        300,
    )
    assert found == expected(300)
    assert all("Traceback" not in str(error) for error in served.errors)


def test_absurd_deletions_do_not_stop_the_archive(serve, aeron):
    serve()
    archive = connect(aeron)
    for stream_id in range(100, 103):
        record(archive, 200, stream_id)
    chance = random.Random(5)
    kinds = [
        kind
        for kind in requests.REQUESTS.values()
        if kind.__name__.startswith(("Purge", "Truncate", "Migrate", "Detach", "Attach", "Delete", "Update"))
    ]
    for _ in range(400):
        request = absurd(chance.choice(kinds), chance, archive.control_session_id)
        archive._session._publication.send(request.encode(), timeout=TIMEOUT_S)
        if chance.random() < 0.2:
            with contextlib.suppress(ArchiveRefusedError):
                archive.list_recording(0)

    assert isinstance(archive.list_recordings(), list)
    assert messages_of(archive.replay(record(archive, 10, 110), IPC, 950), 10) == expected(10)


def test_damaged_bytes_of_a_stream_without_a_session_do_not_stop_the_archive(serve, aeron):
    served = serve()
    archive = connect(aeron)
    recording_id = record(archive, 200)
    stranger = aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
    stranger.await_connected(timeout=TIMEOUT_S)
    chance = random.Random(6)
    kinds = [kind for kind in requests.REQUESTS.values() if kind not in LEFT_OUT]
    for _ in range(400):
        # The session of another client: it must not be acted for.
        data = bytearray(absurd(chance.choice(kinds), chance, archive.control_session_id).encode())
        for _ in range(chance.randint(0, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        del data[chance.randrange(len(data) + 1) :]
        stranger.send(bytes(data), timeout=TIMEOUT_S)

    assert archive.list_recording(recording_id).stop_position > 0
    assert len(archive.list_recordings()) == 1
    assert messages_of(archive.replay(recording_id, IPC, 950, ALL), 200) == expected(200)
    assert all("Traceback" not in str(error) for error in served.errors)
