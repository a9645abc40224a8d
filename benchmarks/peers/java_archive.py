"""An Aeron Archive of the Java implementation with the rows of a benchmark, and its replays."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "interop" / "peers"))

import java_peer

import aeron_core
from aeron_core.archive import AeronArchive, ReplayParams
from aeron_core.archive.reading.opening import open_archive

CHANNEL = "aeron:ipc?term-length=16m"
CONTROL = "aeron:udp?endpoint=127.0.0.1:18010"
FREE_PORT = "aeron:udp?endpoint=127.0.0.1:0"
REPLAY = "aeron:udp?endpoint=127.0.0.1:18011"
IPC = "aeron:ipc"
TIMEOUT_S = 60
READ_LENGTH = 4 * 1024 * 1024


@dataclass
class JavaArchive:
    """A running archive: its folder, and its addresses for clients in shared memory and over UDP."""

    folder: Path
    in_shared_memory: str
    over_udp: str


def is_available() -> bool:
    return not java_peer.missing_programs()


@contextmanager
def java_archive(rows: int, payload_length: int, recordings: int) -> Iterator[JavaArchive]:
    """Record `rows` messages and yield the archive; it and a driver of ours run meanwhile."""
    jvm = java_peer.JavaPeer()
    with tempfile.TemporaryDirectory(prefix="aeron-archive-", dir="/dev/shm") as name:
        root = Path(name)
        options = [f"control={CONTROL}", f"segment-length={128 * 1024 * 1024}"]
        handle = jvm.call("archive", root / "java", root / "archive", *options)
        for number in range(recordings):
            record(root / "java", number, rows // recordings, payload_length)
        with aeron_core.MediaDriver.launch({"aeron_dir": root / "ours"}):
            yield JavaArchive(
                root / "archive",
                f"aeron:archive?control-request={IPC}|dir={root / 'java'}",
                f"aeron:archive?control-request={CONTROL}|dir={root / 'ours'}",
            )
        jvm.call("close", handle)
    jvm.stop()


def record(directory: Path, stream_id: int, rows: int, payload_length: int) -> None:
    data = np.random.default_rng(stream_id).integers(0, 256, rows * payload_length, np.uint8)
    offsets = np.arange(0, (rows + 1) * payload_length, payload_length, dtype=np.int64)
    with connected(directory) as archive:
        publication = archive.add_recorded_exclusive_publication(CHANNEL, stream_id)
        publication.await_connected(TIMEOUT_S)
        done = 0
        while done < rows:
            done += max(publication.offer_batch(data, offsets, first=done, count=rows - done), 0)
        while (found := recorded(archive, publication)) is None:
            time.sleep(0.01)
        archive.stop_recorded_publication(publication)
        while archive.stop_position(found) is None:
            time.sleep(0.01)


def recorded(archive, publication) -> int | None:
    """Return the id of the recording once all of it is stored."""
    found = archive.find_last_matching_recording(0, "", publication.stream_id, publication.session_id)
    if found is None or archive.max_recorded_position(found) < publication.position:
        return None
    return found


@contextmanager
def connected(directory: Path, request: str = IPC, response: str = IPC) -> Iterator[AeronArchive]:
    with (
        aeron_core.connect(directory) as aeron,
        AeronArchive.connect(
            aeron, control_request_channel=request, control_response_channel=response
        ) as archive,
    ):
        yield archive


def subscribed_mb_per_s(archive: JavaArchive, *, over_udp: bool) -> float:
    """Return the rate at which a plain subscription polls a replay, in batches of messages."""
    root = archive.folder.parent
    session = connected(root / "ours", CONTROL, FREE_PORT) if over_udp else connected(root / "java")
    with session as archive_session:
        end = archive_session.max_recorded_position(0)
        began_s = time.perf_counter()
        channel = REPLAY if over_udp else IPC
        with archive_session.replay(0, channel, 900, ReplayParams(length=end)) as replay:
            while not replay.image_count:
                time.sleep(0.0001)
            image = replay.images[0]
            while image.position < end:
                replay.poll_batch(4096)
        return end / (time.perf_counter() - began_s) / 1e6


def replayed_mb_per_s(address: str) -> float:
    """Return the rate at which the reader of an address gets the bytes of a recording."""
    with closing(open_archive(address)) as archive:
        recording = archive.recording(0)
        end, target, position = recording.position, memoryview(bytearray(READ_LENGTH)), 0
        began_s = time.perf_counter()
        with closing(recording.open_range(0, end)) as opened:
            while position < end:
                position += opened.read_into(position, target)
        return end / (time.perf_counter() - began_s) / 1e6
