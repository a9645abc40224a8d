"""A running Aeron Archive, read through its protocol with the interface of a local folder."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from contextlib import ExitStack

import pytest
from archive_scenario import SEGMENT_LENGTH, ArchivePeer
from java_client import JavaObject, JavaSubscription
from messages import expected_checksum, message
from party_facts import await_true

import aeron_core
from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive import AeronArchive
from aeron_core.archive.reading import link
from aeron_core.archive.reading.opening import open_archive
from aeron_core.errors import (
    AeronError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    DataLossError,
    RecordingNotFoundError,
)
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.storage.recording import CHUNK_LENGTH

pytestmark = pytest.mark.interop

COUNT = 2000
IPC = "aeron:ipc"
LONG_TERM = 16 * 1024 * 1024
DIRECTION = "Java client → Java archive → our reader"
SIDES = ["shared memory", "UDP", "response channel"]


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


@pytest.mark.compatible("recording of Aeron Archive, remote, {side}", DIRECTION)
@pytest.mark.parametrize("side", SIDES)
def test_a_stopped_recording_is_replayed_as_it_was_sent(archive, opened, driver, free_port, side):
    peer = archive()
    made = peer.record(100, COUNT)
    stop = peer.stop(made)
    response = f"|control-response=aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    address = ipc(peer) if side == SIDES[0] else udp(peer, driver, response if side == SIDES[2] else "")

    recording = opened(address).recording(made.recording_id)

    assert recording.position == recording.descriptor.stop_position == stop
    assert read(recording) == [message(index) for index in range(COUNT)]


@pytest.mark.compatible("recording of Aeron Archive, remote, live", DIRECTION)
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


@pytest.mark.compatible("recording of Aeron Archive, remote, changed meanwhile", DIRECTION)
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


def test_a_replay_that_is_stopped_continues_at_the_next_frame(archive, opened):
    peer = archive()
    made = peer.record(100, COUNT)
    stop = peer.stop(made)
    recording = opened(ipc(peer)).recording(made.recording_id)
    whole = b"".join(data for _, data in recording.read(0, stop))
    found, position = bytearray(stop), 0

    with (
        contextlib.closing(recording.open_range(0, stop)) as replayed,
        aeron_core.connect(peer.folder.parent / "aeron") as aeron,
        AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC) as other,
    ):
        while position < stop:
            position += replayed.read_into(position, memoryview(found)[position : position + stop // 3])
            other.stop_all_replays()

    # All but the session ids, of which each replay has another one.
    assert payloads_of(found) == payloads_of(whole)
    assert len(payloads_of(whole)) > COUNT


def payloads_of(data) -> list[tuple[int, bytes]]:
    """Return the flags and the payload of each frame, without padding."""
    buffer, at, found = AtomicBuffer(bytes(data)), 0, []
    while at < len(data):
        length = buffer.get_i32(at)
        if buffer.get_u16(at + wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA:
            found.append((buffer.get_u8(at + wire.FRAME_FLAGS_OFFSET), bytes(data[at + 32 : at + length])))
        at += (length + 31) & -32
    return found


def test_chunks_of_a_long_term_end_within_frames(archive, opened):
    peer = archive(f"segment-length={LONG_TERM}")
    made = peer.record(100, 4 * COUNT, f"aeron:ipc?term-length={LONG_TERM}")
    recording = opened(ipc(peer)).recording(made.recording_id)
    assert CHUNK_LENGTH < recording.position < LONG_TERM

    assert read(recording) == [message(index) for index in range(4 * COUNT)]
    chunks = list(recording.read(0, recording.position, 1000))
    assert payloads_of(b"".join(data for _, data in chunks)) == payloads_of(
        b"".join(data for _, data in recording.read(0, recording.position))
    )


def test_the_search_for_a_message_begins_near_it_or_with_its_term(archive, opened):
    peer = archive()
    made = peer.record(100, COUNT)
    peer.stop(made)
    recording = opened(ipc(peer)).recording(made.recording_id)
    whole = b"".join(data for _, data in recording.read(0, SEGMENT_LENGTH))
    ends = frame_ends(whole)
    first = next(index for index, (_, is_border) in enumerate(ends) if index > 50 and not is_border)
    (border, _), (position, _), (within, _) = ends[first - 1], ends[first], ends[first + 1]

    assert recording.last_border(position) == recording.last_border(within) == border
    assert recording.last_border(within, ends[first - 9][0]) == border
    assert recording.last_border(within, position) == border
    assert recording.last_border(border, ends[first - 2][0]) == border
    assert recording.last_border(0) == 0


def frame_ends(data) -> list[tuple[int, bool]]:
    """Return the end of each frame, and whether a message ends there."""
    buffer, at, found = AtomicBuffer(bytes(data)), 0, []
    while at < len(data):
        flags = buffer.get_u8(at + wire.FRAME_FLAGS_OFFSET)
        is_padding = buffer.get_u16(at + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
        at += (buffer.get_i32(at) + 31) & -32
        found.append((at, is_padding or bool(flags & wire.DATA_FLAG_END)))
    return found


def test_recordings_are_selected_by_id_stream_and_channel(archive, opened):
    peer = archive()
    for stream_id in (100, 101, 102):
        peer.record(stream_id, 10)

    def ids(rest):
        return [recording.recording_id for recording in opened(ipc(peer, rest)).recordings()]

    assert ids("") == [0, 1, 2]
    assert ids("|recording-ids=0,2") == [0, 2]
    assert ids("|recording-stream-id=101") == [1]
    assert ids("|recording-channel=udp") == []


@pytest.mark.compatible("recording of Aeron Archive, remote, authentication", DIRECTION)
def test_credentials_are_read_from_a_file(java, opened, tmp_path):
    handle = java.call("archive", tmp_path / "aeron", tmp_path / "archive", "challenge=secret")
    address = f"aeron:archive?control-request=aeron:ipc|dir={tmp_path / 'aeron'}"
    (tmp_path / "token").write_bytes(b"secret\n")
    (tmp_path / "wrong").write_bytes(b"wrong")

    assert opened(f"{address}|credentials-file={tmp_path / 'token'}").recordings() == []
    assert "refuses the credentials: give credentials-file: " in failure(opened(address).recordings)
    wrong = opened(f"{address}|credentials-file={tmp_path / 'wrong'}")
    assert "refuses the credentials: change the content of credentials-file: " in failure(wrong.recordings)
    java.call("close", handle)


def failure(action) -> str:
    with pytest.raises(AeronError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_wrong_control_channel_is_reported(opened, driver, free_port):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    address = f"aeron:archive?control-request={channel}|dir={driver.aeron_dir}|message-timeout=200ms"

    message = failure(opened(address).recordings)

    assert message.startswith(
        f"archive at {channel}: no archive found at {channel} stream 10 within 0.2 s: check that"
    )
    assert "control-request and its stream id must be those of the archive's control channel" in message


def test_a_missing_driver_is_reported(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "100")
    address = f"aeron:archive?control-request=aeron:ipc|dir={tmp_path}/none"

    message = failure(opened(address).recordings)

    assert message.startswith(f"{address}: no media driver is accessible in {tmp_path}/none within 100 ms: ")
    assert message.endswith(", as aeron_dir or in AERON_DIR, or as dir of the address")


def test_an_archive_of_another_version_is_reported(opened, monkeypatch):
    text = "connect: refused by the archive: invalid client version 1.12.0, archive is 2.0.0 (GENERIC)"

    def connect(*_, **__):
        raise ArchiveRefusedError(text, ArchiveErrorCode.GENERIC, 0)

    monkeypatch.setattr(link, "connect_named", lambda *_, **__: ExitStack())
    monkeypatch.setattr(link.AeronArchive, "connect", connect)

    message = failure(opened("aeron:archive?control-request=aeron:ipc").recordings)

    assert message == f"archive at aeron:ipc: refuses the session: {text}"


def test_positions_within_frames_and_unreachable_replay_channels_are_reported(archive, opened, driver):
    peer = archive()
    made = peer.record(100, 200)
    peer.stop(made)
    recording = opened(ipc(peer)).recording(made.recording_id)
    elsewhere = opened(udp(peer, driver, "|replay=aeron:udp?endpoint=127.0.0.1:1|interface=192.0.2.1"))

    message = failure(lambda: next(recording.read(32 * 7, recording.position)))
    assert message.startswith(
        "recording 0 position 224: must be the end of a message: ReplayRequest: refused by the"
    )
    message = failure(lambda: next(elsewhere.recording(0).read(0, recording.position)))
    assert message.endswith("; check replay, or control-response, of the address")


@pytest.mark.compatible("recording of Aeron Archive, remote, command line", DIRECTION)
def test_the_commands_list_export_and_replay_a_running_archive(java, archive, tmp_path):
    peer = archive()
    peer.stop(peer.record(100, COUNT))
    peer.record(101, 10)

    listed = json.loads(run("recordings", "list", "--json", ipc(peer)))
    run(
        "recordings",
        "export",
        ipc(peer),
        "0",
        "--format",
        "length-prefixed",
        "--output",
        tmp_path / "messages",
    )

    assert [(each["recording_id"], each["stream_id"], each["state"]) for each in listed] == [
        (0, 100, "stopped"), (1, 101, "live")
    ]  # fmt: skip
    expected = b"".join(len(data).to_bytes(4, "little") + data for data in map(message, range(COUNT)))
    assert (tmp_path / "messages").read_bytes() == expected
    client = JavaObject(java, java.call("connect", peer.folder.parent / "aeron"))
    received = JavaSubscription(java, client.call("subscription", IPC, 333)).receive(COUNT)
    run("replay", 0, "--from", ipc(peer), "--to", IPC, "--stream-id", 333, "-d", peer.folder.parent / "aeron")
    assert received.result(60) == expected_checksum(COUNT)
    client.close()
    assert "verify the folder of a running archive on its machine" in run(
        "recordings", "verify", ipc(peer), code=2
    )


def run(*arguments, code: int = 0) -> str:
    command = [sys.executable, "-m", "aeron_core", *map(str, arguments)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == code, ended.stderr
    return ended.stdout or ended.stderr
