"""Eight recordings of the real Aeron Archive, three of them live, and what a Java subscriber has received of each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archive_scenario import ArchivePeer
from java_client import JavaObject, JavaSubscription
from java_peer import JavaPeer

#: Messages of all recordings: 1,000,000 take some minutes.
MESSAGES = int(os.environ.get("AERON_ARCHIVE_MESSAGES", "8000"))
RECORDINGS, LIVE = 8, 3
COUNT = MESSAGES // RECORDINGS
IPC = "aeron:ipc"
TIMEOUT_S = 100


@dataclass(frozen=True)
class Expected:
    """A recording as the Java client and the Java archive report it."""

    digest: str  # of COUNT messages, as their subscriber received them
    start_position: int
    active_position: int  # -1 unless it is live
    stop_position: int  # -1 if it is live
    max_position: int
    is_live: bool


@contextlib.contextmanager
def eight_recordings(java: JavaPeer, root: Path) -> Iterator[tuple[Path, dict[int, Expected]]]:
    """Record; yield the folder of the archive, which runs with the driver in `root`/aeron, and the recordings by id."""
    peer = ArchivePeer(java, root)
    client = JavaObject(java, java.call("connect", root / "aeron"))
    requester = java.call("archive-requester", root / "aeron", IPC, IPC)
    expected = {}
    try:
        for index in range(RECORDINGS):
            received = JavaSubscription(java, client.call("subscription", IPC, 100 + index)).receive(COUNT)
            made = peer.record(100 + index, COUNT)
            is_live = index >= RECORDINGS - LIVE
            if not is_live:
                peer.stop(made)
            facts = java.call("archive-request", requester, "positions", made.recording_id)
            expected[made.recording_id] = Expected(
                received.result(TIMEOUT_S), *map(int, facts.split()), is_live=is_live
            )
        yield peer.folder, expected
    finally:
        java.call("close", requester)
        client.close()
        peer.close()
