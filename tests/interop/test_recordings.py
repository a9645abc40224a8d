"""Recording of streams from the real Aeron, and replay of recordings to it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from messages import expected_checksum, message

from aeron_core.errors import RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 20_000
STREAM_ID = 1001
DEADLINE_S = 120
PATIENT = {"AERON_CLIENT_LIVENESS_TIMEOUT": "120s", "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "150s"}


@pytest.fixture
def driver_of(our_driver, foreign_driver):
    return {"ours": our_driver, "theirs": foreign_driver}


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return found


def has_ended(folder):
    try:
        recordings = Archive.open(folder).recordings()
    except RecordingError:
        return False
    return any(recording.descriptor.is_end_of_stream for recording in recordings)


def record(start, foreign_python, directory, channel, folder, kind="exclusive"):
    """Record the stream of a C client and return the recording."""
    start(
        sys.executable, "-m", "aeron_core", "record", channel, STREAM_ID,
        "--to", folder, "--segment-length", "1m", "-d", directory,
    )  # fmt: skip
    sending = start(foreign_python, PEERS / "foreign.py", "send", directory, channel, STREAM_ID, COUNT, kind)
    assert sending.result() == {"sent": COUNT}
    until(lambda: has_ended(folder))
    (recording,) = Archive.open(folder).recordings()
    return recording


@pytest.mark.compatible(
    "recording, {medium}, {kind} publication", "C client → {driver_driver} → our recorder"
)
@pytest.mark.parametrize("kind", ["concurrent", "exclusive"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_stream_of_a_real_client_is_recorded_byte_by_byte(
    start, driver_of, foreign_python, udp_channel, tmp_path, driver, medium, kind
):
    channel = "aeron:ipc" if medium == "ipc" else udp_channel

    recording = record(start, foreign_python, driver_of[driver](), channel, tmp_path / "archive", kind)

    found = [found.payload for found in messages(recording, recording.start_position, recording.position)]
    assert len(found) == COUNT
    assert all(payload == message(index) for index, payload in enumerate(found))
    assert len(recording.segments()) > 5
    store = Archive.open(tmp_path / "archive").store
    assert verify(store, recording, time.time_ns(), lambda length: None).faults == []


@pytest.mark.compatible("replay of a recording, {medium}", "our replay → {driver_driver} → C client")
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_real_client_receives_a_replay_as_it_received_the_stream(
    start, driver_of, foreign_python, udp_channel, tmp_path, driver, medium
):
    directory = driver_of[driver]()
    record(start, foreign_python, directory, "aeron:ipc", tmp_path / "archive")
    channel = "aeron:ipc?alias=replay" if medium == "ipc" else udp_channel
    receiving = start(foreign_python, PEERS / "foreign.py", "receive", directory, channel, 7, COUNT)
    receiving.await_line("ready")

    start(
        sys.executable, "-m", "aeron_core", "replay", 0, "--from", tmp_path / "archive",
        "--to", channel, "--stream-id", 7, "-d", directory,
    )  # fmt: skip

    assert receiving.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.compatible(
    "recording, {medium}, the recorder is killed and started again",
    "C client → {driver_driver} → our recorder",
)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_killed_recorder_resumes_without_loss_or_delay(
    start, driver_of, foreign_python, udp_channel, tmp_path, driver, medium
):
    directory = driver_of[driver](**PATIENT)
    channel = "aeron:ipc" if medium == "ipc" else udp_channel
    folder = tmp_path / "archive"
    recorder = (
        sys.executable, "-m", "aeron_core", "record", channel, STREAM_ID, "--to", folder, "-d", directory,
    )  # fmt: skip
    recording_once = start(*recorder)
    sending = start(
        foreign_python, PEERS / "foreign.py", "send", directory, channel, STREAM_ID, COUNT, "exclusive"
    )
    until(
        lambda: (folder / "0" / "recording.json").exists() and Archive.open(folder).recording(0).position > 0
    )

    recording_once.kill()
    killed_s = time.monotonic()
    start(*recorder)

    assert sending.result() == {"sent": COUNT}
    assert time.monotonic() - killed_s < 60  # client liveness timeout of the driver
    until(lambda: has_ended(folder))
    (recording,) = Archive.open(folder).recordings()
    found = [found.payload for found in messages(recording, recording.start_position, recording.position)]
    assert found == [message(index) for index in range(COUNT)]
