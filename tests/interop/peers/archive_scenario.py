"""Recordings of the real Aeron Archive in all states; as a program, packs them for the tests that need no Java.

`python tests/interop/peers/archive_scenario.py tests/vectors/archive/recordings.tar.xz`
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from java_peer import JavaPeer

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

#: Messages of a recording with three segments, of those that are shorter, and before a truncation.
MANY, FEW, KEPT = 1000, 300, 100
SEGMENT_LENGTH = 256 * 1024


class ArchivePeer:
    """A Java driver with an Aeron Archive, and a client of it."""

    def __init__(self, java: JavaPeer, root: Path, *options: str) -> None:
        self.folder = root / "archive"
        self._java = java
        self._driver = java.call(
            "archive", root / "aeron", self.folder, f"segment-length={SEGMENT_LENGTH}", *options
        )
        self._client = java.call("archive-client", root / "aeron")

    def record(self, stream_id: int, count: int, channel: str = "aeron:ipc") -> JavaRecording:
        """Record `count` messages of a new publication, which stays open."""
        publication = self._java.call("archive-record", self._client, channel, stream_id)
        return self._send(publication, count)

    def extend(self, recording: JavaRecording, stream_id: int, count: int) -> JavaRecording:
        """Continue a stopped recording with `count` messages of another publication."""
        recording_id = recording.recording_id
        publication = self._java.call("archive-extend", self._client, recording_id, "aeron:ipc", stream_id)
        return self._send(publication, count)

    def send(self, recording: JavaRecording, count: int) -> None:
        """Record more messages, from the first one on."""
        self._java.call("send", recording.publication, count)
        self._java.call("archive-await", self._client, recording.publication)

    def stop(self, recording: JavaRecording) -> int:
        """Stop a recording, close its publication, and return the stop position."""
        stop = self._java.call("archive-stop", self._client, recording.publication, recording.recording_id)
        self._java.call("close", recording.publication)
        return int(stop)

    def change(self, operation: str, recording_id: int, position: int = 0) -> None:
        """Let the Archive do `purge`, `purge-segments` or `truncate`."""
        self._java.call("archive-change", self._client, operation, recording_id, position)

    def close(self) -> None:
        """Close client, archive and driver."""
        self._java.call("close", self._client)
        self._java.call("close", self._driver)

    def _send(self, publication: str, count: int) -> JavaRecording:
        self._java.call("send", publication, count)
        recording_id = self._java.call("archive-await", self._client, publication)
        return JavaRecording(publication, int(recording_id))


@dataclass(frozen=True)
class JavaRecording:
    """A publication that is recorded, and the id of its recording."""

    publication: str
    recording_id: int


def record_all(archive: ArchivePeer) -> None:
    """Make recordings 0: stopped, 1: its first segment purged, 2: extended, 3: truncated, 4: deleted, 5: live."""
    archive.stop(archive.record(100, MANY))
    purged = archive.record(101, MANY)
    archive.stop(purged)
    archive.change("purge-segments", purged.recording_id, SEGMENT_LENGTH)
    extended = archive.record(102, FEW)
    archive.stop(extended)
    archive.stop(archive.extend(extended, 102, FEW))
    truncated = archive.record(103, MANY)
    archive.stop(truncated)
    archive.change(
        "truncate", truncated.recording_id, _end_of_message(archive.folder, truncated.recording_id, KEPT)
    )
    deleted = archive.record(104, FEW)
    archive.stop(deleted)
    archive.change("purge", deleted.recording_id)
    archive.record(105, FEW)


def _end_of_message(folder: Path, recording_id: int, count: int) -> int:
    recording = Archive.open(folder).recording(recording_id)
    found = list(messages(recording, recording.start_position, recording.position))
    return found[count - 1].position


def _pack(target: Path) -> None:
    java = JavaPeer()
    with tempfile.TemporaryDirectory() as root:
        archive = ArchivePeer(java, Path(root))
        record_all(archive)
        # While the last one is live: as if the Archive had been killed.
        copy = Path(root, "copy")
        shutil.copytree(archive.folder, copy)
        archive.close()
        java.stop()
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target, "w:xz", preset=9) as packed:
            for file in sorted(copy.iterdir()):
                packed.add(file, file.name)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    _pack(Path(sys.argv[1]))
