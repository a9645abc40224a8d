"""A running Aeron Archive, read through its protocol with the interface of a local folder."""

from __future__ import annotations

import pytest
from archive_scenario import SEGMENT_LENGTH, ArchivePeer
from messages import message
from party_facts import await_true

from aeron_core.archive.reading.opening import open_archive
from aeron_core.errors import DataLossError, RecordingNotFoundError
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop

COUNT = 2000
IPC_SIDE = "Java client → Java archive → our reader"


@pytest.fixture
def archive(java, tmp_path, free_port):
    """Start an Aeron Archive with options."""
    started = []

    def start(*options: str) -> ArchivePeer:
        control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        started.append(ArchivePeer(java, tmp_path, f"control={control}", *options))
        started[-1].control = control
        return started[-1]

    yield start
    for each in started:
        each.close()


def ipc(peer, rest: str = "") -> str:
    return f"aeron:archive?control-request=aeron:ipc|dir={peer.folder.parent / 'aeron'}{rest}"


def udp(peer, driver, rest: str = "") -> str:
    return f"aeron:archive?control-request={peer.control}|dir={driver.aeron_dir}{rest}"


@pytest.fixture
def opened():
    """Open archives, which are closed after the test."""
    found = []

    def open_one(address: str):
        found.append(open_archive(address))
        return found[-1]

    yield open_one
    for each in found:
        each.close()


def read(recording) -> list[bytes]:
    return [found.payload for found in messages(recording, recording.start_position, recording.position)]


@pytest.mark.parametrize("side", ["ipc", "udp", "response"])
def test_a_stopped_recording_is_replayed_as_it_was_sent(archive, opened, driver, free_port, side):
    peer = archive()
    made = peer.record(100, COUNT)
    stop = peer.stop(made)
    response = f"|control-response=aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    address = ipc(peer) if side == "ipc" else udp(peer, driver, response if side == "response" else "")

    recording = opened(address).recording(made.recording_id)

    assert recording.position == recording.descriptor.stop_position == stop
    assert read(recording) == [message(index) for index in range(COUNT)]


def test_a_live_recording_is_read_up_to_its_last_message(archive, opened):
    peer = archive()
    made = peer.record(100, 100)
    recording = opened(ipc(peer)).recording(made.recording_id)
    first = read(recording)

    position = recording.position
    peer.send(made, COUNT)
    await_true(lambda: recording.position > position, "the position")

    assert first == [message(index) for index in range(100)]
    assert recording.descriptor.stop_position is None
    assert read(recording) == first + [message(index) for index in range(COUNT)]


def test_purged_positions_and_recordings_are_reported(archive, opened):
    peer = archive()
    made = peer.record(100, COUNT)
    peer.stop(made)
    contents = opened(ipc(peer))
    recording = contents.recording(made.recording_id)
    peer.change("purge-segments", made.recording_id, SEGMENT_LENGTH)
    await_true(lambda: recording.start_position == SEGMENT_LENGTH, "the start position")

    with pytest.raises(DataLossError, match=f"the first available position is {SEGMENT_LENGTH}"):
        next(recording.read(0, 64))
    peer.change("purge", made.recording_id)
    await_true(lambda: contents.recordings() == [], "the end of the recording")
    with pytest.raises(RecordingNotFoundError, match="does not exist; recordings: none"):
        contents.recording(made.recording_id)
