"""Archives that this process serves, each on a thread, and what clients do with them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import aeron_core
from aeron_core.archive import REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams
from aeron_core.archive.server.archive_server import ArchiveServer
from aeron_core.archive.server.params import ArchiveServerParams
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import ClosedError

IPC = "aeron:ipc"
TERM = "aeron:ipc?term-length=64k"
TIMEOUT_S = 60
SEGMENT_LENGTH = 128 * 1024
ALL = ReplayParams(length=REPLAY_ALL_AND_STOP)


def await_true(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline_s, f"timeout while waiting for {what}"
        time.sleep(0.0005)


def message(index: int) -> bytes:
    """Return a message of 0 to about 900 bytes; each hundredth is fragmented."""
    return index.to_bytes(4, "little") * (1000 if index % 100 == 99 else index * 7919 % 223)


class Served:
    """An archive on a thread of its own."""

    def __init__(self, driver, folder: Path, **options) -> None:
        self.folder = folder
        self.errors: list[Exception] = []
        self.aeron = aeron_core.connect(driver.aeron_dir)
        params = ArchiveServerParams(
            **{"segment_length": SEGMENT_LENGTH, "low_space": 0, "on_error": self.errors.append, **options}
        )
        try:
            self.server = ArchiveServer(self.aeron, folder, params)
        except BaseException:
            self.aeron.close()
            raise
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(ClosedError):
            while not self._ends.is_set():
                if self.server.do_work() == 0:
                    time.sleep(0.0002)

    def stop(self, *, is_killed: bool = False) -> None:
        """Close the archive, or leave its files as a killed process does."""
        self._ends.set()
        self._thread.join()
        if is_killed:
            self.server._stack.pop_all()
            self.server._mark._file.close()
            self.aeron.close()
            return
        self.server.close()
        self.aeron.close()


def connect(aeron, **options) -> AeronArchive:
    """Open a session with the archive of the same driver."""
    return AeronArchive.connect(
        aeron, **{"control_request_channel": IPC, "control_response_channel": IPC, **options}
    )


def send(publication, count: int, begin: int = 0) -> None:
    """Send messages from index `begin` on."""
    for index in range(begin, begin + count):
        publication.send(message(index), timeout=TIMEOUT_S)


def recording_of(archive, publication) -> int:
    """Return the id of the recording of a publication, once all of it is recorded."""
    found: list[int] = []

    def is_recorded() -> bool:
        recording_id = archive.find_last_matching_recording(
            0, "", publication.stream_id, publication.session_id
        )
        if recording_id is None or archive.max_recorded_position(recording_id) < publication.position:
            return False
        found.append(recording_id)
        return True

    await_true(is_recorded, "the recording")
    return found[0]


def record(archive, count: int = 1000, stream_id: int = 100, channel: str = TERM) -> int:
    """Record messages of a new stream and return the id of the stopped recording."""
    publication = archive.add_recorded_exclusive_publication(channel, stream_id)
    send(publication, count)
    recording_id = recording_of(archive, publication)
    assert archive.stop_recorded_publication(publication)
    publication.close()
    await_true(lambda: archive.stop_position(recording_id) is not None, "the stop position")
    return recording_id


def messages_of(subscription, count: int) -> list[bytes]:
    """Return `count` messages, and close the subscription."""
    found: list[bytes] = []
    assembler = FragmentAssembler(lambda buffer, _: found.append(bytes(buffer)))
    await_true(lambda: subscription.poll(assembler, 100) >= 0 and len(found) >= count, "the messages")
    subscription.close()
    return found


def expected(count: int, begin: int = 0) -> list[bytes]:
    """Return the messages that `send` sends."""
    return [message(index) for index in range(begin, begin + count)]
