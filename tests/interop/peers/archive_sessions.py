"""Our client of the real Aeron Archive: sessions, and what the tests do with them."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from messages import Checksum, message
from party_facts import await_true

from aeron_core.archive import REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import ArchiveRefusedError

COUNT = 1000
TIMEOUT_S = 60
SEGMENT_LENGTH = 256 * 1024
IPC = "aeron:ipc"
ALL = ReplayParams(length=REPLAY_ALL_AND_STOP)
SIDES = ["our client → Java archive", "our client, our driver → Java archive"]


@dataclass
class JavaSite:
    """An archive with its Java driver."""

    directory: Path
    control: str
    handle: str


def ipc(aeron, **options) -> AeronArchive:
    """Open a session in shared memory."""
    return AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC, **options)


def udp(aeron, site, **options) -> AeronArchive:
    """Open a session over UDP, from the driver of `aeron`."""
    return AeronArchive.connect(
        aeron,
        control_request_channel=site.control,
        control_response_channel="aeron:udp?endpoint=127.0.0.1:0",
        **options,
    )


def send(publication, count: int = COUNT, begin: int = 0) -> None:
    """Send messages from index `begin` on."""
    for index in range(begin, begin + count):
        publication.send(message(index), timeout=TIMEOUT_S)


def recording_of(archive, publication) -> int:
    """Return the id of the recording of a publication, after all of it is recorded."""

    def found():
        return archive.find_last_matching_recording(0, "", publication.stream_id, publication.session_id)

    await_true(lambda: found() is not None, "the recording")
    recording_id = found()
    await_true(
        lambda: archive.max_recorded_position(recording_id) >= publication.position,
        "the end of the recording",
    )
    return recording_id


def record(archive, stream_id: int, count: int = COUNT) -> int:
    """Record messages of a new stream and return the id of the stopped recording."""
    publication = archive.add_recorded_exclusive_publication(IPC, stream_id)
    send(publication, count)
    recording_id = recording_of(archive, publication)
    assert archive.stop_recorded_publication(publication)
    publication.close()
    await_true(lambda: archive.stop_position(recording_id) is not None, "the stop position")
    return recording_id


def checksum_of(subscription, count: int = COUNT) -> str:
    """Return the digest of `count` messages of a replay, and close its subscription."""
    checksum, left = Checksum(), count

    def take(buffer, _):
        nonlocal left
        checksum.add(bytes(buffer))
        left -= 1

    assembler = FragmentAssembler(take)
    deadline_s = time.monotonic() + TIMEOUT_S
    while left > 0 and time.monotonic() < deadline_s:
        subscription.poll(assembler, 100)
    images = subscription.image_count
    subscription.close()
    assert left == 0, f"{left} of {count} messages are missing, {images} images"
    return checksum.hexdigest()


def replayed(archive, recording_id: int, count: int = COUNT, stream_id: int = 900, params=ALL) -> str:
    """Return the digest of the messages of a replay."""
    return checksum_of(archive.replay(recording_id, IPC, stream_id, params), count)


def position_of(replay) -> int:
    """Return the position up to which a replay was read, 0 before it began."""
    return replay.images[0].position if replay.image_count else 0


def truncated(archive, recording_id, position) -> bool:
    """Return whether a recording could be truncated: not while a replay reads it."""
    with contextlib.suppress(ArchiveRefusedError):
        archive.truncate_recording(recording_id, position)
        return True
    return False


def purged(archive, recording_id) -> bool:
    """Return whether a recording could be purged."""
    with contextlib.suppress(ArchiveRefusedError):
        return archive.purge_recording(recording_id) > 0
    return False


def has(archive, signals, kind) -> bool:
    """Return whether a signal of a kind has arrived."""
    archive.poll_for_recording_signals()
    return any(event.signal is kind for event in signals)


def attached(archive, recording_id) -> int | None:
    """Return the number of segments that could be attached, None while they are being deleted."""
    with contextlib.suppress(ArchiveRefusedError):
        return archive.attach_segments(recording_id)
    return None
