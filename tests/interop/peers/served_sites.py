"""Archives of ours, each with its driver in a process of its own, and Java clients of an archive of either kind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from java_peer import JavaError, JavaPeer

TIMEOUT_S = 60
COUNT = 1000
IPC = "aeron:ipc"
ENVIRONMENT = {
    **os.environ,
    "AERON_IPC_TERM_BUFFER_LENGTH": "256k",
    "AERON_TERM_BUFFER_LENGTH": "256k",
    "AERON_THREADING_MODE": "SHARED",
    "AERON_DIR_DELETE_ON_SHUTDOWN": "true",
    "AERON_TIMER_INTERVAL": "100ms",
}


@dataclass
class ServedSite:
    """An archive of ours with its driver, in a process of its own."""

    directory: Path
    folder: Path
    control: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """Stop it as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(TIMEOUT_S) == 0


class Requester:
    """A Java client of an archive."""

    def __init__(
        self, java: JavaPeer, directory: Path, request: str = IPC, response: str = IPC, *credentials: str
    ) -> None:
        self.java = java
        self.handle = java.call("archive-requester", directory, request, response, *credentials)
        self.simple = java.call("archive-client", directory) if request == IPC and not credentials else None

    def __call__(self, name: str, *arguments: object) -> str:
        """Send a request and return its result as text."""
        return self.java.call("archive-request", self.handle, name, *arguments)

    def record(self, stream_id: int, count: int = COUNT) -> int:
        """Record messages of a new publication and return the id of the stopped recording."""
        publication = self.java.call("archive-record", self.simple, IPC, stream_id)
        return self.recorded(publication, count)

    def extend(self, recording_id: int, stream_id: int, count: int) -> int:
        """Continue a recording with messages from the first one on."""
        return self.recorded(
            self.java.call("archive-extend", self.simple, recording_id, IPC, stream_id), count
        )

    def recorded(self, publication: str, count: int) -> int:
        """Send messages, wait until they are recorded, and stop."""
        self.java.call("send", publication, count)
        recording_id = int(self.java.call("archive-await", self.simple, publication))
        self.java.call("archive-stop", self.simple, publication, recording_id)
        self.java.call("close", publication)
        return recording_id

    def replayed(self, recording_id: int, count: int = COUNT, channel: str = IPC, length: int = -2) -> str:
        """Return the digest of the messages of a replay."""
        reader = self.java.call("archive-replay", self.handle, recording_id, -1, length, channel, 900)
        checksum = self.java.call("receive", reader, count)
        self.java.call("close", reader)
        return checksum

    def close(self) -> None:
        """Close both clients."""
        for handle in (self.handle, self.simple):
            if handle is not None:
                self.java.call("close", handle)


def purged(client: Requester, recording_id: int) -> bool:
    """Return whether a recording could be purged."""
    # Refused while a replay or a deletion has not ended.
    with contextlib.suppress(JavaError):
        return int(client("purge", recording_id)) > 0
    return False
