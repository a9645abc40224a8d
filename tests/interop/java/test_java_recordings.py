"""Recordings of the streams of Java clients, and replay to them, at our driver and the Java driver."""

from __future__ import annotations

import sys
import time

import pytest
from messages import expected_checksum, message
from party_facts import await_true

from aeron_core.errors import RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop

COUNT = 5000
each_driver = pytest.mark.parametrize("driver", ["ours", "java"])
each_medium = pytest.mark.parametrize("medium", ["ipc", "udp"])


@pytest.fixture
def start_recorder(start, tmp_path):
    """Start a recorder of one stream at a driver."""

    def start_one(directory, channel, stream_id):
        return start(
            sys.executable, "-m", "aeron_core", "record", channel, stream_id,
            "--to", tmp_path / "archive", "-d", directory,
        )  # fmt: skip

    return start_one


@pytest.fixture
def record(start_recorder, at, shared_drivers, stream_id, tmp_path):
    """Record a stream of a Java client and return the archive's folder."""

    def record_one(driver, channel, kind="exclusive"):
        start_recorder(shared_drivers.directory(driver), channel, stream_id)
        publication = at(f"java/{driver}").publication(channel, stream_id, kind)
        assert publication.send(COUNT).result(120) == str(COUNT)
        publication.close()
        await_true(lambda: has_ended(tmp_path / "archive"), "the end of the recording")
        return tmp_path / "archive"

    return record_one


def has_ended(folder) -> bool:
    try:
        recordings = Archive.open(folder).recordings()
    except RecordingError:
        return False
    return any(recording.descriptor.is_end_of_stream for recording in recordings)


def recorded_messages(folder) -> list[bytes]:
    (recording,) = Archive.open(folder).recordings()
    return [found.payload for found in messages(recording, recording.start_position, recording.position)]


@pytest.mark.compatible(
    "recording, {medium}, {kind} publication", "Java client → {driver_driver} → our recorder"
)
@pytest.mark.parametrize("kind", ["concurrent", "exclusive"])
@each_medium
@each_driver
def test_a_stream_of_a_java_client_is_recorded_byte_by_byte(record, udp_channel, driver, medium, kind):
    folder = record(driver, "aeron:ipc" if medium == "ipc" else udp_channel, kind)

    assert recorded_messages(folder) == [message(index) for index in range(COUNT)]


@pytest.mark.compatible("replay of a recording, {medium}", "our replay → {driver_driver} → Java client")
@each_medium
@each_driver
def test_a_java_client_receives_a_replay_as_it_sent_the_stream(
    record, start, at, shared_drivers, udp_channel, stream_id, driver, medium
):
    folder = record(driver, "aeron:ipc")
    channel = "aeron:ipc?alias=replay" if medium == "ipc" else udp_channel
    received = at(f"java/{driver}").subscription(channel, stream_id + 10_000).receive(COUNT)

    start(
        sys.executable, "-m", "aeron_core", "replay", 0, "--from", folder, "--to", channel,
        "--stream-id", stream_id + 10_000, "-d", shared_drivers.directory(driver),
    )  # fmt: skip

    assert received.result(120) == expected_checksum(COUNT)


@pytest.mark.compatible(
    "recording, {medium}, the recorder is killed and started again",
    "Java client → {driver_driver} → our recorder",
)
@each_medium
@each_driver
def test_a_killed_recorder_resumes_without_loss_or_delay(
    further_drivers, clients, start_recorder, tmp_path, udp_channel, stream_id, driver, medium
):
    # The driver keeps the subscription of the killed recorder for two minutes.
    directory = (
        further_drivers.start_ours(
            tmp_path / "driver",
            AERON_CLIENT_LIVENESS_TIMEOUT="120s",
            AERON_PUBLICATION_UNBLOCK_TIMEOUT="150s",
        )
        if driver == "ours"
        else further_drivers.start_java(
            tmp_path / "driver", client_liveness_timeout="120s", publication_unblock_timeout="150s"
        )
    )
    channel, folder = "aeron:ipc" if medium == "ipc" else udp_channel, tmp_path / "archive"
    recorder = start_recorder(directory, channel, stream_id)
    publication = clients("java", directory).publication(channel, stream_id, "exclusive")
    first = publication.send(COUNT)
    await_true(
        lambda: (folder / "0" / "recording.json").exists() and Archive.open(folder).recording(0).position > 0,
        "the first recorded message",
    )

    recorder.kill()
    killed_s = time.monotonic()
    start_recorder(directory, channel, stream_id)

    # Messages that the killed recorder has not received keep the closed stream open for the second one. Otherwise
    # the driver would end the stream before the second recorder subscribes.
    assert first.result(120) == str(COUNT)
    assert publication.send(COUNT).result(120) == str(COUNT)
    assert time.monotonic() - killed_s < 60  # well below the client liveness timeout
    publication.close()
    await_true(lambda: has_ended(folder), "the end of the recording")
    assert recorded_messages(folder) == 2 * [message(index) for index in range(COUNT)]
